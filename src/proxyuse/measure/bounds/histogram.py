"""Upper bounds on normalized mutual information from a histogram, in compiled loops.

Association puts values into groups of equal mass. A bin of the histogram either lies in one group,
or contains a boundary between groups. In the first case its rows count toward that group. In the
second case the bin counts as a piece of its own. Splitting it can add at most the entropy of the
protected attribute among its rows to the mutual information. The information of all pieces plus
these entropies is therefore an upper bound on the information of the groups.

Importing this module loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.compiled import called

NO_BOUND = 2.0  # above every association


@called
def _entropy_terms(masses: Any) -> float:
    """Return the sum of m log m."""
    total = 0.0
    for mass in masses:
        if mass > 0:
            total += mass * np.log(mass)
    return total


@called
def _ratio(information: float, values: float, protected: float) -> Any:
    """Return I / H(X, Z) from I, H(X) and H(Z); it increases in I and decreases in H(X)."""
    information = min(information, protected)
    joint = values + protected - information
    return 1.0 if joint <= information else information / joint


@called
def exact_information(table: Any, count: int) -> Any:
    """Return the normalized mutual information of a table of masses."""
    width = table.shape[1]
    columns = np.zeros(width)
    by_row, cells, total = 0.0, 0.0, 0.0
    for row in range(count):
        mass = 0.0
        for column in range(width):
            cell = table[row, column]
            if cell > 0:
                mass += cell
                columns[column] += cell
                cells += cell * np.log(cell)
        total += mass
        by_row += mass * np.log(mass) if mass > 0 else 0.0
    whole = total * np.log(total)
    protected = (whole - _entropy_terms(columns)) / total
    values = (whole - by_row) / total
    if protected <= 0 or values <= 0:
        return 0.0
    joint = (whole - cells) / total
    return _ratio(values + protected - joint, values, protected)


@called
def _margins(counts: Any) -> Any:
    """Return the masses by protected value."""
    columns = np.zeros(counts.shape[1])
    for piece in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            columns[column] += counts[piece, column]
    return columns


@called
def _span(
    before: float, after: float, single: bool, groups: int, present: float, slack: float
) -> Any:
    """Return the first and last group in which a piece between two masses can have values."""
    if single:
        middle = before / 2 + after / 2
        first = np.floor(groups * (middle - slack) / present)
        last = np.floor(groups * (middle + slack) / present)
    else:
        first = np.floor(groups * (before - slack) / present)
        last = np.ceil(groups * (after + slack) / present) - 1
    return max(0, int(first)), min(groups - 1, int(last))


@called
def _groups_bound(counts: Any, single: Any, groups: int, slack: float, mark: Any) -> Any:
    """Return a bound for values in groups of equal mass, where each group is one value.

    Marks the pieces that contain a boundary between groups.
    """
    size, width = counts.shape
    columns = _margins(counts)
    missing = counts[size - 1]
    total = columns.sum()
    present = total - missing.sum()
    if present <= 0:
        return NO_BOUND
    whole = total * np.log(total)
    protected = (whole - _entropy_terms(columns)) / total
    group_masses = np.zeros(width)
    by_piece, cells, inside, pure, extra = 0.0, 0.0, 0.0, 0.0, 0.0
    before, current = 0.0, -1
    for piece in range(size):
        mark[piece] = False
        alone = piece == size - 1
        mass = 0.0
        for column in range(width):
            mass += counts[piece, column]
        if mass == 0 and not alone:
            continue
        after = before + mass
        first, last = _span(before, after, single[piece], groups, present, slack)
        if alone or first != last or first != current:  # the current group ends here
            held = group_masses.sum()
            if held > 0:
                terms = held * np.log(held)
                by_piece += terms
                cells += _entropy_terms(group_masses)
                inside += terms
                pure += held
            group_masses[:] = 0.0
            current = first
        if alone or first != last:
            terms = mass * np.log(mass) if mass > 0 else 0.0
            own = _entropy_terms(counts[piece])
            by_piece += terms
            cells += own
            if alone:
                inside += terms
                pure += mass
            else:
                mark[piece] = True
                extra += terms - own
                current = -1
        else:
            for column in range(width):
                group_masses[column] += counts[piece, column]
        before = after
    values = (whole - by_piece) / total  # the entropy of the pieces
    joint = (whole - cells) / total
    information = values + protected - joint + extra / total
    least = (pure * np.log(pure) - inside) / total if pure > 0 else 0.0
    return _ratio(information, least, protected)


@called
def _cut_bound(
    counts: Any, single: Any, groups: int, slack: float, epsilon: float, mark: Any
) -> Any:
    """Return a bound for the best of the cuts between groups of equal mass.

    Marks the pieces that can contain a cut that reaches `epsilon`.
    """
    size, width = counts.shape
    columns = _margins(counts)
    missing = counts[size - 1]
    missing_mass, total = missing.sum(), columns.sum()
    present = total - missing_mass
    if present <= 0:
        return NO_BOUND
    whole = total * np.log(total)
    protected = (whole - _entropy_terms(columns)) / total
    missing_terms = missing_mass * np.log(missing_mass) if missing_mass > 0 else 0.0
    uncertain_missing = missing_terms - _entropy_terms(missing)
    below, above = np.zeros(width), columns - missing
    best, before, group = 0.0, 0.0, 0
    mark[size - 1] = False
    for piece in range(size - 1):
        mark[piece] = False
        mass = 0.0
        for column in range(width):
            mass += counts[piece, column]
        if mass == 0:
            continue
        after = before + mass
        first, last = _span(before, after, single[piece], groups, present, slack)
        exact = first == last  # all its values are in one group, so a cut can only precede it
        for column in range(width):
            above[column] -= counts[piece, column]
        if last != group and (before > 0 or not exact):  # a cut has values on both sides
            # A cut leaves at least the entropy H(Z | part) of the parts below, above and missing.
            beyond = above + counts[piece] if exact else above
            uncertain = uncertain_missing - _entropy_terms(below) - _entropy_terms(beyond)
            uncertain += before * np.log(before) if before > 0 else 0.0
            held = beyond.sum()
            uncertain += held * np.log(held) if held > 0 else 0.0
            values = np.inf
            for edge in (before, before if exact else after):
                terms = missing_terms
                terms += edge * np.log(edge) if edge > 0 else 0.0
                rest = present - edge
                terms += rest * np.log(rest) if rest > 0 else 0.0
                values = min(values, (whole - terms) / total)
            bound = _ratio(protected - uncertain / total, max(values, 0.0), protected)
            best = max(best, bound)
            mark[piece] = bound >= epsilon and not exact and not single[piece]
        group = last
        for column in range(width):
            below[column] += counts[piece, column]
        before = after
    return best


@called
def raw_bound(counts: Any) -> Any:
    """Return a bound for values that are not grouped: H(Z) / H(X)."""
    columns = _margins(counts)
    total = columns.sum()
    whole = total * np.log(total)
    by_bin = 0.0
    for piece in range(counts.shape[0]):
        mass = counts[piece].sum()
        by_bin += mass * np.log(mass) if mass > 0 else 0.0
    protected = (whole - _entropy_terms(columns)) / total
    return _ratio(protected, (whole - by_bin) / total, protected)


@called
def grouped_bound(counts: Any, single: Any, method: Any, epsilon: float, mark: Any) -> Any:
    """Return a bound from the masses of pieces of the range of values."""
    if method[0] == 1:
        return _groups_bound(counts, single, int(method[1]), method[3], mark)
    return _cut_bound(counts, single, int(method[1]), method[3], epsilon, mark)
