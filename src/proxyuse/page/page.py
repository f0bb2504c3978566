"""The report as one file: templates, styles, scripts and data put together, no network.

A page has no clock times and no folders, so the same audit gives the same bytes. Its content
security policy lets no script run but those that are named there by their hash, and lets nothing
be fetched.
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
from proxyuse.page import picture
from proxyuse.page.content import page_content
from proxyuse.page.points import as_script_text, points
from proxyuse.page.shown import words
from proxyuse.report.document import document as document_of
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.result import MIN_CELL, AuditResult
from proxyuse.words import count, percent

if TYPE_CHECKING:
    from jinja2 import Environment

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
    audit : what was found; of a repair, the audit before it.
    about : what the caller knows of model and data, see `report.document`.
    min_cell : numbers of rows below this are not printed, nor what they could be computed from.
    oracle : who judges whether a witness is appropriate.
    repair : what was done about it, if something was.
    document : the document of the audit, where the caller has it already; it then says what
        `about`, `min_cell` and `oracle` would.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> page = page_text(found)
    >>> "The model uses a proxy for <bdi>pregnant</bdi>." in page, page == page_text(found)
    (True, True)
    """
    if document is None:
        document = document_of(audit, about=about, min_cell=min_cell, oracle=oracle)
    environment = _environment()
    styles = [picture.asset(name) for name in STYLES]
    scripts = [_script(name) for name in SCRIPTS]
    after = None if repair is None else repair.after
    return environment.get_template("page.html").render(
        **page_content(audit, document, repair),
        styles="\n".join(styles),
        scripts=scripts,
        policy=_policy(scripts),
        points=as_script_text(points(audit, document, after)),
    )


def write_page(path: str | Path, audit: Audited, **options: Any) -> Path:
    """Write the report of an audit, whole or not at all; see `page_text` for the options."""
    check_writable(path)
    return written(path, page_text(audit, **options))


def _environment() -> Environment:
    """The templates, with everything escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise FileError(
            "a report needs Jinja2, which is not installed: pip install 'proxyuse[report]'"
        ) from None
    environment = Environment(
        loader=PackageLoader("proxyuse.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        words=words, percent=percent, number=_number, fixed=_fixed, script=as_script_text
    )
    environment.globals["count"] = count
    return environment


def _number(value: object) -> str:
    """A number of rows, or what is printed in its place."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def _fixed(value: float | None, decimals: int = 3) -> str:
    """A measure."""
    return "" if value is None else f"{value:.{decimals}f}"


def _script(name: str) -> str:
    """A script that may stand in an element."""
    text = picture.asset(name)
    if _ENDS_SCRIPT.search(text):
        raise AssertionError(f"{name} would end the element it stands in")
    return text


def _policy(scripts: list[str]) -> str:
    """What a browser may do with the page: run these scripts, and fetch nothing."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
