"""The command line, asked as a user would: what it prints, how it ends, what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import pty
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.cli import doctor_command
from proxyuse.cli.main import main
from proxyuse.judge.records import Records
from tests.command_line import run

ROOT = Path(__file__).parents[2]
PROGRAM = "ite(vitamins == 1, 'A', 'B')"
PEOPLE = pd.DataFrame(
    {
        "id": range(40),
        "vitamins": [1, 0] * 20,
        "height": [160, 160, 180, 180] * 10,
        "pregnant": ["yes", "no"] * 20,
        "constant": ["same"] * 40,
        "count": [1, 2] * 20,
    }
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model that uses a proxy, another that does not, and data."""
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text(PROGRAM)
    Path("clean.txt").write_text("ite(height <= 170, 'A', 'B')")
    PEOPLE.to_csv("people.csv", index=False)
    return tmp_path


def audit(*words: object, code: int, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    start = ("audit", "--model", "model.txt", "--data", "people.csv")
    return run(*start, *words, code=code, capsys=capsys)


# Answers


def test_proxy_use_ends_with_1_and_says_through_what(folder, capsys):
    out, err = audit("--protected", "pregnant", code=1, capsys=capsys)
    assert "pregnant" in out.splitlines()[0]
    assert "vitamins" in out
    assert "Next steps" in out
    assert err == ""
    assert "\x1b" not in out


def test_nothing_found_ends_with_0_and_shows_what_is_nearest(folder, capsys):
    out, _ = audit("--protected", "pregnant", "--model", "clean.txt", code=0, capsys=capsys)
    assert "height" in out
    assert "Closest to proxy use" in out


def test_what_could_not_be_settled_ends_with_3(folder, capsys):
    numbers = np.random.default_rng(0).normal(size=(120, 16)).round(2)
    wide = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(16)])
    wide.assign(z=[0, 1] * 60).to_csv("wide.csv", index=False)
    Path("sum.txt").write_text(f"ite({' + '.join(wide.columns)} > 0, 1, 0)")
    words = ("--model", "sum.txt", "--data", "wide.csv", "--protected", "z", "--epsilon", "0.3")
    out, _ = audit(*words, "--time-limit", "0.000001", code=3, capsys=capsys)
    assert out.startswith("Proxy use of z cannot be decided. The search is incomplete: it was")
    out, _ = audit(*words, code=0, capsys=capsys)  # terms are settled, partial sums are searched
    assert "not everything" not in out
    assert "Partial sums of the 16 terms of the score were searched, but not exhaustively" in out


def test_json_is_the_document_that_output_writes(folder, capsys):
    out, _ = audit("--protected", "pregnant", "--json", "--output", "a.json", code=1, capsys=capsys)
    assert json.loads(out) == json.loads(Path("a.json").read_text())


def test_all_kinds_of_output_are_written(folder, capsys):
    kinds = ("--output", "a.json", "--csv", "a.csv", "--markdown", "a.md")
    audit("--protected", "pregnant", *kinds, code=1, capsys=capsys)
    assert "vitamins" in Path("a.csv").read_text()
    assert "vitamins" in Path("a.md").read_text()
    assert sorted(path.name for path in folder.glob("a.*")) == ["a.csv", "a.json", "a.md"]


def test_a_result_can_be_shown_again(folder, capsys):
    first, _ = audit("--protected", "pregnant", "--output", "a.json", code=1, capsys=capsys)
    again, _ = run("show", "a.json", code=1, capsys=capsys)
    assert again.strip() in first
    witness = json.loads(Path("a.json").read_text())["witnesses"][0]["id"]
    one, _ = run("show", "a.json", "--witness", witness[:6], code=1, capsys=capsys)
    assert witness in one
    for form in ("--json", "--markdown", "--csv"):
        out, _ = run("show", "a.json", form, code=1, capsys=capsys)
        assert "vitamins" in out


