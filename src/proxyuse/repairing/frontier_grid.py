"""The thresholds of the frontier of a repair: those that the caller names, or some around one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proxyuse.errors import DataError
from proxyuse.options import percentage
from proxyuse.settings import RepairOptions, frontier_values

SIDE = 2
"""The number of stricter and of laxer values around the requested one, by default."""
VALUES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
PERCENTAGES = ("1%", "2%", "5%", "10%", "20%", "50%", "100%")
"""The values that surround the requested one by default."""

Threshold = float | str


@dataclass(frozen=True, slots=True)
class Grid:
    """The thresholds of a frontier.

    Attributes
    ----------
    name : the threshold that varies, "epsilon" or "delta".
    values : its values, the strictest first.
    requested : the index of the requested value.
    """

    name: str
    values: tuple[Threshold, ...]
    requested: int

    @property
    def others(self) -> Sequence[int]:
        """The indices of the other values, the closest to the requested one first."""
        indices = (index for index in range(len(self.values)) if index != self.requested)
        return sorted(indices, key=lambda index: (abs(index - self.requested), index))


def frontier_grid(options: RepairOptions) -> Grid | None:
    """Return the thresholds of the frontier that the options ask for; None without a frontier.

    Examples
    --------
    >>> frontier_grid(RepairOptions(epsilon=0.1, frontier="epsilon")).values
    (0.02, 0.05, 0.1, 0.2, 0.5)
    >>> frontier_grid(RepairOptions(epsilon="30%", frontier="epsilon")).values
    ('10%', '20%', '30%', '50%', '100%')
    >>> frontier_grid(RepairOptions(frontier={"delta": (0.1, 0.05)}))
    Grid(name='delta', values=(0.05, 0.1), requested=0)
    """
    if options.frontier is None:
        return None
    name, values = frontier_values(options.frontier)
    requested = getattr(options, name)
    if values is None:
        values = _around(requested, name)
    elif requested not in values and _number(requested) not in map(_number, values):
        listed = ", ".join(map(threshold_text, values))
        raise DataError(
            f"frontier: the values {listed} do not include the requested {name}, "
            f"{threshold_text(requested)}; add it"
        )
    elif isinstance(requested, str) != isinstance(values[0], str):
        kind = "percentages" if isinstance(requested, str) else "numbers"
        raise DataError(
            f"frontier: {name} is {threshold_text(requested)}, so pass its values as {kind}"
        )
    ordered = sorted(values, key=_number)
    return Grid(name, tuple(ordered), [_number(v) for v in ordered].index(_number(requested)))


def threshold_text(value: Threshold) -> str:
    """A threshold as a person would write it.

    Examples
    --------
    >>> threshold_text(0.1), threshold_text("50%")
    ('0.1', '50%')
    """
    return value if isinstance(value, str) else f"{value:g}"


def _number(value: Threshold) -> float:
    share = percentage(value)
    return float(value) if share is None else share


def _around(requested: Threshold, name: str) -> tuple[Threshold, ...]:
    """The requested value with others around it; one side has more if the other has too few."""
    steps: Sequence[Threshold] = PERCENTAGES if isinstance(requested, str) else VALUES
    own = _number(requested)
    stricter = [value for value in steps if _number(value) < own]
    laxer = [value for value in steps if _number(value) > own]
    if name == "delta":
        laxer = [value for value in laxer if _number(value) < 1]  # no influence is above 1
    more = max(0, SIDE - len(stricter)), max(0, SIDE - len(laxer))
    below = stricter[max(0, len(stricter) - SIDE - more[1]) :]
    return (*below, requested, *laxer[: SIDE + more[0]])
