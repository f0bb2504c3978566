"""The protected attribute that a report opens on."""

from __future__ import annotations

from proxyuse.errors import DataError
from proxyuse.report.inputs import Audited


def leading_attribute(audit: Audited) -> str:
    """The attribute of the strongest confirmed witness, else of the strongest, else the first.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"x": [1, 1, 0, 0] * 9, "y": [1, 0, 1, 0] * 9, "z": [1, 1, 0, 0] * 9}
    >>> audit = pu.audit(pu.Program.parse("ite(x == 1, 'a', 'b')"), data, ["y", "z"])
    >>> leading_attribute(audit)
    'z'
    """
    confirmed = (w for w in audit.witnesses if w.validity is not None and w.validity.confirmed)
    finding = next(confirmed, None) or next(iter(audit.witnesses), None)
    return audit.decompositions.protected[0] if finding is None else finding.protected


def chosen_attribute(audit: Audited, name: str | None) -> str:
    """Return a requested attribute; by default, the leading one."""
    known = audit.decompositions.protected
    if name is None:
        return leading_attribute(audit)
    if name not in known:
        raise DataError(
            f"{name!r} is not a protected attribute of this audit; pass one of {', '.join(known)}"
        )
    return name