def test_a_witness_of_two_attributes_is_shown_for_both(folder, capsys):
    PEOPLE.assign(other=PEOPLE["pregnant"]).to_csv("people.csv", index=False)
    both = ("--protected", "pregnant", "--protected", "other", "--output", "a.json")
    audit(*both, "--validity", "none", code=1, capsys=capsys)
    witness = json.loads(Path("a.json").read_text())["witnesses"][0]["id"]
    out, _ = run("show", "a.json", "--witness", witness, code=1, capsys=capsys)
    assert f"{witness} of pregnant" in out
    assert f"{witness} of other" in out
    out, _ = run("show", "a.json", "--witness", witness, "--json", code=1, capsys=capsys)
    assert {found["protected"] for found in json.loads(out)} == {"pregnant", "other"}
    _, err = run("show", "a.json", "--witness", witness, "--csv", code=2, capsys=capsys)
    assert "not allowed" in err
    _, err = run("show", "a.json", "--witness", "", code=2, capsys=capsys)
    assert "pass a longer prefix" in err


def test_diff_fails_on_new_witnesses_only(folder, capsys):
    audit("--protected", "pregnant", "--output", "a.json", code=1, capsys=capsys)
    clean = ("--model", "clean.txt", "--protected", "pregnant", "--output", "b.json")
    audit(*clean, code=0, capsys=capsys)
    run("diff", "a.json", "a.json", code=0, capsys=capsys)
    run("diff", "a.json", "b.json", code=0, capsys=capsys)
    out, _ = run("diff", "b.json", "a.json", code=1, capsys=capsys)
    assert "vitamins" in out
    out, _ = run("diff", "b.json", "a.json", "--json", code=1, capsys=capsys)
    assert json.loads(out)["new"]


def test_weights_and_conditions_are_used(folder, capsys):
    words = ("--protected", "pregnant", "--weights", "count", "--where", "height <= 170", "--json")
    out, _ = audit(*words, "--validity", "none", code=1, capsys=capsys)
    content = json.loads(out)
    assert content["rows"] == 20
    assert content["total_weight"] == 30


def test_protected_data_may_lie_in_another_table(folder, capsys):
    PEOPLE[["id", "pregnant"]].sample(frac=1, random_state=0).to_parquet("restricted.parquet")
    PEOPLE.drop(columns="pregnant").to_csv("people.csv", index=False)
    words = ("--protected", "pregnant", "--protected-data", "restricted.parquet", "--key", "id")
    out, _ = audit(*words, code=1, capsys=capsys)
    assert "vitamins" in out


def test_a_project_file_says_it_all(folder, capsys):
    Path("proxyuse.toml").write_text(
        'model = "model.txt"\ndata = "people.csv"\nprotected = "pregnant"\ndelta = 0.2\n'
        '[output]\njson = "a.json"\n'
    )
    run("audit", code=1, capsys=capsys)
    content = json.loads(Path("a.json").read_text())
    assert content["thresholds"]["delta"] == 0.2
    out, _ = run("audit", "--delta", "0.3", "--json", code=1, capsys=capsys)
    assert json.loads(out)["thresholds"]["delta"] == 0.3


def test_columns_set_apart_are_not_given_to_a_model_without_names(folder, capsys):
    X = PEOPLE[["vitamins", "height"]]
    tree = DecisionTreeClassifier(random_state=0).fit(X.to_numpy(), PEOPLE["vitamins"])
    PEOPLE[["vitamins", "pregnant", "height", "count"]].to_csv("people.csv", index=False)
    Path("tree.pkl").write_bytes(pickle.dumps(tree))
    words = ("--model", "tree.pkl", "--trust-pickle", "--protected", "pregnant")
    audit(*words, "--weights", "count", "--validity", "none", code=1, capsys=capsys)
    _, err = audit(*words, code=2, capsys=capsys)
    assert "fitted on 2 columns" in err


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_booster_decides_at_one_half_unless_told(library, folder, capsys):
    module = pytest.importorskip(library)
    X, y = PEOPLE[["vitamins", "height"]].astype(float), PEOPLE["vitamins"]
    if library == "lightgbm":
        settings = {"objective": "binary", "min_data_in_leaf": 1, "verbose": -1}
        module.train(settings, module.Dataset(X, y), 3).save_model("booster")
    else:
        settings = {"objective": "binary:logistic"}
        module.train(settings, module.DMatrix(X, y), 3).save_model("booster.json")
        Path("booster.json").rename("booster")
    words = ("--model", "booster", "--protected", "pregnant", "--validity", "none")
    out, _ = audit(*words, "--json", code=1, capsys=capsys)
    assert json.loads(out)["about"]["model"]["decision_threshold"] == 0.5
    out, _ = audit(*words, "--decision-threshold", "0.9999", code=0, capsys=capsys)
    assert "at least 0.9999" in out


