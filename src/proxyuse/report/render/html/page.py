"""The HTML report as one file with its templates, styles, scripts and data.

A page contains no times and no paths, so the same audit gives the same bytes. Its content security
policy allows only the scripts listed there by hash, and no network requests.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxyuse.errors import FileError
from proxyuse.io.writing import check_writable, written
from proxyuse.judge.judgment import Oracle
from proxyuse.report.document import document as document_of
from proxyuse.report.findings.page import chart_cells
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.render.html import picture
from proxyuse.report.render.html.content import page_content
from proxyuse.report.render.html.points import as_script_text, points
from proxyuse.report.render.html.untrusted_text import words
from proxyuse.report.result import MIN_CELL, AuditResult
from proxyuse.words import count, fixed, percent

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

STYLES = ("page.css", *picture.STYLES)
SCRIPTS = (*picture.SCRIPTS, "page.js")

_ENDS_SCRIPT = re.compile(r"</script|<!--", re.IGNORECASE)


def page_text(
    audit: Audited,
    *,
    about: Mapping[str, object] | None = None,
    min_cell: int = MIN_CELL,
    oracle: Oracle | None = None,
    repair: Repaired | None = None,
    document: AuditResult | None = None,
) -> str:
    """The report of an audit as HTML.

    Parameters
    ----------
    audit : the audit; for a repair, the audit before it.
    about : facts about the model and the data, see `report.document`.
    min_cell : counts below this are hidden, see `report.disclosure`.
    oracle : judges whether a witness is appropriate.
    repair : the repair, if there is one.
    document : the document of the audit, if the caller already has it. It replaces `about`,
        `min_cell` and `oracle`.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> page = page_text(audit)
    >>> "The model uses a proxy for <bdi>pregnant</bdi>" in page, page == page_text(audit)
    (True, True)
    """
    if document is None:
        document = document_of(audit, about=about, min_cell=min_cell, oracle=oracle)
    environment = _environment()
    styles = [picture.asset(name) for name in STYLES]
    scripts = [_script(name) for name in SCRIPTS]
    columns = points(audit, document, None if repair is None else repair.after)
    return environment.get_template("page.html").render(
        **page_content(audit, document, repair),
        styles="\n".join(styles),
        scripts=scripts,
        policy=_policy(scripts),
        points=as_script_text(columns),
        cells=_cells_sentence(columns["columns"]),
    )


def _cells_sentence(columns: Mapping[str, Any]) -> str:
    """How many computations are single points and how many are in cells; empty without cells."""
    cells = columns["cells"]
    if cells is None:
        return ""
    counted = sum(n for *_, n in cells["counts"][0])
    return chart_cells(len(columns["id"]), counted, cells["step"])


def write_page(path: str | Path, audit: Audited, **options: Any) -> Path:
    """Write the report of an audit atomically; see `page_text` for the options."""
    check_writable(path)
    return written(path, page_text(audit, **options))


def _environment() -> Environment:
    """The template environment, with automatic escaping."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise FileError(
            "The HTML report needs Jinja2, which is not installed. "
            "Run: pip install 'proxyuse[report]'"
        ) from None
    environment = Environment(
        loader=PackageLoader("proxyuse.report.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        words=words,
        code=_code,
        percent=percent,
        number=_number,
        fixed=_fixed,
        script=as_script_text,
    )
    environment.globals["count"] = count
    return environment


def _code(text: str) -> Markup:
    """One of our sentences, with commands in backticks as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _number(value: object) -> str:
    """A count with thousands separators; a text such as "<5" is unchanged."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def _fixed(value: float | None, decimals: int = 3) -> str:
    """A measure with a fixed number of decimals."""
    return "" if value is None else fixed(value, decimals)


def _script(name: str) -> str:
    """A script that is safe inside a script element."""
    text = picture.asset(name)
    if _ENDS_SCRIPT.search(text):
        raise AssertionError(f"{name} would end its script element")
    return text


def _policy(scripts: list[str]) -> str:
    """The content security policy: these scripts may run, and nothing may be fetched."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
