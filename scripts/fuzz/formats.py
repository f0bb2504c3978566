"""Every format that proxyuse reads: its seeds, how they are changed, and how they are used.

A *use* reads a file in the current folder, as the commands do, and ends in one of three ways: it
returns, it raises an error of the product (or `Refused`), or it raises anything else, which is a
defect.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.fuzz import mutations, seeds
from scripts.fuzz.seeds import NUMERIC, OPTIONS, PEOPLE, Seeds

Use = Callable[[str, random.Random], None]
"""Uses the file of a name."""

AUDITED = 0.12
"""The share of models and programs that are audited, and not only translated and compared."""


class Refused(Exception):
    """The message of a command that did not accept its input."""


class Complaint(Exception):
    """A defect that is not an exception: a wrong message, or a file left half-written."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of input.

    Attributes
    ----------
    name, suffix : of the format, and of its files.
    seeds : real files.
    mutations : what is done to them, each with the same probability.
    use : what is done with the result.
    share : how many of the inputs it gets, relative to the others.
    """

    name: str
    suffix: str
    seeds: Callable[[], Seeds]
    mutations: tuple[mutations.Mutation, ...]
    use: Use
    share: int = 1


def command(*words: str) -> None:
    """Run a command."""
    from proxyuse.cli.main import main

    before = {path.name for path in Path().iterdir()}
    with (
        open("../out.txt", "w+", encoding="utf-8") as out,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            code = main([*words])
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 2
        out.seek(0)
        message = out.read()
    if code not in (0, 1, 2, 3):
        raise Complaint(f"exit code {code}")
    if code == 2:
        for words_of_a_fault in ("internal error", "cannot print the result", "Traceback"):
            if words_of_a_fault in message:
                raise Complaint(message[-300:])
        if "not enough memory" in message:
            raise MemoryError(message[-300:])
    _check_outputs({path.name for path in Path().iterdir()} - before, code == 2)
    if code == 2:
        raise Refused(message[-300:])


def _check_outputs(made: set[str], refused: bool) -> None:
    """Raise a complaint about a file that is not whole, or that a refused command wrote."""
    import json

    for name in made:
        path = Path(name)
        if path.is_dir():
            continue
        if refused:
            raise Complaint(f"a refused command wrote {name[:60]!r}")
        data = path.read_bytes()
        if not data or name.endswith((".tmp", ".part")):
            raise Complaint(f"{name[:60]!r} is empty or temporary")
        if data.startswith(b"{"):
            json.loads(data)


def _models(name: str, rng: random.Random) -> None:
    from proxyuse.decision import Threshold
    from proxyuse.models.audited_model import audited_model
    from proxyuse.models.boosted import predicts_probability
    from proxyuse.models.files import load_model
    from proxyuse.models.native_categories import text_columns
    from proxyuse.program import Frame

    if rng.random() < AUDITED:
        _audit(name, rng)
        return
    model: Any = load_model(name).model
    text_columns(model)
    decision = Threshold(0.5) if predicts_probability(model) else None
    subject = audited_model(model, PEOPLE, {"z"}, decision, opaque=rng.random() < 0.1)
    table = _people_table()
    frame = Frame(table.column(name) for name in subject.program.variables)
    subject.check(lambda: subject.program.predict(PEOPLE), frame, None)


@functools.cache
def _people_table() -> Any:
    from proxyuse.data.table import Table

    return Table.of(PEOPLE)


def _audit(name: str, rng: random.Random) -> None:
    how = rng.choice((["--validity", "none"], ["--validity", "none", "--measure", "all"], []))
    inputs = ["--model", name, "--data", "../people.csv", "--protected", "z"]
    command("audit", *inputs, *OPTIONS, *how, "--output", "made.json")


def _data(name: str, rng: random.Random) -> None:
    from proxyuse.cli.data_files import load_data

    kind = rng.random()
    if kind < 0.15:
        inputs = ["--model", "../program.txt", "--data", name, "--protected", "z"]
        command("audit", *inputs, *OPTIONS, "--validity", "none", "--epsilon", "0.01")
        return
    protected = ["z"] if kind < 0.6 else ["over: a > 0", "w"]
    options: dict[str, Any] = {"weights": "w", "clusters": "id"} if kind < 0.3 else {}
    if kind > 0.85:
        loaded = load_data("../people.csv", protected=["z"], protected_data=name, key="id")
    else:
        where = "a > -1 and k != 'v'" if kind < 0.4 else None
        loaded = load_data(name, protected=protected, where=where, **options)
    _audited(loaded)


def _audited(loaded: Any) -> None:
    """What an audit reads of the data."""
    from proxyuse.data.population import Population
    from proxyuse.expressions import derived_attribute
    from proxyuse.program import Program

    program = Program.parse(seeds.PROGRAM)
    Population.build(
        loaded.frame, protected=loaded.protected, weights=loaded.weights,
        variables=program.variables, names=program.inputs, derive=derived_attribute,
    )  # fmt: skip
    program.predict(loaded.frame)


def _documents(name: str, rng: random.Random) -> None:
    form = rng.choice(
        ("", "--json", "--markdown", "--csv", "--sarif", "--junit", "--exact", "diff")
    )
    if form == "diff":
        pair = [name, "../result.json"]
        command("diff", *(pair if rng.random() < 0.5 else pair[::-1]))
    else:
        command("show", name, *([form] if form else []))


def _certificates(name: str, rng: random.Random) -> None:
    from proxyuse.certificate.certificate import Certificate

    if rng.random() < 0.7:
        str(Certificate.read(name))
        return
    how = rng.choice(([], ["--json"], ["--everything"]))
    inputs = ["--program", "../program.txt", "--data", "../people.csv"]
    command("verify", name, *inputs, *OPTIONS, *how)


def _policies(name: str, rng: random.Random) -> None:
    from proxyuse.judge.policy import read_policy

    if rng.random() < 0.05:
        command("audit", *_INPUTS, "--policy", name, *OPTIONS, "--validity", "none")
        return
    policy = read_policy(name)
    for witness in seeds.audit().witnesses:
        policy(witness)
    policy.expired()
    policy.unused(seeds.audit().witnesses)


_INPUTS = ("--model", "../program.txt", "--data", "../people.csv", "--protected", "z")


def _projects(name: str, rng: random.Random) -> None:
    from proxyuse.project import read_project

    for needed in ("program.txt", "people.csv"):
        Path(needed).write_bytes(Path("..", needed).read_bytes())
    if rng.random() < 0.3:
        command("audit", "--project", name, "--quiet")
    else:
        read_project(name)


def _judgments(name: str, rng: random.Random) -> None:
    from proxyuse.judge.records import Records

    if rng.random() < 0.1:
        command("audit", *_INPUTS, "--judgments", name, *OPTIONS, "--validity", "none")
        return
    records = Records.open(name)
    for witness in seeds.audit().witnesses:
        records(witness)
        records.similar(witness)


def _expressions(name: str, rng: random.Random) -> None:
    from proxyuse.cli.data_files import load_data

    text = Path(name).read_text("utf-8", "surrogateescape")
    if rng.random() < 0.05:
        words = ["--where", text] if rng.random() < 0.5 else ["--protected", text]
        command("audit", *_INPUTS, *words, *OPTIONS, "--validity", "none")
    elif rng.random() < 0.5:
        _audited(load_data("../people.csv", protected=["z"], where=text))
    else:
        _audited(load_data("../people.csv", protected=[text]))


def _options(name: str, rng: random.Random) -> None:
    text = Path(name).read_text("utf-8", "surrogateescape")
    command("audit", *_INPUTS, *OPTIONS, *(w.replace("\0", "") for w in text.split("\n")))


_WORK = (b"--splits", b"--permutations", b"--sampling", b"--budget")


def _option_words(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Replace one of the words by another, or add options of another seed."""
    words = data.split(b"\n")
    index = rng.randrange(len(words))
    if rng.random() < 0.2:
        words += rng.choice(others).split(b"\n")
    elif words[index].startswith(b"--output") or b"." in words[index]:
        words[index] = rng.choice((b"a/b/made.json", b"", b".", b"x\xff.json", b"-", b"made.csv"))
    else:
        work = words[index - 1] in _WORK  # a person who asks for a billion splits gets them
        number = rng.choice((-1, 0, 0.5, 3, "nan", "1e9") if work else mutations.NUMBERS)
        words[index] = rng.choice((rng.choice(mutations.TEXTS), str(number)[:400])).encode(
            "utf-8", "replace"
        )
    return b"\n".join(words)


