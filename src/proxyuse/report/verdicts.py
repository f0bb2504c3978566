"""What a build is told: which violations count, and what was not settled."""

from __future__ import annotations

from collections.abc import Mapping


def exit_code_of(violations: int, settled: bool, among: Mapping[str, int] | None = None) -> int:
    """1 for violations; without, 3 if not everything was settled, else 0.

    Where only confirmed violations count, `among` says how many there are of each verdict, and
    those that could not be decided are not settled.

    Examples
    --------
    >>> exit_code_of(2, True), exit_code_of(0, False), exit_code_of(0, True)
    (1, 3, 0)
    >>> exit_code_of(2, True, {"confirmed": 0, "undecided": 1})
    3
    """
    if among is not None:
        violations, settled = among["confirmed"], settled and not among["undecided"]
    if violations:
        return 1
    return 0 if settled else 3
