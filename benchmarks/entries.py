"""What is measured, and the limits and goals for it.

Imports nothing heavy: the process that starts the measurements stays small, because on Linux a
process starts with the peak memory of its parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Base(StrEnum):
    """What the time of an audit is divided by."""

    ESTIMATOR = "E"  # predict of the final estimator, on transformed rows
    PIPELINE = "P"  # predict of the whole pipeline
    SECONDS = "s"
    PLAIN = "x"  # an audit of the same model: one binary attribute, no weights
    GROWTH = "n^"  # the exponent with which time grows with rows


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table.

    Attributes
    ----------
    name : the name on the command line; so are the words it is made of.
    title : the name in the table.
    case : the name of the function in `deployed` that makes the model and the rows.
    limit, goal : for the time of an audit, divided by `base`.
    memory : the limit for the peak memory, in GB.
    variant : how the audit differs from the plain one, see `variants`.
    rows : the numbers of rows between which growth is measured.
    seconds : the time each of its processes may take.
    """

    name: str
    title: str
    case: str
    limit: float
    goal: float
    base: Base = Base.ESTIMATOR
    memory: float | None = None
    variant: str = ""
    rows: tuple[int, ...] = ()
    seconds: float = 300


ROWS = (48_842, 200_000, 1_000_000, 5_000_000)
VARIANTS = {
    "attributes": "5 protected attributes",
    "values": "Z with 100 values",
    "weights": "fractional weights",
}


def _models() -> list[Entry]:
    e, p, s = Base.ESTIMATOR, Base.PIPELINE, Base.SECONDS
    rows = [
        ("forest", "RandomForestClassifier()", "forest", 10, 5, e, 3.0),
        ("forest-shallow", "RandomForestClassifier(max_depth=10)", "forest_shallow", 15, 8, e,
         None),
        ("extra-trees", "ExtraTreesClassifier()", "extra_trees", 10, 5, e, 4.0),
        ("xgb", "XGBClassifier(), 100 x 6", "xgb", 20, 8, e, None),
        ("xgb-500", "XGBClassifier(), 500 x 6", "xgb_500", 20, 8, e, None),
        ("lgbm", "LGBMClassifier()", "lgbm", 10, 5, e, None),
        ("hist", "HistGradientBoostingClassifier()", "hist", 10, 5, e, None),
        ("tree", "DecisionTreeClassifier()", "tree", 60, 20, e, None),
        ("logistic", "LogisticRegression()", "logistic", 25, 10, p, None),
        ("svc", "LinearSVC()", "svc", 25, 10, p, None),
        ("forest-classes", "RandomForestClassifier(), 5 classes", "forest_classes", 30, 10, e,
         None),
        ("xgb-classes", "XGBClassifier(), 5 classes", "xgb_classes", 30, 10, e, None),
        ("forest-regressor", "RandomForestRegressor()", "forest_regressor", 30, 10, e, None),
        ("xgb-regressor", "XGBRegressor()", "xgb_regressor", 30, 10, e, None),
        ("logistic-wide", "logistic, 200 numeric columns", "logistic_wide", 60, 10, s, None),
        ("logistic-onehot", "logistic, 1,000 one-hot columns", "logistic_onehot", 60, 10, s, None),
    ]  # fmt: skip
    return [
        Entry(name, title, case, limit, goal, base, memory)
        for name, title, case, limit, goal, base, memory in rows
    ]


def _variants() -> list[Entry]:
    return [
        Entry(f"{variant}-{case}", f"{what}, {title}", case, 3, 1.5, Base.PLAIN, variant=variant)
        for case, title in (("tree", "tree"), ("xgb", "XGBoost"))
        for variant, what in VARIANTS.items()
    ]


def _distributed() -> list[Entry]:
    """What collections and partial sums add to an audit, in units of the rest."""
    return [
        Entry(
            f"distributed-{case}",
            f"collections and partial sums, {title}",
            case,
            1.0,
            0.5,
            Base.PLAIN,
            variant="distributed",
        )
        for case, title in (("forest", "RandomForestClassifier()"), ("xgb", "XGBoost"))
    ]


def _growth() -> list[Entry]:
    return [
        Entry(
            f"rows-{case}",
            f"{title}, to 5,000,000 rows",
            case,
            1.1,
            1.0,
            Base.GROWTH,
            memory=8.0,
            rows=ROWS,
            seconds=900,
        )
        for case, title in (("tree", "tree"), ("xgb", "XGBoost"), ("logistic", "logistic"))
    ]


ENTRIES = (*_models(), *_variants(), *_distributed(), *_growth())


def chosen(words: list[str]) -> list[Entry]:
    """The entries with these names; a word that is no name picks those with it between dashes."""
    names = {entry.name for entry in ENTRIES}

    def picks(word: str, entry: Entry) -> bool:
        return entry.name == word or (word not in names and word in entry.name.split("-"))

    return [e for e in ENTRIES if not words or any(picks(word, e) for word in words)]