def _arrow(form: str) -> mutations.Mutation:
    def change(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
        """A table in which some columns have other types."""
        kind = form if form == "parquet" else rng.choice(("feather", "stream"))
        for _ in range(10):
            columns: dict[str, Any] = {str(name): PEOPLE[name].to_list() for name in PEOPLE}
            kinds = seeds.arrow_columns()
            for _ in range(rng.choice((1, 1, 2, 5))):
                columns[rng.choice((*PEOPLE, "more"))] = kinds[rng.choice(tuple(kinds))]
            with contextlib.suppress(ValueError, NotImplementedError):  # a type that it cannot hold
                return seeds.arrow_file(columns, kind)
        return data

    return change


_BYTES = mutations.of_bytes
_WORDS = (mutations.of_text, mutations.of_text, _BYTES)
_JSON = (mutations.of_json,) * 4 + (mutations.of_text, _BYTES)

FORMATS: tuple[Format, ...] = (
    Format(
        "skops", "skops", seeds.skops_files,
        (mutations.of_skops,) * 12 + (_BYTES, mutations.renamed), _models, share=8,
    ),
    Format("xgboost-json", "json", seeds.xgboost_json, _JSON, _models, share=2),
    Format(
        "xgboost-ubj", "ubj", seeds.xgboost_ubj,
        (mutations.of_ubjson, mutations.of_ubjson, _BYTES), _models, share=2,
    ),
    Format("lightgbm", "txt", seeds.lightgbm_files, _WORDS, _models, share=2),
    Format("program", "txt", seeds.programs, _WORDS, _models, share=2),
    Format("csv", "csv", seeds.csv_files, _WORDS, _data),
    Format("gzip", "csv.gz", seeds.gzip_files, (mutations.of_gzip,) * 2 + (_BYTES,), _data),
    Format("parquet", "parquet", seeds.parquet_files, (_arrow("parquet"), _BYTES), _data),
    Format("arrow", "feather", seeds.arrow_files, (_arrow("arrow"), _BYTES), _data),
    Format("result", "json", seeds.results, _JSON, _documents),
    Format("certificate", "json", seeds.certificates, _JSON, _certificates),
    Format(
        "policy", "yaml", seeds.policies,
        (mutations.of_yaml, mutations.of_yaml, mutations.of_text, _BYTES), _policies,
    ),
    Format("project", "toml", seeds.projects, _WORDS, _projects),
    Format(
        "judgments", "jsonl", seeds.judgments,
        (mutations.of_json_lines, mutations.of_text, _BYTES), _judgments,
    ),
    Format("expression", "txt", seeds.expressions, _WORDS, _expressions, share=2),
    Format("option", "txt", seeds.options, (_option_words,), _options),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Input:
    """An input, determined by its number: a seed, and the changes to it.

    Attributes
    ----------
    number : which one.
    format : its format.
    seed : the name of the file that was changed.
    changes : the numbers of its changes, each with its own random generator.
    """

    number: int
    format: Format
    seed: str
    changes: tuple[int, ...]

    def data(self) -> bytes:
        """The content of the file."""
        files = self.format.seeds()
        others = tuple(files.values())
        data = files[self.seed]
        for change in self.changes:
            rng = random.Random(f"{self.number}/{change}")
            data = rng.choice(self.format.mutations)(data, rng, others)
        return data

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"input-{self.number}.{self.format.suffix}"

    def use(self) -> None:
        """Use the file in the current folder."""
        Path(self.name).write_bytes(self.data())
        self.format.use(self.name, random.Random(f"{self.number}/use"))


def input_of(number: int, formats: Sequence[Format] = FORMATS) -> Input:
    """The input of a number; its format and its seed are drawn, too."""
    rng = random.Random(number)
    drawn = rng.choices(formats, [form.share for form in formats])[0]
    count = rng.choice((1, 1, 1, 2, 2, 4, 8))
    return Input(number, drawn, rng.choice(tuple(drawn.seeds())), tuple(range(count)))


def prepare(folder: Path) -> None:
    """Write the files beside the inputs, and import and compile everything in this process."""
    import warnings

    (folder / "program.txt").write_text(seeds.PROGRAM, encoding="utf-8")
    PEOPLE.to_csv(folder / "people.csv", index=False)
    (folder / "result.json").write_bytes(seeds.results()["none"])
    assert {*NUMERIC} <= {*PEOPLE}
    sys.setrecursionlimit(1000)
    warnings.simplefilter("ignore")
