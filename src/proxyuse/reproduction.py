"""Experiments of a paper, done again: what it states beside what is measured here.

An experiment is a script of `examples/paper`. Its docstring is the text of its page, its function
`reproduce` does the work and returns a `Reproduced`. This module runs such scripts, alone or one
after the other, and writes their pages; it knows nothing of what they measure.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from proxyuse.errors import FileError, ProxyUseError
from proxyuse.io.writing import check_writable, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXPERIMENTS = (
    "adult", "contraception", "student", "credit", "runtime", "inserted", "models", "similar",
    "baselines", "masked", "errata",
)  # fmt: skip
NEEDS_PSID = "credit"
SILENT = "not stated"
MARK = "<!-- made by: proxyuse reproduce -->\n"
INTRODUCTION = """\
The experiments of Datta, Fredrikson, Ko, Mardziel and Sen, *Use Privacy in Data-Driven Systems*
(CCS 2017, [arXiv 1705.07807](https://arxiv.org/abs/1705.07807)), done again: what the authors
state, in the paper or by
[the program they published with it](https://github.com/cmu-transparency/artifact-proxyuse-ccs2017),
beside what is measured here. Three models of the same size, the baselines and the page on where
the paper is wrong or silent go beyond it. `proxyuse reproduce` makes these pages anew.
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure that the paper's authors state beside the same figure measured here.

    Attributes
    ----------
    what : of what it is the figure.
    stated : as the authors print it; None where they are silent.
    here : a number is written with as many decimals as theirs has. To be the same as a whole
        number it has to be whole.

    Examples
    --------
    >>> line = Compared("association", "0.0225", 0.022491)
    >>> line.measured, line.same
    ('0.0225', True)
    """

    what: str
    stated: str | None
    here: float | str

    @property
    def measured(self) -> str:
        """What is measured here, as the authors would print it."""
        if isinstance(self.here, str):
            return self.here
        if self.stated is None:
            return f"{self.here:,}" if isinstance(self.here, int) else f"{self.here:.4g}"
        decimals = len(self.stated.partition(".")[2])
        if decimals == 0 and self.here != round(self.here):
            return f"{self.here:.4g}"
        return f"{self.here + 0:.{decimals}f}"  # + 0: no minus sign before a zero

    @property
    def same(self) -> bool | None:
        """Whether the two are the same as printed; None where they are silent."""
        return None if self.stated is None else self.measured == self.stated


@dataclass(frozen=True, slots=True)
class Table:
    """Figures of which the paper has none, or not so many."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Something drawn: the name of its file without ending, and what is to be seen in it."""

    name: str
    axes: Axes
    caption: str


@dataclass(frozen=True, slots=True, eq=False)
class Reproduced:
    """What came of an experiment."""

    compared: Sequence[Compared] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A script of `examples/paper` that was loaded."""

    name: str
    title: str
    prose: str
    reproduce: Callable[..., Reproduced] = field(repr=False)

    def page(self, result: Reproduced) -> str:
        """The page of the experiment, as Markdown."""
        parts = [f"# {self.title}", self.prose]
        if result.compared:
            rows = [(line.what, *_sides(line)) for line in result.compared]
            parts.append(_markdown(("", "authors", "here", ""), rows))
        for table in result.tables:
            parts += [f"**{table.title}**", _markdown(table.names, table.rows)]
        for picture in result.pictures:
            parts.append(f"![{picture.caption}]({picture.name}.svg)\n\n*{picture.caption}*")
        parts += [f"- {remark}" for remark in result.remarks]
        return "\n\n".join([*parts, MARK])

    def text(self, result: Reproduced) -> str:
        """The same for a terminal, without the prose."""
        parts = [self.title]
        if result.compared:
            rows = [(line.what, *_sides(line)) for line in result.compared]
            parts.append(_aligned(("", "authors", "here", ""), rows))
        parts += [
            f"  {found.title}\n{_aligned(found.names, found.rows)}" for found in result.tables
        ]
        parts += [f"  {remark}" for remark in result.remarks]
        return "\n".join(parts).replace("`", "")

    def write(self, result: Reproduced, folder: Path) -> list[Path]:
        """Write the page and its pictures into a folder."""
        from proxyuse.page.figure import save_figure

        files = [
            save_figure(picture.axes, folder / f"{picture.name}.svg") for picture in result.pictures
        ]
        return [written(folder / f"{self.name}.md", self.page(result)), *files]


def scripts() -> Path:
    """The folder of the scripts: inside the package, or beside it in a checkout."""
    here = Path(__file__).parent
    for folder in (here / "examples" / "paper", here.parents[1] / "examples" / "paper"):
        if folder.is_dir():
            return folder
    raise FileError(
        "the scripts of the experiments are not here (examples/paper); install the package again"
    )


def load(name: str) -> Experiment:
    """Load one of the scripts by its name in `EXPERIMENTS`."""
    path = scripts() / f"{_known(name)}.py"
    spec = importlib.util.spec_from_file_location(f"proxyuse_paper_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise FileError(
            f"the experiment {name!r} needs {error.name}, which is not installed: "
            "pip install 'proxyuse[paper]'"
        ) from None
    return _experiment(name, module)


def title_of(name: str) -> str:
    """The title of an experiment; its script is read and not run."""
    module = ast.parse((scripts() / f"{_known(name)}.py").read_text(encoding="utf-8"))
    return _told(ast.get_docstring(module))[0]


def _known(name: str) -> str:
    if name not in EXPERIMENTS:
        raise FileError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return name


def _experiment(name: str, module: ModuleType) -> Experiment:
    return Experiment(name, *_told(module.__doc__), module.reproduce)


def _told(docstring: str | None) -> tuple[str, str]:
    """The title and the text of a page."""
    title, _, prose = inspect.cleandoc(docstring or "").partition("\n")
    return title.rstrip("."), prose.strip()


def write_contents(folder: Path) -> Path:
    """Write the first page, which names the pages that are in a folder, and how to make others."""
    lines = []
    for name in EXPERIMENTS:
        page = folder / f"{name}.md"
        if page.is_file():
            title = _text(page).partition("\n")[0].removeprefix("# ")
            lines.append(f"- [{title}]({page.name})\n")
        else:
            data = " --psid FILE" if name == NEEDS_PSID else ""
            lines.append(f"- {title_of(name)} (not done here: `proxyuse reproduce {name}{data}`)\n")
    text = f"# The paper's evaluation, reproduced\n\n{INTRODUCTION}\n{''.join(lines)}\n{MARK}"
    return written(folder / "README.md", text)


def make_folder(folder: Path, names: Sequence[str]) -> None:
    """Make a folder for the pages of some experiments; no other file is to be overwritten."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made a folder: {error.strerror}") from None
    for name in (*names, "README"):
        page = folder / f"{name}.md"
        check_writable(page)
        if page.exists() and MARK.strip() not in _text(page):
            raise FileError(
                f"{page}: there is such a file, and it was not made by 'proxyuse reproduce'; "
                "name another folder with --out"
            )


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8", errors="replace")


def alone(reproduce: Callable[..., Reproduced]) -> None:
    """Run a script by itself, as ``python examples/paper/NAME.py [--out FOLDER]``.

    Parameters of its function `reproduce` are options that have to be given.
    """
    module = sys.modules["__main__"]
    experiment = _experiment(Path(str(module.__file__)).stem, module)
    parser = argparse.ArgumentParser(description=experiment.title)
    parser.add_argument("--out", type=Path, default=Path("paper"), help="a folder (default paper)")
    for name in inspect.signature(reproduce).parameters:
        parser.add_argument(f"--{name}", required=True)
    options = vars(parser.parse_args())
    folder = options.pop("out")
    try:
        make_folder(folder, [experiment.name])
        result, seconds = timed(reproduce, **options)
        files = experiment.write(result, folder)
    except ProxyUseError as error:
        sys.exit(f"{experiment.name}: {error}")
    print(experiment.text(result))
    print(f"  {seconds:.1f} s; written: {', '.join(str(file) for file in files)}")


def timed(reproduce: Callable[..., Reproduced], **options: Any) -> tuple[Reproduced, float]:
    """Do an experiment, and say how many seconds it took."""
    start = time.perf_counter()
    result = reproduce(**options)
    return result, time.perf_counter() - start


def _sides(line: Compared) -> tuple[str, str, str]:
    verdict = {None: "", True: "same", False: "differs"}[line.same]
    return (SILENT if line.stated is None else line.stated, line.measured, verdict)


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = [[cell.replace("|", "\\|") for cell in row] for row in (names, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in shown]
    return "\n".join([lines[0], f"|{'---|' * len(names)}", *lines[1:]])


def _aligned(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[cell.replace("`", "") for cell in row] for row in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "    "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