def test_small_counts_are_not_shown(folder, capsys):
    PEOPLE.assign(pregnant=["rare"] * 2 + ["no"] * 38).to_csv("people.csv", index=False)
    words = ("--protected", "pregnant", "--epsilon", "0", "--delta", "0")
    audit(*words, "--output", "a.json", code=1, capsys=capsys)
    content = json.loads(Path("a.json").read_text())
    assert content["witnesses"]
    for witness in content["witnesses"]:
        for row in witness["table"]["cells"]:
            assert not any(isinstance(cell, int) and 0 < cell < 5 for cell in row)
    assert not any(value["rows"] == 2 for z in content["protected"] for value in z["values"])


# Judgments

POLICY = """\
version: 1
rules:
  - name: vitamins
    decision: allow
    reason: vitamins are sold to all
    when:
      variables: {only: [vitamins]}
"""


def test_a_policy_decides_the_exit_code(folder, capsys):
    Path("policy.yaml").write_text(POLICY)
    words = ("--protected", "pregnant", "--policy", "policy.yaml")
    out, _ = audit(*words, code=0, capsys=capsys)
    assert "judged appropriate" in out
    assert "vitamins are sold to all" in out
    Path("policy.yaml").write_text(POLICY.replace("allow", "deny"))
    out, _ = audit(*words, code=1, capsys=capsys)
    assert "inappropriate" in out
    assert "'vitamins'" in out
    Path("policy.yaml").write_text("rules: 3")
    _, err = audit(*words, code=2, capsys=capsys)
    assert "policy.yaml" in err


def test_what_people_decided_goes_before_the_policy(folder, capsys):
    Path("policy.yaml").write_text(POLICY.replace("allow", "deny"))
    found = pu.audit(pu.Program.parse(PROGRAM), PEOPLE, "pregnant")
    records = Records.open(Path("judgments.jsonl"))
    for witness in found.witnesses:
        records.add(witness, True, "asked the shop", "a person")
    words = ("--protected", "pregnant", "--policy", "policy.yaml")
    audit(*words, code=1, capsys=capsys)
    out, _ = audit(*words, "--judgments", "judgments.jsonl", code=0, capsys=capsys)
    assert "asked the shop" in out
    with Path("judgments.jsonl").open("a") as file:
        file.write("half a li")
    _, err = audit(*words, "--judgments", "judgments.jsonl", code=2, capsys=capsys)
    assert f"judgments.jsonl, line {records.lines + 1}: not JSON" in err  # no rule decides instead


# Other commands


def test_demo_runs_and_its_files_can_be_audited(folder, capsys):
    out, _ = run("demo", "--files", "demo", code=0, capsys=capsys)
    assert "relationship" in out
    command = next(line for line in out.splitlines() if "proxyuse audit" in line)
    out, _ = run(*command.split()[1:], code=1, capsys=capsys)
    assert "relationship" in out


def test_demo_json(folder, capsys):
    out, _ = run("demo", "--json", code=0, capsys=capsys)
    assert json.loads(out)["witnesses"]


def test_datasets_are_listed_and_written(folder, capsys):
    out, _ = run("datasets", code=0, capsys=capsys)
    listed, _ = run("datasets", "--json", code=0, capsys=capsys)
    for item in json.loads(listed):
        assert item["name"] in out
        run("datasets", item["name"], "--output", "some.csv", code=0, capsys=capsys)
        frame = pd.read_csv("some.csv")
        assert len(frame) == item["rows"]
        assert item["target"] in frame
    _, err = run("datasets", "iris", code=2, capsys=capsys)
    assert "adult" in err
    _, err = run("datasets", "adult", code=2, capsys=capsys)
    assert "--output" in err


