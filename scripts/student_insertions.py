"""A proxy is put into a model at random positions, found, and repaired.

One tree learns who has good grades, another who drinks little, from data without grades and
drinking. The second is put into the first at a random position, in one of two ways: in place of a
branch, as in the paper's experiment, or as the guard that decides between the branch that stood
there and another one. Which part of the program is the proxy is then known.

``python -m scripts.student_insertions docs`` writes the table and the figure of the page on it.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import proxyuse as pu
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Ite, Term
from proxyuse.lang.positions import Spot
from scripts.scatter import Axis, Cloud, scatter

if TYPE_CHECKING:
    import pandas as pd

EPSILON = DELTA = 0.01
COUNT, SEED = 100, 0
GRADES_DEPTH, ALCOHOL_DEPTH = 8, 4
BINS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.5)
PAGE, FIGURE = "inserted-proxies.md", "figures/student-insertions.svg"
TABLE = re.compile(r"(<!-- table -->\n).*?(<!-- end of table -->)", re.DOTALL)

Way = Literal["branch", "guard"]
WAYS: tuple[Way, ...] = ("branch", "guard")


@dataclass(frozen=True, slots=True, eq=False)
class Students:
    """The data, and the two trees as programs that say true or false.

    Attributes
    ----------
    X : what the trees are given: neither grades nor alcohol.
    drinks : the protected attribute, whether a pupil drinks at weekends, 3 or more of 5.
    grades : says whether the grades are good: their sum is at least the mean of all pupils.
    alcohol : says whether a pupil does not drink.
    """

    X: pd.DataFrame
    drinks: Array
    grades: pu.Program
    alcohol: pu.Program

    @property
    def inserted(self) -> Term:
        """What is put into the grades tree."""
        return self.alcohol.term


@dataclass(frozen=True, slots=True, eq=False)
class Insertion:
    """The grades tree with the alcohol tree in it, at a point of the program that came of it."""

    way: Way
    program: pu.Program
    point: int


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What an audit and a repair made of an insertion.

    Attributes
    ----------
    listed : how often the inserted term is among the decompositions.
    association, influence : of the inserted term.
    witness : whether it is among the witnesses.
    kept : how often the repaired program says what it said before the repair.
    before, after : how often the program says what the grades tree says, before and after.
    """

    insertion: Insertion
    listed: int
    association: float
    influence: float
    witness: bool
    repair: pu.Repair
    kept: float
    before: float
    after: float


@cache
def students() -> Students:
    """The pupils of the Portuguese lessons and the two trees."""
    from proxyuse.datasets import load_student

    pupils = load_student("por")
    X = pupils.drop(columns=["Dalc", "Walc", "G1", "G2", "G3"])
    total = pupils[["G1", "G2", "G3"]].sum(axis=1)
    drinks = np.asarray(pupils["Walc"] >= 3)
    good = np.asarray(total >= total.mean())
    return Students(X, drinks, _tree(X, good, GRADES_DEPTH), _tree(X, ~drinks, ALCOHOL_DEPTH))


def _tree(X: pd.DataFrame, y: Array, depth: int) -> pu.Program:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    words = list(X.select_dtypes(exclude="number"))
    columns = ColumnTransformer([("words", OneHotEncoder(), words)], remainder="passthrough")
    model: Any = make_pipeline(columns, DecisionTreeClassifier(max_depth=depth, random_state=0))
    return pu.translate(model.fit(X, y)).without_missing(frozenset(X.columns))


def insertions(way: Way, count: int = COUNT, seed: int = SEED) -> list[Insertion]:
    """Insertions at random branches of the grades tree, all at different ones."""
    draw = random.Random(f"{way} {seed}")
    data = students()
    points = data.grades.points
    places = [
        point
        for point, above in enumerate(points.parents)
        if above >= 0 and isinstance(points.terms[above], Ite) and points.steps[point] > 0
    ]
    found = []
    for point in draw.sample(places, count):
        new, inside = data.inserted, 0
        if way == "guard":
            here = points.terms[point]
            others = [points.terms[p] for p in places if points.terms[p] != here]
            branches = [here, draw.choice(others)]
            draw.shuffle(branches)
            new, inside = Ite(data.inserted, *branches), 1
        program = pu.Program(points.replace({Spot(point): new}), data.grades.inputs)
        found.append(Insertion(way, program, point + inside))  # points are in preorder
    return found


