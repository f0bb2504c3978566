"""An attack on withheld counts: which tables agree with everything that is printed?

The attacker knows the program, so it knows which values of a column each computation takes
together. It knows that all figures come from one table of counts: the values of the column by the
protected values. It knows all totals. It reads the JSON result of one audit and keeps a table if it
agrees with every figure about every computation: cells, associations and their ranges, guess rates,
confidence bounds, what makes a witness, selection rates, the direction of each group, and the
numbers of witnesses at other thresholds.

This module shares no code with the package. It measures associations itself.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

HALF = 0.5e-4 + 1e-9  # printed with four decimals

Found = dict[str, Any]


def association(table):
    """Normalized mutual information."""
    shares = table / table.sum()

    def entropy(parts):
        parts = parts[parts > 0]
        return float(-(parts * np.log2(parts)).sum())

    joint = entropy(shares.ravel())
    own = entropy(shares.sum(axis=1)) + entropy(shares.sum(axis=0))
    return 0.0 if joint == 0 else (own - joint) / joint


class Attack:
    """Everything printed about one protected attribute.

    Parameters
    ----------
    result : the JSON result, parsed.
    computations : for each term, the value of the term for each value of the column, as a label of
        the printed rows; the whole program is among them.
    decisions : the decision for each value of the column.
    """

    def __init__(self, result: Found, computations: dict[str, list[str]], decisions: list[str]):
        self.result = result
        self.computations = computations
        self.decisions = decisions
        self.epsilon = result["thresholds"]["epsilon"]
        self.delta = result["thresholds"]["delta"]
        self.min_cell = result["min_cell"]
        self.witnesses = [w for w in result["witnesses"] if w["term"] in computations]
        self.others = [n for n in result["nearest"] if n["term"] in computations]
        whole = list(computations)[-1]
        for reference in result["references"]:
            term = reference["name"] if reference["kind"] == "variable" else whole
            if reference["association"] is not None and term in computations:
                self.others.append({**reference, "term": term})

    def lines(self, term, table):
        """The table of a computation, and its labels in printed order."""
        labels = self.computations[term]
        kept = list(dict.fromkeys(labels))
        merged = np.array([table[[one == label for one in labels]].sum(axis=0) for label in kept])
        return kept, merged

    def agrees(self, table) -> bool:
        """Whether a table agrees with everything printed."""
        return (
            bool((table >= 0).all())
            and all(self._agrees_with(w, table) for w in self.witnesses)
            and all(self._associated(o, self.lines(o["term"], table)[1]) for o in self.others)
            and self._rates_agree(table)
            and self._counts_agree(table)
        )

    def _counts_agree(self, table) -> bool:
        """Numbers of witnesses at other thresholds, if the influence of everything is printed."""
        known = {each["id"]: each for each in [*self.others, *self.witnesses]}
        influences = [each["influence"] for each in known.values()]
        if len(known) != self.result["decompositions"] or None in influences:
            return True
        measured = [
            association(self.lines(each["term"], table)[1]) + 1e-12 for each in known.values()
        ]
        for printed in self.result["threshold_table"]:
            for delta, line in zip(printed["deltas"], printed["witnesses"], strict=True):
                if any(abs(value - delta) <= HALF for value in influences):
                    continue  # four decimals do not say on which side it is
                for epsilon, number in zip(printed["epsilons"], line, strict=True):
                    above = sum(
                        value >= epsilon and influence > delta
                        for value, influence in zip(measured, influences, strict=True)
                    )
                    if number is not None and number != above:
                        return False
        return True

    def _agrees_with(self, witness: Found, table) -> bool:
        labels, merged = self.lines(witness["term"], table)
        value = association(merged)
        if value < self.epsilon - 1e-12 or not self._associated(witness, merged):
            return False
        statistics = witness["validity"] or {}
        low, high = (statistics.get(f"association_{end}") for end in ("low", "high"))
        if (low is not None and value < low) or (high is not None and value > high):
            return False
        return (
            self._cells_agree(witness["table"], labels, merged)
            and self._guess_agrees(witness["guess"], merged)
            and self._direction_agrees(witness, merged)
        )

    def _associated(self, entry: Found, merged) -> bool:
        value, known = association(merged), entry["association_range"]
        if known is not None:
            return bool(known[0] - 1e-9 <= value <= known[1] + 1e-9)
        printed = entry["association"]
        return abs(value - printed) <= HALF or (printed in (0.0001, 0.9999) and 0 < value < 1)

    def _cells_agree(self, printed: Found, labels, merged) -> bool:
        if not printed["rows"]:
            return True
        if len(printed["rows"]) != len(labels):
            return True  # merged lines; not used by this attack
        for label, cells in zip(printed["rows"], printed["cells"], strict=True):
            line = merged[labels.index(label)]
            for cell, count in zip(cells, line.tolist(), strict=True):
                low, high = stated(cell, self.min_cell)
                if not low <= count <= high:
                    return False
        return True

    def _guess_agrees(self, guess: Found, merged) -> bool:
        ordered = np.sort(merged, axis=1)
        if (ordered[:, -1] - ordered[:, -2] <= 5 + 0.2 * merged.sum(axis=1)).any():
            return True  # ties: the guess depends on folds that the attacker does not know
        share, known = merged.max(axis=1).sum() / merged.sum(), guess["informed_range"]
        if known is not None:
            return bool(known[0] - 1e-9 <= share <= known[1] + 1e-9)
        return bool(abs(share - guess["informed"]) <= HALF)

    def _direction_agrees(self, witness: Found, merged) -> bool:
        """The decisions that change in a group are at most those of swaps that change the value.

        They are at least that, less the swaps of all groups that change the value but no decision.
        """
        if witness["direction"] is None:
            return True
        total = merged.sum()
        other = 1 - merged.sum(axis=1) / total  # chance that another person's value differs
        swaps = other @ merged
        idle = max(0.0, swaps.sum() - (witness["influence"] - HALF) * total)
        for group, possible in zip(witness["direction"]["groups"], swaps.tolist(), strict=True):
            if group["changed"] is None:
                continue
            ways = [group["changed"]] if group["up"] is None else [group["up"], group["down"]]
            low, high = np.sum([rounding(share, group["step"]) for share in ways], axis=0)
            if possible < low * group["rows"] - 1e-6 or possible - idle > high * group["rows"]:
                return False
            if witness["term"] == list(self.computations)[-1] and group["up"] is not None:
                yes, no = self._sides(merged, witness["term"])
                column = witness["direction"]["groups"].index(group)
                for way, side in (("up", no), ("down", yes)):
                    share = merged[side, column] * other[side] / group["rows"]
                    low, high = rounding(group[way], group["step"])
                    if not low - 1e-9 <= share <= high + 1e-9:
                        return False
        return True

    def _sides(self, merged, term):
        labels = list(dict.fromkeys(self.computations[term]))
        yes = labels.index("'yes'")
        return yes, 1 - yes

    def _rates_agree(self, table) -> bool:
        """Selection rates; their confidence bounds follow from them."""
        outcomes = self.result["outcomes"]
        for place, label in enumerate(outcomes["labels"]):
            own = table[[decision.strip("'") == label.strip("'") for decision in self.decisions]]
            for group, count in zip(
                outcomes["attributes"][0]["groups"], own.sum(axis=0).tolist(), strict=True
            ):
                figure = group["figures"][place]
                if figure["at_least"] is None:
                    continue
                rate = count / group["rows"]
                if not figure["at_least"] - HALF <= rate <= figure["at_most"] + HALF:
                    return False
        return True

    def values(self, true, enough=5):
        """For each cell of each witness's table, how many values it has in tables that agree.

        Of two by two cells, all tables with the totals are tried. Of more, those that moves of a
        few people lead to from the true one, until each withheld cell has `enough` values: a table
        that agrees proves what is possible, and an attacker can only know less.
        """
        assert self.agrees(true), "what is printed must be true"
        known = {w["term"]: self.lines(w["term"], true)[1] for w in self.witnesses}
        values = {term: [{int(n)} for n in merged.ravel()] for term, merged in known.items()}
        hidden = self._hidden(known)
        for table in possible(true):
            if all(len(values[term][place]) >= enough for term, place in hidden):
                break
            if not any(self._helps(table, values, term, place) for term, place in hidden):
                continue
            if self.agrees(table):
                for term, sets in values.items():
                    for place, count in enumerate(self.lines(term, table)[1].ravel().tolist()):
                        sets[place].add(count)
        return {
            term: np.array([len(one) for one in sets]).reshape(known[term].shape)
            for term, sets in values.items()
        }

    def _hidden(self, known):
        """The withheld cells of each witness's table: its term and the place of the cell."""
        places = []
        for witness in self.witnesses:
            term, printed = witness["term"], witness["table"]
            labels, merged = list(dict.fromkeys(self.computations[term])), known[term]
            for line, cells in enumerate(merged.tolist()):
                for column, count in enumerate(cells):
                    shown = dict(zip(printed["rows"], printed["cells"], strict=True))
                    cell = shown.get(labels[line], [None] * len(cells))[column]
                    if not isinstance(cell, int) or count < self.min_cell:
                        places.append((term, line * len(cells) + column))
        return list(dict.fromkeys(places))

    def _helps(self, table, values, term, place) -> bool:
        count = int(self.lines(term, table)[1].ravel()[place])
        return count not in values[term][place]