@pytest.mark.parametrize("name", ["numpy", "filelock", "msgspec", "narwhals", "numba", "scipy"])
@pytest.mark.parametrize("installed", [True, False])
def test_doctor_names_a_missing_requirement(name, installed, monkeypatch, capsys):
    if installed:
        monkeypatch.setitem(sys.modules, name, None)  # there, but not importable
    else:
        monkeypatch.setattr(
            doctor_command, "_version", lambda package: None if package == name else "1"
        )
    out, _ = run("doctor", code=2, capsys=capsys)
    assert f"{name} {'' if installed else 'is not installed: pip install '}" in out
    assert "test audit runs" not in out
    content, _ = run("doctor", "--json", code=2, capsys=capsys)
    assert len(json.loads(content)["problems"]) == 1
    assert not json.loads(content)["works"]


def test_doctor_knows_the_core_dependencies():
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    core = {re.split("[>=<]", line)[0] for line in content["project"]["dependencies"]}
    assert core == set(doctor_command.REQUIRED)


def without_msgspec(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where msgspec cannot be imported."""
    code = (
        "import sys; sys.modules['msgspec'] = None; from proxyuse.cli.main import main;"
        f"sys.exit(main({list(words)!r}))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_doctor_runs_without_a_core_dependency_and_names_it() -> None:
    done = without_msgspec("doctor")
    assert done.returncode == 2
    assert re.search(r"msgspec .* cannot be imported \(ModuleNotFoundError", done.stdout)
    assert "A test audit succeeded" not in done.stdout
    done = without_msgspec("audit", "--epsilon", "1")
    assert done.returncode == 2
    assert done.stderr == "proxyuse: msgspec is not installed: pip install msgspec\n"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "CONTRIBUTING.md"])
def test_pages_name_the_core_dependencies(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "core needs NumPy, SciPy, numba, narwhals, msgspec and filelock" in " ".join(
        text.split()
    )


def test_doctor_tells_versions(capsys):
    out, _ = run("doctor", code=0, capsys=capsys)
    assert "numpy" in out
    output, _ = run("doctor", "--json", code=0, capsys=capsys)
    assert json.loads(output)["works"]


@pytest.mark.parametrize("command", ["", "audit", "show", "diff", "datasets", "doctor", "demo"])
def test_help_teaches_by_example(command, capsys):
    out, _ = run(*command.split(), "--help", code=0, capsys=capsys)
    assert "proxyuse" in out
    if command != "doctor":
        assert "example" in out


def test_no_command_shows_the_help(capsys):
    out, _ = run(code=2, capsys=capsys)
    assert "commands" in out


@pytest.mark.parametrize(
    ("words", "name", "code"),
    [
        (["demo"], "audit", 0),
        (["audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant"],
         "audit", 1),
        (["datasets"], "datasets", 0),
        (["datasets", "student", "--output", "student.csv"], "datasets", 0),
        (["doctor"], "doctor", 0),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)  # fmt: skip
def test_json_is_as_its_published_schema_says(words, name, code, folder, capsys):
    out, _ = run(*words, "--json", code=code, capsys=capsys)
    published = Path(__file__).parents[2] / "docs" / "schema" / f"{name}.schema.json"
    jsonschema.validate(json.loads(out), json.loads(published.read_text()))


# Wrong use


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "nowhere.txt"], "nowhere.txt"),
        (["--data", "nowhere.csv"], "nowhere.csv"),
        (["--data", "."], "folder"),
        (["--protected", "pregnent"], "pregnant"),
        (["--target", "nothing"], "nothing"),
        (["--weights", "nothing"], "nothing"),
        (["--where", "height <="], "expected"),
        (["--where", "hight <= 3"], "height"),
        (["--where", "height <= 3"], "none of 40 rows"),
        (["--where", "height + 3"], "condition"),
        (["--epsilon", "2"], "epsilon"),
        (["--delta", "-1"], "delta"),
        (["--min-cell", "0"], "min"),
        (["--threads", "0"], "threads"),
        (["--output", "no/where.json"], "folder no does not exist"),
        (["--output", "people.csv"], "this audit reads"),
        (["--csv", "./people.csv"], "this audit reads"),
        (["--markdown", "model.txt"], "this audit reads"),
        (["--output", "same", "--csv", "same"], "another output"),
        (["--output", "."], "folder"),
        (["--output", "-"], "standard output"),
        (["--where", "id <= 3"], "could identify people"),
        (["--target", "pregnant"], "target"),
        (["--decision-threshold", "nan"], "decision-threshold"),
        (["--epsilon", "nan"], "epsilon"),
        (["--key", "id"], "--protected-data"),
        (["--project", "nowhere.toml"], "nowhere.toml"),
        (["--unknown"], "unknown option '--unknown'; see proxyuse audit --help"),
        (
            ["--epsilon", "much"],
            "expected a number between 0 and 1, or a percentage such as '50%', got 'much'",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_told_and_ends_with_2(words, message, folder, capsys):
    before = sorted(folder.iterdir())
    arguments = words if "--protected" in words else [*words, "--protected", "pregnant"]
    out, err = audit(*arguments, code=2, capsys=capsys)
    assert message in err
    assert out == ""
    assert sorted(folder.iterdir()) == before


def test_what_is_missing_is_asked_for(folder, capsys):
    _, err = run("audit", "--model", "model.txt", code=2, capsys=capsys)
    assert "--data" in err
    assert "proxyuse.toml" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\x00\x01\x02\x03", "model"),
        (b"ite(vitamins == 1, 'A'", "expected"),
        (b'{"learner": {"gradient_booster": {}', "JSON"),
        (b"PK\x03\x04 but not a zip", "zip"),
        (b"tree\nversion=v4\nnum_class=1\n", "LightGBM"),
    ],
    ids=["empty", "noise", "half a program", "half a booster", "no zip", "half a LightGBM model"],
)
def test_a_broken_model_file_is_told(content, message, folder, capsys):
    Path("model.txt").write_bytes(content)
    _, err = audit("--protected", "pregnant", code=2, capsys=capsys)
    assert "model.txt" in err
    assert message.lower() in err.lower()


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("was-here",)


def test_a_pickle_is_not_read_unless_it_is_trusted(folder, capsys):
    Path("model.pkl").write_bytes(pickle.dumps(Hostile()))
    words = ("--model", "model.pkl", "--protected", "pregnant")
    _, err = audit(*words, code=2, capsys=capsys)
    assert "--trust-pickle" in err or "trust_pickle" in err
    assert "code" in err
    assert not Path("was-here").exists()


def test_empty_data_is_told(folder, capsys):
    PEOPLE.iloc[:0].to_csv("people.csv", index=False)
    _, err = audit("--protected", "pregnant", code=2, capsys=capsys)
    assert "no rows" in err


def test_a_model_that_reads_the_protected_attribute_itself_is_told(folder, capsys):
    Path("model.txt").write_text("ite(pregnant == 'yes', 'A', 'B')")
    out, _ = audit("--protected", "pregnant", code=1, capsys=capsys)
    assert "itself" in out


def test_keys_that_do_not_match_are_told(folder, capsys):
    PEOPLE[["id", "pregnant"]].assign(id=range(100, 140)).to_csv("other.csv", index=False)
    PEOPLE.drop(columns="pregnant").to_csv("people.csv", index=False)
    words = ("--protected", "pregnant", "--protected-data", "other.csv", "--key", "id")
    _, err = audit(*words, code=2, capsys=capsys)
    assert "40" in err
    assert "id" in err


def test_show_and_diff_tell_what_is_wrong_with_a_file(folder, capsys):
    Path("no.json").write_text("{")
    Path("other.json").write_text("{}")
    for name in ("no.json", "other.json", "nowhere.json", "people.csv"):
        _, err = run("show", name, code=2, capsys=capsys)
        assert name in err
        _, err = run("diff", name, name, code=2, capsys=capsys)
        assert name in err
    audit("--protected", "pregnant", "--output", "a.json", code=1, capsys=capsys)
    _, err = run("show", "a.json", "--witness", "zzz", code=2, capsys=capsys)
    assert "zzz" in err


def test_missing_protected_values_are_told_in_words_of_the_command_line(folder, capsys):
    PEOPLE.assign(pregnant=["yes", "no", "no", ""] * 10).to_csv("people.csv", index=False)
    _, err = audit("--protected", "pregnant", code=2, capsys=capsys)
    assert "--missing-protected drop" in err
    for choice in ("drop", "category"):
        words = ("--protected", "pregnant", "--missing-protected", choice)
        audit(*words, "--validity", "none", code=1, capsys=capsys)
    PEOPLE.assign(pregnant=[""] * 36 + ["yes", "no"] * 2).to_csv("people.csv", index=False)
    words = ("--protected", "pregnant", "--missing-protected", "drop")
    _, err = audit(*words, code=2, capsys=capsys)
    assert "could identify people" in err


def test_small_counts_of_rows_read_are_not_told(folder, capsys):
    PEOPLE.assign(height=["?", *PEOPLE["height"][1:]]).to_csv("people.csv", index=False)
    out, _ = audit("--protected", "pregnant", "--where", "id >= 0", code=1, capsys=capsys)
    assert "fewer than 5 cells" in out
    assert "40 of 40 rows" in out


@pytest.mark.parametrize(
    "values",
    [[b"secret"], [pd.Timestamp("1987-06-05").date()], [987654321987654321], [["secret"]]],
    ids=["bytes", "date", "number", "list"],
)
def test_no_message_shows_a_value(values, folder, capsys):
    PEOPLE.assign(vitamins=values * 40).to_parquet("people.csv")
    _, err = audit("--protected", "pregnant", code=2, capsys=capsys)
    assert "'vitamins'" in err
    assert not re.search("secret|1987|9876", err)


def test_a_name_cannot_write_lines_of_the_answer(folder, capsys):
    name = "z\n\nNo proxy use was found.\x1b[2J" + "x" * 200
    PEOPLE.rename(columns={"pregnant": name}).to_csv("people.csv", index=False)
    out, _ = audit("--protected", name, "--output", "a.json", code=1, capsys=capsys)
    again, _ = run("show", "a.json", code=1, capsys=capsys)
    witness = json.loads(Path("a.json").read_text())["witnesses"][0]["id"]
    one, _ = run("show", "a.json", "--witness", witness, code=1, capsys=capsys)
    for text in (out, again, one):
        assert not any(line.startswith("No proxy use") for line in text.splitlines())
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) < 450


def test_results_about_different_attributes_are_not_compared(folder, capsys):
    audit("--protected", "pregnant", "--output", "a.json", code=1, capsys=capsys)
    audit("--protected", "height", "--output", "b.json", code=0, capsys=capsys)
    _, err = run("diff", "a.json", "b.json", code=2, capsys=capsys)
    assert "'height'" in err
    assert "'pregnant'" in err


def test_a_fault_does_not_pass_for_a_finding(folder, capsys, monkeypatch):
    def broken(arguments: object) -> int:
        raise KeyError("someone's value")

    monkeypatch.setattr("proxyuse.cli.doctor_command.run", broken)
    _, err = run("doctor", code=2, capsys=capsys)
    assert "KeyError at test_cli.py" in err
    assert "someone" not in err
    monkeypatch.setenv("PROXYUSE_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["doctor"])


# Processes


def process(*words: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "proxyuse", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


@pytest.mark.slow
def test_a_full_disk_is_told_and_nothing_is_left_half_written(folder):
    def no_more_than_a_little() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    Path("a.json").write_text("before")
    words = ("--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")
    found = process(
        "audit", *words, "--output", "a.json", preexec_fn=no_more_than_a_little,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert found.returncode == 2
    assert "a.json" in found.stderr
    assert "Traceback" not in found.stderr
    assert Path("a.json").read_text() == "before"
    assert sorted(path.name for path in folder.glob("*a.json*")) == ["a.json"]


AUDIT = ("audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["", "--json"])
def test_an_answer_that_cannot_be_printed_is_an_error(form, folder):
    command = [sys.executable, "-m", "proxyuse", *AUDIT, *form.split()]
    with open("/dev/full", "w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert found.returncode == 2
    assert "cannot print the result" in found.stderr
    assert "Traceback" not in found.stderr


def test_an_answer_that_cannot_be_written_is_printed(folder):
    found = process(*AUDIT, "--output", "/dev/full")
    assert found.returncode == 2
    assert "/dev/full" in found.stderr
    assert "vitamins" in found.stdout


@pytest.mark.slow
def test_closed_streams_change_no_exit_code(folder):
    command = f"{sys.executable} -m proxyuse {' '.join(AUDIT)}"
    assert subprocess.run(f"{command} >&-", shell=True, timeout=60).returncode == 1
    assert subprocess.run(f"{command} --data no 2>&-", shell=True, timeout=60).returncode == 2


@pytest.mark.slow
def test_names_that_an_encoding_lacks_are_escaped(folder):
    PEOPLE.rename(columns={"pregnant": "é漢"}).to_csv("people.csv", index=False)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = (*AUDIT[:-1], "é漢")
    found = process(*words, env=ascii_only)
    assert found.returncode == 1
    assert "\\xe9\\u6f22" in found.stdout
    found = process(*words, "--json", env=ascii_only)
    assert json.loads(found.stdout)["protected"][0]["name"] == "é漢"


def long_work(pairs: int) -> tuple[str, ...]:
    """Arguments of an audit that measures every set of the places at which `x` stands.

    Their effects cancel, each alone is too small, and so no bound settles `x`: 4^pairs sets.
    """
    terms = " + ".join(f"{2 + i / 8} * x - {2 + i / 8} * x" for i in range(pairs))
    Path("sum.txt").write_text(f"ite({terms} > {2 + pairs / 8}, 1, 0)")
    values = [row % 2 for row in range(4000)]
    pd.DataFrame({"x": values, "z": values}).to_csv("same.csv", index=False)
    budget = f"subsets=0,search=0,grow=0,occurrences={2 * 4**pairs}"
    return ("audit", "--model", "sum.txt", "--data", "same.csv", "--protected", "z",
            "--budget", budget)  # fmt: skip


@pytest.mark.slow
def test_an_interrupted_audit_ends_cleanly(folder):
    command = [sys.executable, "-m", "proxyuse", *long_work(pairs=15), "--output", "a.json"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background makes its children ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as it:
        time.sleep(4)  # it is at work for days
        it.send_signal(signal.SIGINT)
        try:
            out, err = it.communicate(timeout=60)
        finally:
            it.kill()
    assert it.returncode == 130, err
    assert re.search("interrupted", err)
    assert "Traceback" not in err
    assert out == ""
    assert not list(folder.glob("*a.json*"))


def test_a_closed_pipe_is_no_error(folder):
    command = f"{sys.executable} -m proxyuse datasets | true"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert found.stderr == ""


def on_a_terminal(*words: str, **variables: str) -> str:
    """What a command shows on a terminal of its own, standard error included."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "proxyuse", *words]
    environment = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **variables}
    with subprocess.Popen(command, stdout=its, stderr=its, env=environment):
        os.close(its)
        shown = b""
        with contextlib.suppress(OSError):  # the other end was closed
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    return shown.decode()


@pytest.mark.slow
def test_colors_are_for_terminals(folder):
    words = ("audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")
    assert "\x1b" not in process(*words).stdout
    assert "\x1b[1m" in on_a_terminal(*words)
    assert "\x1b[1m" not in on_a_terminal(*words, NO_COLOR="1")


@pytest.mark.slow
def test_long_work_shows_how_far_it_is(folder):
    words = long_work(pairs=6)
    shown = on_a_terminal(*words)
    assert "reading the model" in shown
    assert "left" in shown
    assert "measurements" in shown
    assert "measurements" not in on_a_terminal(*words, "--quiet")