def only(inserted: Term) -> Callable[[pu.Witness], pu.Judgement]:
    """An oracle that denies one term and nothing else."""

    def judge(witness: pu.Witness) -> pu.Judgement:
        if witness.expression == inserted:
            return pu.Judgement(False, "grades are not to depend on drinking", "the experiment")
        return pu.Judgement(True, "learnt from grades alone", "the experiment")

    return judge


def examined(insertion: Insertion) -> Result:
    """Audit and repair the program of an insertion."""
    data = students()
    program = insertion.program
    repair = pu.repair(
        program,
        data.X,
        protected={"drinks": data.drinks},
        epsilon=EPSILON,
        delta=DELTA,
        oracle=only(data.inserted),
        utility="agreement",
    )
    listed = [d for d in repair.before.decompositions if d.expression == data.inserted]
    influence = listed[0].influence
    assert influence is not None
    said, now, grades = (p.predict(data.X) for p in (program, repair.program, data.grades))
    return Result(
        insertion=insertion,
        listed=len(listed),
        association=listed[0].associations["drinks"],
        influence=influence,
        witness=any(w.expression == data.inserted for w in repair.before.witnesses),
        repair=repair,
        kept=float(np.mean(now == said)),
        before=float(np.mean(said == grades)),
        after=float(np.mean(now == grades)),
    )


def table(results: Iterable[Result]) -> str:
    """Agreement by influence, as Markdown."""
    rows = [
        "| inserted as | influence | insertions | witnesses | with itself before "
        "| grades tree, before | grades tree, after |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    found = list(results)
    for way in WAYS:
        of_way = [r for r in found if r.insertion.way == way]
        for low, high in pairwise(BINS):
            inside = [r for r in of_way if low < r.influence <= high or r.influence == low == 0]
            if inside:
                rows.append(_row(way, f"{low:g} to {high:g}", inside))
        rows.append(_row(way, "all", of_way))
    return "\n".join(rows) + "\n"


def _row(way: Way, influence: str, results: Sequence[Result]) -> str:
    def summary(values: Sequence[float]) -> str:
        return f"{fmean(values):.3f} ({min(values):.3f})"

    cells = [
        way,
        influence,
        str(len(results)),
        str(sum(r.witness for r in results)),
        summary([r.kept for r in results]),
        summary([r.before for r in results]),
        summary([r.after for r in results]),
    ]
    return f"| {' | '.join(cells)} |"


def figure(results: Iterable[Result]) -> str:
    """Agreement after repair against influence, as SVG."""
    found = list(results)
    names: dict[Way, str] = {"branch": "in place of a branch", "guard": "as a guard"}
    clouds = [
        Cloud(names[way], tuple((r.influence, r.kept) for r in found if r.insertion.way == way))
        for way in WAYS
    ]
    highest = (int(max(r.influence for r in found) * 20) + 1) / 20
    lowest = 1 - highest
    return scatter(
        "Agreement of the repaired with the inserted program",
        Axis("influence of the inserted tree", _marks(0.0, highest)),
        Axis("agreement", _marks(lowest, 1.0)),
        clouds,
        ("1 - influence: what the best constant keeps at least", ((0.0, 1.0), (highest, lowest))),
    )


def _marks(low: float, high: float) -> tuple[float, ...]:
    """Every twentieth."""
    return tuple(step / 20 for step in range(round(low * 20), round(high * 20) + 1))


def main() -> None:
    """Run all insertions, write table and figure."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.student_insertions", description=__doc__
    )
    parser.add_argument("docs", type=Path, help="the folder of the documentation")
    docs = parser.parse_args().docs
    results = [examined(insertion) for way in WAYS for insertion in insertions(way)]
    rows = table(results)
    (docs / FIGURE).write_text(figure(results), encoding="utf-8")
    page = (docs / PAGE).read_text(encoding="utf-8")
    (docs / PAGE).write_text(TABLE.sub(rf"\g<1>\n{rows}\n\g<2>", page), encoding="utf-8")
    print(rows, end="")


if __name__ == "__main__":
    main()
