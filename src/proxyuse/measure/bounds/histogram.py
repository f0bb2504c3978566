"""Upper bounds on normalized mutual information from a histogram, in compiled loops.

Association puts values into groups of equal mass. A bin of the histogram either lies in one group,
or contains a boundary between groups. In the first case its rows count toward that group. In the
second case the bin counts as a piece of its own. Splitting it can add at most the entropy of the
protected attribute among its rows to the mutual information. The information of all pieces plus
these entropies is therefore an upper bound on the information of the groups.

A table of pieces is a list of its cells that are not empty: `starts` holds the first cell of each
piece and the number of cells, and two parallel arrays hold the protected value and the mass of each
cell. Costs are in cells, of which there are at most as many as rows, however many protected values
there are. The last piece is for missing numbers.

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
def _added(total: float, lost: float, term: float) -> Any:
    """Add to a sum and to what its rounding has lost so far (Neumaier)."""
    new = total + term
    if abs(total) >= abs(term):
        lost += (total - new) + term
    else:
        lost += (term - new) + total
    return new, lost


@called
def _terms(mass: float) -> Any:
    return mass * np.log(mass) if mass > 0 else 0.0


@called
def _followed(columns: Any, masses: Any, part: Any, total: float, lost: float) -> Any:
    """Add cells to the masses of a part by column, and to the sum of m log m over these masses."""
    for at in range(len(columns)):
        before = part[columns[at]]
        after = before + masses[at]
        part[columns[at]] = after
        total, lost = _added(total, lost, _terms(after) - _terms(before))
    return total, lost


@called
def exact_information(pieces: Any, width: int) -> Any:
    """Return the normalized mutual information of a table of masses."""
    starts, column_of, masses = pieces
    columns = np.zeros(width)
    by_row, cells, total = 0.0, 0.0, 0.0
    for piece in range(len(starts) - 1):
        mass = 0.0
        for at in range(starts[piece], starts[piece + 1]):
            mass += masses[at]
            columns[column_of[at]] += masses[at]
            cells += masses[at] * np.log(masses[at])
        total += mass
        by_row += _terms(mass)
    whole = total * np.log(total)
    protected = (whole - _entropy_terms(columns)) / total
    values = (whole - by_row) / total
    if protected <= 0 or values <= 0:
        return 0.0
    joint = (whole - cells) / total
    return _ratio(values + protected - joint, values, protected)


@called
def _margins(pieces: Any, width: int) -> Any:
    """Return the masses by protected value."""
    starts, column_of, masses = pieces
    columns = np.zeros(width)
    for at in range(starts[len(starts) - 1]):
        columns[column_of[at]] += masses[at]
    return columns


@called
def _sum(values: Any) -> Any:
    total = 0.0
    for value in values:
        total += value
    return total


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
def _groups_bound(
    pieces: Any, width: int, single: Any, groups: int, slack: float, mark: Any
) -> Any:
    """Return a bound for values in groups of equal mass, where each group is one value.

    Marks the pieces that contain a boundary between groups.
    """
    starts, column_of, masses = pieces
    size = len(starts) - 1
    columns = _margins(pieces, width)
    total = columns.sum()
    present = total - _sum(masses[starts[size - 1] : starts[size]])
    if present <= 0:
        return NO_BOUND
    whole = total * np.log(total)
    protected = (whole - _entropy_terms(columns)) / total
    group_masses = np.zeros(width)
    seen = np.empty(width, np.int64)  # the columns of the current group
    by_piece, cells, inside, pure, extra = 0.0, 0.0, 0.0, 0.0, 0.0
    before, current, held, many = 0.0, -1, 0.0, 0
    for piece in range(size):
        mark[piece] = False
        alone = piece == size - 1
        own_masses = masses[starts[piece] : starts[piece + 1]]
        mass = _sum(own_masses)
        if mass == 0 and not alone:
            continue
        after = before + mass
        first, last = _span(before, after, single[piece], groups, present, slack)
        if alone or first != last or first != current:  # the current group ends here
            if held > 0:
                by_piece += _terms(held)
                inside += _terms(held)
                pure += held
            for index in range(many):
                cells += _terms(group_masses[seen[index]])
                group_masses[seen[index]] = 0.0
            held, many, current = 0.0, 0, first
        if alone or first != last:
            own = _entropy_terms(own_masses)
            by_piece += _terms(mass)
            cells += own
            if alone:
                inside += _terms(mass)
                pure += mass
            else:
                mark[piece] = True
                extra += _terms(mass) - own
                current = -1
        else:
            held += mass
            for at in range(starts[piece], starts[piece + 1]):
                column = column_of[at]
                if group_masses[column] == 0:
                    seen[many] = column
                    many += 1
                group_masses[column] += masses[at]
        before = after
    values = (whole - by_piece) / total  # the entropy of the pieces
    joint = (whole - cells) / total
    information = values + protected - joint + extra / total
    least = (pure * np.log(pure) - inside) / total if pure > 0 else 0.0
    return _ratio(information, least, protected)


@called
def _cut_bound(
    pieces: Any, width: int, single: Any, groups: int, slack: float, epsilon: float, mark: Any
) -> Any:
    """Return a bound for the best of the cuts between groups of equal mass.

    Marks the pieces that can contain a cut that reaches `epsilon`. The entropies of the parts below
    and above a cut are summed again at each boundary, or follow each cell if that is less work.
    """
    starts, column_of, masses = pieces
    size = len(starts) - 1
    columns = _margins(pieces, width)
    missing = masses[starts[size - 1] : starts[size]]
    missing_mass, total = _sum(missing), columns.sum()
    present = total - missing_mass
    if present <= 0:
        return NO_BOUND
    whole = total * np.log(total)
    protected = (whole - _entropy_terms(columns)) / total
    missing_terms = _terms(missing_mass)
    uncertain_missing = missing_terms - _entropy_terms(missing)
    below, above = np.zeros(width), columns
    followed = groups * width > 2 * starts[size]
    for at in range(starts[size - 1], starts[size]):
        above[column_of[at]] -= masses[at]
    low, low_lost, high, high_lost = 0.0, 0.0, _entropy_terms(above), 0.0
    best, before, group = 0.0, 0.0, 0
    mark[size - 1] = False
    for piece in range(size - 1):
        mark[piece] = False
        start, end = starts[piece], starts[piece + 1]
        if start == end:
            continue
        mass = 0.0
        for at in range(start, end):
            mass += masses[at]
        after = before + mass
        first, last = _span(before, after, single[piece], groups, present, slack)
        exact = first == last  # all its values are in one group, so a cut can only precede it
        if not exact and followed:
            own, gone = column_of[start:end], -masses[start:end]
            high, high_lost = _followed(own, gone, above, high, high_lost)
        elif not exact:
            for at in range(start, end):
                above[column_of[at]] -= masses[at]
        if last != group and (before > 0 or not exact):  # a cut has values on both sides
            # A cut leaves at least the entropy H(Z | part) of the parts below, above and missing.
            if not followed:
                low, high = _entropy_terms(below), _entropy_terms(above)
            uncertain = uncertain_missing - (low + low_lost) - (high + high_lost)
            held = present - before if exact else present - after
            uncertain += _terms(before) + _terms(held)
            values = np.inf
            for edge in (before, before if exact else after):
                terms = missing_terms + _terms(edge) + _terms(present - edge)
                values = min(values, (whole - terms) / total)
            bound = _ratio(protected - uncertain / total, max(values, 0.0), protected)
            best = max(best, bound)
            mark[piece] = bound >= epsilon and not exact and not single[piece]
        group = last
        if followed:
            own, found = column_of[start:end], masses[start:end]
            low, low_lost = _followed(own, found, below, low, low_lost)
            if exact:
                high, high_lost = _followed(own, -found, above, high, high_lost)
        else:
            for at in range(start, end):
                below[column_of[at]] += masses[at]
                if exact:
                    above[column_of[at]] -= masses[at]
        before = after
    return best


@called
def raw_bound(pieces: Any, width: int) -> Any:
    """Return a bound for values that are not grouped: H(Z) / H(X)."""
    starts, _, masses = pieces
    columns = _margins(pieces, width)
    total = columns.sum()
    whole = total * np.log(total)
    by_bin = 0.0
    for piece in range(len(starts) - 1):
        by_bin += _terms(_sum(masses[starts[piece] : starts[piece + 1]]))
    protected = (whole - _entropy_terms(columns)) / total
    return _ratio(protected, (whole - by_bin) / total, protected)


@called
def grouped_bound(
    pieces: Any, width: int, single: Any, method: Any, epsilon: float, mark: Any
) -> Any:
    """Return a bound from the masses of pieces of the range of values."""
    if method[0] == 1:
        return _groups_bound(pieces, width, single, int(method[1]), method[3], mark)
    return _cut_bound(pieces, width, single, int(method[1]), method[3], epsilon, mark)
