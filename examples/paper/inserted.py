"""A proxy put in on purpose: is it found, and what does its repair cost?

Nobody knows which proxies a trained model should contain. So insert one: train a tree that predicts
a protected attribute, insert it at a random position of another tree, and run detection. This is
the paper's experiment on completeness and on the utility of repair (section 6.3).

The data describe students of Portuguese. One tree predicts who has good grades (the sum of the
three grades is at least its mean), another who drinks little at weekends (less than 3 of 5).
Neither reads a grade or a column on alcohol. The second tree is inserted into the first at random
branches, in each of two modes:

- **branch**: it replaces the branch, as in the paper. For the students who reach it, little
  drinking now counts as good grades.
- **guard**: it is a test that chooses between the original branch and another random branch of the
  tree. The output of the program may then mask the proxy.

The proxy's position is now known, so the oracle can reject this part and nothing else. With
thresholds of 0.01 for association and for influence:

- **Completeness.** The inserted tree is among the decompositions of every program. It is a witness
  in exactly those where its influence is above the threshold.
- **Repair.** Where it is a witness, the repair leaves no violation, and the rest of the inserted
  tree at its position has an association or an influence within the thresholds. Where it is not a
  witness, the program does not change.
- **Utility.** The picture shows how often a repaired program agrees with the original. No point is
  below the line, and none can be. Influence is the share of decisions that change when the inserted
  tree gets its value from another student. This is an average over students, so at least one of
  them has a value that, given to everyone, changes no more decisions than that. A repair never has
  to be worse than this constant.

In the last table, *with itself before* is the agreement of the repaired program with the program
before the repair. The paper's experiment reports this figure, and the repair optimizes it. The last
two columns compare with the grades tree before the insertion, on the same students. The repair does
not know this tree. Some repairs still come closer to it, and a few agree with it about every
student; others move away from it. Many replace only part of the inserted tree, so that the rest
stays, with less influence or less association. The previous table counts these where the inserted
tree was a witness and therefore repaired. As a guard, the inserted tree leaves the original branch
in the program, and a repair that chooses this branch restores the grades tree.

**Differences from the paper.** [The authors'
program](https://github.com/cmu-transparency/artifact-proxyuse-ccs2017) replaces branches with the
alcohol tree, uses agreement with the program after insertion as utility, and repairs only the
inserted term. So does this script. The differences are:

- The authors insert the tree at every branch (a sample of a hundred is commented out). Here it is a
  sample of 100 of the 132 positions, drawn separately for each mode.
- The authors vary both thresholds from 0.01 to 0.25 in steps of 0.01. Here both are 0.01.
- The authors' grades tree has depth 7 and their alcohol tree depth 8. Here the depths are 8 and 4.
- The authors' protected attribute is `Walc` with its five values, the trees read `Walc` itself, and
  a branch then returns one of five levels of drinking where a grade is expected. Here neither tree
  reads `Walc`, drinking is binary, and the inserted tree returns the classes of the tree it is
  inserted into.
- The insertions as a guard are an addition.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.figure import Figure
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import PAPER, Picture, Reproduced, Table
from proxyuse.datasets import load_student
from proxyuse.lang.nodes import Ite, Term
from proxyuse.lang.positions import Site

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

EPSILON = DELTA = 0.01
COUNT, SEED = 100, 0
GRADES_DEPTH, ALCOHOL_DEPTH = 8, 4
BINS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.5)

Way = Literal["branch", "guard"]
WAYS: tuple[Way, ...] = ("branch", "guard")
MARKS: dict[Way, tuple[str, str, str]] = {
    "branch": ("in place of a branch", "#0f766e", "o"),
    "guard": ("as a guard", "#c2410c", "^"),
}
GREY = "#5b6b7d"


@dataclass(frozen=True, slots=True, eq=False)
class Students:
    """The data, and the two trees as programs that say true or false.

    Attributes
    ----------
    X : what the trees are given: neither grades nor alcohol.
    drinks : the protected attribute, whether a pupil drinks at weekends, 3 or more of 5.
    grades : says whether the grades are good.
    alcohol : says whether a pupil does not drink.
    """

    X: pd.DataFrame
    drinks: np.ndarray[Any, Any]
    grades: pu.Program
    alcohol: pu.Program

    @property
    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """What the trees are given, as arrays, which are read faster."""
        return {str(name): values.to_numpy() for name, values in self.X.items()}

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

    @property
    def within(self) -> bool:
        """Whether the repair replaced only something inside the inserted tree."""
        points, top = self.insertion.program.points, self.insertion.point
        replaced = [points.site(position).point for position in self.repair.replaced]
        return all(top < point < points.end(top) for point in replaced)


@cache
def students() -> Students:
    """The pupils of the Portuguese lessons and the two trees."""
    pupils = load_student("por")
    X = pupils.drop(columns=["Dalc", "Walc", "G1", "G2", "G3"])
    total = pupils[["G1", "G2", "G3"]].sum(axis=1)
    drinks = np.asarray(pupils["Walc"] >= 3)
    good = np.asarray(total >= total.mean())
    return Students(X, drinks, _tree(X, good, GRADES_DEPTH), _tree(X, ~drinks, ALCOHOL_DEPTH))


def _tree(X: pd.DataFrame, y: np.ndarray[Any, Any], depth: int) -> pu.Program:
    words = list(X.select_dtypes(exclude="number"))
    columns = make_column_transformer((OneHotEncoder(), words), remainder="passthrough")
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=depth, random_state=0))
    return pu.translate(model.fit(X, y)).without_missing(frozenset(X.columns))


def places() -> list[int]:
    """The branches of the grades tree, as its points."""
    points = students().grades.points
    return [
        point
        for point, above in enumerate(points.parents)
        if above >= 0 and isinstance(points.terms[above], Ite) and points.steps[point] > 0
    ]


@cache
def insertions(way: Way, count: int = COUNT, seed: int = SEED) -> list[Insertion]:
    """Insertions at random branches of the grades tree, all at different ones."""
    draw = random.Random(f"{way} {seed}")
    data, branches_at = students(), places()
    points = data.grades.points
    inserted = []
    for point in draw.sample(branches_at, count):
        new, inside = data.inserted, 0
        if way == "guard":
            here = points.terms[point]
            others = [points.terms[p] for p in branches_at if points.terms[p] != here]
            branches = [here, draw.choice(others)]
            draw.shuffle(branches)
            new, inside = Ite(data.inserted, *branches), 1
        program = pu.Program(points.replace({Site(point): new}), data.grades.inputs)
        inserted.append(Insertion(way, program, point + inside))  # points are in preorder
    return inserted


def only(inserted: Term) -> Callable[[pu.Witness], pu.Judgment]:
    """An oracle that denies one term and nothing else."""

    def judge(witness: pu.Witness) -> pu.Judgment:
        if witness.expression == inserted:
            return pu.Judgment(False, "grades are not to depend on drinking", "the experiment")
        return pu.Judgment(True, "learnt from grades alone", "the experiment")

    return judge


@cache
def examined(insertion: Insertion) -> Result:
    """Audit and repair the program of an insertion."""
    data = students()
    columns, program = data.columns, insertion.program
    repair = pu.repair(
        program,
        columns,
        protected={"drinks": data.drinks},
        epsilon=EPSILON,
        delta=DELTA,
        oracle=only(data.inserted),
        utility="agreement",
        **PAPER,
    )
    listed = [d for d in repair.before.decompositions if d.expression == data.inserted]
    influence = listed[0].influence
    assert influence is not None
    before, after, grades = (p.predict(columns) for p in (program, repair.program, data.grades))
    return Result(
        insertion=insertion,
        listed=len(listed),
        association=listed[0].associations["drinks"],
        influence=influence,
        witness=any(w.expression == data.inserted for w in repair.before.witnesses),
        repair=repair,
        kept=float(np.mean(after == before)),
        before=float(np.mean(before == grades)),
        after=float(np.mean(after == grades)),
    )


def table(results: Sequence[Result]) -> Table:
    """Agreement by influence."""
    names = (
        "inserted as", "influence", "insertions", "witnesses", "with itself before",
        "grades tree, before", "grades tree, after",
    )  # fmt: skip
    rows = []
    for way in WAYS:
        of_way = [r for r in results if r.insertion.way == way]
        for low, high in pairwise(BINS):
            inside = [r for r in of_way if low < r.influence <= high or r.influence == low == 0]
            if inside:
                span = f"above {low:g} to {high:g}" if low else f"at most {high:g}"
                rows.append(_row(way, span, inside))
        rows.append(_row(way, "all", of_way))
    title = (
        "Agreement on all pupils by the influence of the inserted tree: mean and, in parentheses, "
        "least"
    )
    return Table(title, names, tuple(rows))


def _row(way: Way, influence: str, results: Sequence[Result]) -> tuple[str, ...]:
    def summary(values: Sequence[float]) -> str:
        return f"{fmean(values):.3f} ({min(values):.3f})"

    return (
        way,
        influence,
        str(len(results)),
        str(sum(r.witness for r in results)),
        summary([r.kept for r in results]),
        summary([r.before for r in results]),
        summary([r.after for r in results]),
    )


def counts(results: Sequence[Result]) -> Table:
    """Whether the inserted tree is found, and what the repairs leave."""
    data = students()
    right = np.mean(data.alcohol.predict(data.X) == ~data.drinks)
    strong = [r for r in results if r.association >= EPSILON and r.influence > DELTA]
    repaired = [r for r in results if r.witness]
    sure = sum(r.witness for r in strong)
    remaining = sum(len(r.repair.after.violations(only(data.inserted))) for r in results)
    least = min(r.kept - (1 - r.influence) for r in repaired)
    figures = {
        "places where it could be put": f"{len(places())}",
        "programs with a proxy put in": f"{len(results)}",
        "... in which it is among the decompositions": f"{sum(r.listed == 1 for r in results)}",
        "... where it passes both thresholds": f"{len(strong)}",
        "... and is a witness": f"{sure}",
        "witnesses where it does not pass": f"{len(repaired) - sure}",
        "violations left by the repairs": f"{remaining}",
        "association of the inserted tree with drinking": f"{results[0].association:.4f}",
        "share of pupils about whom it is right": f"{right:.4f}",
        "share of pupils who drink little": f"{np.mean(~data.drinks):.4f}",
        "least of agreement minus (1 - influence) where it was repaired": f"{least:.4f}",
    }
    return Table("The inserted tree, found and repaired", ("", "here"), tuple(figures.items()))


def repairs(results: Sequence[Result]) -> Table:
    """What the repairs did, and whether they came nearer to the grades tree."""
    names = (
        "inserted as", "repaired", "only inside the inserted tree", "nearer to the grades tree",
        "as near", "further away", "now agrees with it fully",
    )  # fmt: skip
    rows = []
    for way in WAYS:
        of_way = [r for r in results if r.insertion.way == way and r.witness]
        counts = (
            len(of_way), sum(r.within for r in of_way), sum(r.after > r.before for r in of_way),
            sum(r.after == r.before for r in of_way), sum(r.after < r.before for r in of_way),
            sum(r.after == 1 for r in of_way),
        )  # fmt: skip
        rows.append((way, *map(str, counts)))
    return Table("What the repairs did, in programs", names, tuple(rows))


def drawn(results: Iterable[Result]) -> Axes:
    """Agreement after repair against influence, and its crowded corner once more, larger."""
    witnesses = [r for r in results if r.witness]
    ax = Figure(figsize=(6.8, 4.6), layout="constrained").subplots()
    _draw(ax, witnesses, 1.08 * max(r.influence for r in witnesses))
    ax.set_xlabel("influence of the inserted tree")
    ax.set_ylabel("agreement of the repaired with the original")
    ax.legend(loc="upper right", frameon=False, fontsize=9, title="inserted", alignment="left")
    corner = ax.inset_axes((0.1, 0.1, 0.36, 0.4))
    _draw(corner, [r for r in witnesses if r.influence < 0.045], 0.045)
    corner.tick_params(labelsize=8, length=2)
    corner.set_xticks([0, 0.02, 0.04])
    corner.set_yticks([0.96, 0.98, 1])
    ax.annotate(
        "1 \N{MINUS SIGN} influence:\nthe best constant\nkeeps at least this",
        (0.55, 0.1), xycoords="axes fraction", fontsize=8, color=GREY,
    )  # fmt: skip
    return ax


def _draw(ax: Axes, results: Sequence[Result], end: float) -> None:
    ax.fill_between([0, end], [1, 1 - end], 1 - end, color=GREY, alpha=0.08, linewidth=0)
    ax.plot([0, end], [1, 1 - end], color=GREY, linewidth=1)
    for way, (name, color, mark) in MARKS.items():
        those = [r for r in results if r.insertion.way == way]
        ax.scatter(
            [r.influence for r in those], [r.kept for r in those], s=30, marker=mark, c=color,
            edgecolors="white", linewidths=0.5, clip_on=False, zorder=3, label=name,
        )  # fmt: skip
    ax.set_xlim(0, end)
    ax.set_ylim(1 - end, 1.0)
    ax.spines[["top", "right"]].set_visible(False)


def reproduce() -> Reproduced:
    """Insert, audit and repair a hundred times in each way."""
    return told([examined(insertion) for way in WAYS for insertion in insertions(way)])


def told(results: Sequence[Result]) -> Reproduced:
    """What the results come to."""
    return Reproduced(
        tables=[counts(results), repairs(results), table(results)],
        pictures=[Picture(
            "inserted", drawn(results),
            "Agreement of the repaired program with the one before, by the influence of the "
            "inserted tree, where it is a witness; below, the upper left corner enlarged",
        )],
    )  # fmt: skip
