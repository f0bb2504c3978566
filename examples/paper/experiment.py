"""What an experiment returns, and the page it is written to.

Each experiment is a module of `examples.paper`. Its docstring is the text of its page; its function
`reproduce` does the work and returns a `Reproduced`. This module loads experiments and writes their
pages. `reproduce.py` runs them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxyuse.errors import FileError
from proxyuse.io.writing import check_writable, written

PAPER: dict[str, Any] = {
    "methods": ("constants",),
    "validity": None,
    "collections": False,
    "seconds": None,
}
"""A repair as in the paper: constants for every single witness, and no statistics."""


if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXPERIMENTS = (
    "adult", "contraception", "student", "credit", "runtime", "inserted", "models", "similar",
    "baselines", "masked", "errata",
)  # fmt: skip
NEEDS_PSID = "credit"
NOT_STATED = "not stated"
COMMAND = "python -m examples.paper.reproduce"
MARK = f"<!-- made by: {COMMAND} -->\n"
INTRODUCTION = f"""\
The experiments of Datta, Fredrikson, Ko, Mardziel and Sen, *Use Privacy in Data-Driven Systems*
(CCS 2017, [arXiv 1705.07807](https://arxiv.org/abs/1705.07807)), repeated. Each page compares what
the authors state, in the paper or in
[the program they published with it](https://github.com/cmu-transparency/artifact-proxyuse-ccs2017),
with what proxyuse measures. Three pages go beyond the paper: three models of the same size, the
baselines, and where the paper is wrong or silent. `{COMMAND}` writes
these pages.
"""


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure the paper's authors state, next to the same figure measured here.

    Attributes
    ----------
    what : what the figure measures.
    stated : the figure as the authors print it; None if they do not state it.
    here : the figure measured here. A number is printed with as many decimals as `stated` has.
        It equals a stated whole number only if it is whole itself.

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
        """The figure measured here, formatted as the authors would print it."""
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
        """Whether the two figures print the same; None if the authors state none."""
        return None if self.stated is None else self.measured == self.stated


@dataclass(frozen=True, slots=True)
class Table:
    """Figures that the paper does not have."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A chart: the name of its file without suffix, its axes, and its caption."""

    name: str
    axes: Axes
    caption: str


@dataclass(frozen=True, slots=True, eq=False)
class Reproduced:
    """The result of an experiment."""

    compared: Sequence[Compared] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A loaded experiment."""

    name: str
    title: str
    prose: str
    reproduce: Callable[..., Reproduced] = field(repr=False)

    def page(self, result: Reproduced) -> str:
        """Render the result as a Markdown page."""
        parts = [f"# {self.title}", self.prose]
        if result.compared:
            rows = [(line.what, *_cells(line)) for line in result.compared]
            parts.append(_markdown(("", "authors", "here", ""), rows))
        for table in result.tables:
            parts += [f"**{table.title}**", _markdown(table.names, table.rows)]
        for picture in result.pictures:
            parts.append(f"![{picture.caption}]({picture.name}.svg)\n\n*{picture.caption}*")
        parts += [f"- {remark}" for remark in result.remarks]
        return "\n\n".join([*parts, MARK])

    def text(self, result: Reproduced) -> str:
        """Render the result for a terminal, without the prose."""
        parts = [self.title]
        if result.compared:
            rows = [(line.what, *_cells(line)) for line in result.compared]
            parts.append(_aligned(("", "authors", "here", ""), rows))
        parts += [
            f"  {table.title}\n{_aligned(table.names, table.rows)}" for table in result.tables
        ]
        parts += [f"  {remark}" for remark in result.remarks]
        return "\n".join(parts).replace("`", "")

    def write(self, result: Reproduced, folder: Path) -> list[Path]:
        """Write the page and its charts into a folder."""
        from proxyuse.report.render.figure import save_figure

        files = [
            save_figure(picture.axes, folder / f"{picture.name}.svg") for picture in result.pictures
        ]
        return [written(folder / f"{self.name}.md", self.page(result)), *files]


def load(name: str) -> Experiment:
    """Import one of `EXPERIMENTS` by name."""
    check_name(name)
    try:
        module = import_module(f"examples.paper.{name}")
    except ImportError as error:
        raise FileError(
            f"the experiment {name!r} needs {error.name}, which is not installed: "
            "pip install 'proxyuse[paper]'"
        ) from None
    return Experiment(name, *_title_and_prose(module.__doc__), module.reproduce)


def title_of(name: str) -> str:
    """Return the title of an experiment without importing it."""
    check_name(name)
    module = ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    return _title_and_prose(ast.get_docstring(module))[0]


def check_name(name: str) -> None:
    """Raise an error if there is no such experiment."""
    if name not in EXPERIMENTS:
        raise FileError(f"no experiment {name!r}; available: {', '.join(EXPERIMENTS)}")


def _title_and_prose(docstring: str | None) -> tuple[str, str]:
    title, _, prose = inspect.cleandoc(docstring or "").partition("\n")
    return title.rstrip("."), prose.strip()


def write_contents(folder: Path) -> Path:
    """Write the contents page: a link to each page in a folder, and the command for the others."""
    lines = []
    for name in EXPERIMENTS:
        page = folder / f"{name}.md"
        if page.is_file():
            title = _text(page).partition("\n")[0].removeprefix("# ")
            lines.append(f"- [{title}]({page.name})\n")
        else:
            option = " --psid FILE" if name == NEEDS_PSID else ""
            lines.append(f"- {title_of(name)} (not run here: `{COMMAND} {name}{option}`)\n")
    text = f"# The paper's evaluation, reproduced\n\n{INTRODUCTION}\n{''.join(lines)}\n{MARK}"
    return written(folder / "README.md", text)


def make_folder(folder: Path, names: Sequence[str]) -> None:
    """Create a folder for the pages; raise an error if a page would replace a foreign file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the folder {folder}: {error.strerror}") from None
    for name in (*names, "README"):
        page = folder / f"{name}.md"
        check_writable(page)
        if page.exists() and MARK.strip() not in _text(page):
            raise FileError(
                f"{page} exists and was not written by this command; choose another folder "
                "with --out"
            )


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8", errors="replace")


def _cells(line: Compared) -> tuple[str, str, str]:
    verdict = {None: "", True: "same", False: "differs"}[line.same]
    return (NOT_STATED if line.stated is None else line.stated, line.measured, verdict)


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (names, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], f"|{'---|' * len(names)}", *lines[1:]])


def _aligned(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[cell.replace("`", "") for cell in row] for row in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "    "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