def possible(true):
    """Tables with the totals of a table: all of two by two cells, or those close to it."""
    rows, columns = true.shape
    if rows == columns == 2:
        step = np.array([[1, -1], [-1, 1]])
        low, high = -min(true[0, 0], true[1, 1]), min(true[0, 1], true[1, 0])
        for shift in sorted(range(low, high + 1), key=abs):
            yield true + shift * step
        return
    moves = []
    for (a, b), (c, d) in itertools.product(
        itertools.combinations(range(rows), 2), itertools.combinations(range(columns), 2)
    ):
        move = np.zeros_like(true)
        move[a, c] = move[b, d] = 1
        move[a, d] = move[b, c] = -1
        moves.append(move)
    singles = (true + shift * move for shift in range(-16, 17) for move in moves)
    pairs = (
        true + one * first + two * second
        for one, two in itertools.product((-1, 1, -2, 2, -3, 3, -4, 4), repeat=2)
        for first, second in itertools.combinations(moves, 2)
    )
    for table in itertools.chain(singles, pairs):
        if (table >= 0).all():
            yield table


def stated(cell, min_cell):
    """The range of counts that a printed cell states."""
    if isinstance(cell, int):
        return cell, cell
    if cell == f"<{min_cell}":
        return 0, min_cell - 1
    if cell == "withheld":
        return 0, np.inf
    low, high = cell.replace(",", "").split(" to ")
    return int(low), int(high)


def rounding(share, step):
    """The shares that are rounded to a printed one."""
    if step == 0:
        return share - HALF, share + HALF
    if share == 0:
        return 0.0, step
    if share == 1:
        return 1 - step, 1.0
    return share - step / 2 - 1e-4, share + step / 2 + 1e-4
