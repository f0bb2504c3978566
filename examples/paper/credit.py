"""Credit advertisements: is the state of health used?

Who has student loans, and who has credit cards? A company could target its ads with two trees, one
for each question, trained on families of the Panel Study of Income Dynamics. The state of health
must not be used, so it is set to 0 for everyone before training.

The study provides its data to registered users, who may not share it, so the script includes none.
Register with the study, save an extract with the columns that `proxyuse.datasets.load_psid` lists,
and pass its path. All results depend on the extract. Another year of the study, or another choice
of families, gives different trees and thresholds.

Depths and thresholds are those of the paper: depth 7, association and influence of 0.015 for
student loans; depth 5, an association of 0.01 and an influence of 0.05 for credit cards. The paper
names the proxy `income <= 33315`. The program that the authors published
(<https://github.com/cmu-transparency/artifact-proxyuse-ccs2017>, its `Makefile`) lists it for
credit cards only. For student loans it lists another, an `ite` over `children`, `work_hours` and
`auto_insurance`. Here the strongest test of income is shown for each tree: of those that pass both
thresholds, or of all if none does, the one with the highest association with health.

An extract is read as follows:

- A column contains numbers or words. A column that mixes them is rejected, and so is a number that
  is too large for a tree.
- Whether a family *has any* is derived from the column. Words: all except "no", "none", "false" and
  similar words. Codes 1 and 5, which the study uses for yes and no: 1; 0 also means no. Other
  numbers, such as a debt: above 0. An empty cell means none, and so does `NA`, which is read as an
  empty cell.
- The code 8 or 9, or a word such as "DK", "don't know" or "refused", means unknown, and the family
  is dropped.
- A few distinct numbers that mix 1, 5, 8 or 9 with others could be codes or amounts. They are
  rejected. So is a 5 without a 1.
- The authors note that in their extract 5 means that there is a student loan and 1 that there is
  none, the opposite of the usual coding. A tree with swapped classes has the same tests.
- A tree reads all other columns, including that of the other question. Words are numbered in
  alphabetical order. Numbers stay as they are, with all their codes.
- Families whose state of health is unknown are dropped: an empty cell, a word as above, or 8 and 9
  if all numbers of this column are such codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import Compared, Picture, Reproduced, Table
from proxyuse.datasets import load_psid
from proxyuse.lang.nodes import Compare, variables
from proxyuse.words import shortened

STATED = "income <= 33315"
HEALTH = "health_status"
NONE = ("", "f", "false", "n", "no", "none")
NOT_KNOWN = (
    "dk", "don't know", "dont know", "do not know", "not known", "unknown", "refused", "na", "n/a",
    "not ascertained",
)  # fmt: skip
YES, NO, UNKNOWN = 1, 5, (8, 9)
CODES = {YES, NO, *UNKNOWN}
HEALTH_CODES = {1, 2, 3, 4, 5, *UNKNOWN}
FEW = 20  # so many different numbers may be codes; more are amounts
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Question:
    """What a tree is to say, how deep it may be, and the thresholds."""

    name: str
    column: str
    depth: int
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Answer:
    """What was found: the audit, how often the tree is right, how its target was read."""

    question: Question
    audit: pu.Audit
    accuracy: float
    coding: str


QUESTIONS = (
    Question("student loans", "stud_loan", 7, 0.015, 0.015),
    Question("credit cards", "credit_card", 5, 0.01, 0.05),
)


def families(psid: str | Path) -> tuple[pd.DataFrame, int]:
    """The families of an extract whose state of health is known, and how many others there are."""
    everyone = load_psid(psid).apply(lambda column: plain(psid, column))
    people = everyone[health_known(everyone[HEALTH])].reset_index(drop=True)
    if people[HEALTH].nunique() < 2:
        raise pu.DataError(
            f"{psid}: {HEALTH} is the same for all families or missing, so nothing can be a proxy "
            "for it; save the extract again with the state of health of each family"
        )
    income = people["income"].dropna()
    if income.dtype.kind != "f" and len(income):
        raise pu.DataError(
            f"{psid}: income is not a number in {len(income):,} rows, such as {income.iloc[0]!r}; "
            "save it as plain numbers"
        )
    return people, len(everyone) - len(people)


def plain(psid: str | Path, column: pd.Series) -> pd.Series:
    """A column as truth values, as numbers or as words, never as numbers and words."""
    if column.dtype.kind == "b":
        return column
    words = column.dropna().astype(str).str.strip()
    words = words[words != ""]
    numbers = pd.to_numeric(words, errors="coerce").astype(float)
    odd = words[numbers.isna()]
    if 0 < len(odd) < len(words):
        number = words[numbers.notna()].iloc[0]
        raise pu.DataError(
            f"{psid}: {column.name} mixes numbers, such as {number}, and words, such as "
            f"{odd.iloc[0]!r} in {len(odd):,} rows; save all of it as numbers or all as words"
        )
    if len(odd):
        return words.reindex(column.index)
    large = words[numbers.abs() > LARGEST]
    if len(large):
        raise pu.DataError(
            f"{psid}: {column.name} is {large.iloc[0]} in row {large.index[0] + 1:,}, which is too "
            "large; give the true number, or leave the cell empty"
        )
    return numbers.reindex(column.index)


def health_known(health: pd.Series) -> pd.Series:
    """Whether the state of health is known: there, and no code or word of not knowing."""
    if health.dtype.kind == "b":
        return health.notna()
    if health.dtype.kind != "f":
        return health.notna() & ~lowered(health).isin(NOT_KNOWN)
    coded = set(health.dropna()) <= HEALTH_CODES
    return health.notna() & ~(health.isin(UNKNOWN) & coded)


def lowered(words: pd.Series) -> pd.Series:
    """Words in small letters, with a straight apostrophe, and empty where missing."""
    return words.fillna("").str.lower().str.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def has_any(column: pd.Series) -> tuple[pd.Series, str]:
    """Whether each family has any, missing where that is not known, and how the column was read."""
    if column.dtype.kind == "b":
        return column.fillna(False).astype("boolean"), "truth values"
    if column.dtype.kind != "f":
        words = lowered(column)
        return (~words.isin(NONE)).astype("boolean").mask(words.isin(NOT_KNOWN)), "words"
    numbers = column.fillna(0)
    distinct = set(numbers)
    if YES in distinct and distinct <= {0, *CODES}:
        has = (numbers == YES).astype("boolean").mask(numbers.isin(UNKNOWN))
        return has, f"codes {YES} and {NO if NO in distinct else 0}"
    if distinct & CODES and len(distinct) <= FEW:
        raise pu.DataError(
            f"{column.name}: the numbers {', '.join(f'{n:g}' for n in sorted(distinct))} (0 for an "
            "empty cell) could be codes or amounts, so who has any is not clear; save 1 for yes, "
            "5 for no, and 8 or 9 where it is not known"
        )
    return (numbers > 0).astype("boolean"), "numbers above 0"


def in_numbers(column: pd.Series) -> pd.Series:
    """Numbers as they are, words by their place in the alphabet, a missing word as -1."""
    if column.dtype.kind == "f":
        return column
    return pd.Series(pd.factorize(column, sort=True)[0], index=column.index)


def answered(question: Question, people: pd.DataFrame) -> Answer:
    """Train a tree without the state of health, and look for that inside it."""
    has, coding = has_any(people[question.column])
    people, y = people[has.notna()], has[has.notna()].astype(bool)
    if has.isna().any():
        coding += f"; not known of {has.isna().sum():,}, left out"
    if y.nunique() < 2:
        raise pu.DataError(
            f"{question.column}, read as {coding}, says the same of all {len(y):,} families: "
            f"{'all' if y.any() else 'none'} have {question.name}; look at its codes in the extract"
        )
    X = people.drop(columns=question.column).apply(in_numbers).assign(**{HEALTH: 0})
    tree = DecisionTreeClassifier(max_depth=question.depth, random_state=0).fit(X, y)
    Z = {"health": people[HEALTH]}
    audit = pu.audit(tree, X, Z, question.epsilon, question.delta, max_support=256, bins=16)
    return Answer(question, audit, float(tree.score(X, y)), coding)


def income_guard(answer: Answer) -> pu.Decomposition | None:
    """The strongest question about income alone; one that is a witness, if there is any."""
    guards = [
        d
        for d in answer.audit.decompositions
        if isinstance(d.expression, Compare) and variables(d.expression) == ("income",)
    ]
    return max(
        guards,
        key=lambda d: (passes(answer, d), d.associations["health"], d.influence or 0),
        default=None,
    )


def passes(answer: Answer, decomposition: pu.Decomposition) -> bool:
    """Whether a computation is a witness."""
    return any(w.id == decomposition.id for w in answer.audit.witnesses)


def guard_row(answer: Answer) -> tuple[str, ...]:
    """A row of the table of questions about income."""
    guard = income_guard(answer)
    if guard is None:
        return (answer.question.name, "none is asked", "", "", "")
    figures = f"{guard.associations['health']:.4f}", f"{guard.influence:.4f}"
    witness = "yes" if passes(answer, guard) else "no"
    return (answer.question.name, f"`{guard.term}`", *figures, witness)


def tree_row(answer: Answer) -> tuple[str, ...]:
    """A row of the table of trees."""
    audit, first = answer.audit, "none"
    if audit.witnesses:
        w = max(audit.witnesses, key=lambda w: (w.association, w.influence, -w.size))
        first = f"`{shortened(w.term)}` ({w.association:.4f}, {w.influence:.4f})"
    return (
        answer.question.name, answer.coding, f"{audit.population.n_rows:,}",
        f"{answer.accuracy:.3f}", f"{len(audit.witnesses)}", first,
    )  # fmt: skip


def picture(answer: Answer) -> Picture:
    """Every computation of a tree."""
    ax: Axes = Figure(figsize=(7.6, 5.0), layout="constrained").subplots()
    name = answer.question.name
    caption = f"Every computation of the tree about {name}, and health"
    return Picture(f"credit-{name.replace(' ', '-')}", answer.audit.plot(ax=ax), caption)


def reproduce(psid: str | Path) -> Reproduced:
    """Train both trees on an extract of the study, and look for health inside them."""
    people, left_out = families(psid)
    answers = [answered(question, people) for question in QUESTIONS]
    guard = income_guard(answers[-1])
    return Reproduced(
        compared=[
            Compared(
                "credit cards: the strongest question about income", STATED,
                "none is asked" if guard is None else guard.term,
            ),
        ],
        tables=[
            Table(
                "The trees",
                ("who has", "read as", "families", "accuracy", "witnesses",
                 "strongest (association, influence)"),
                tuple(map(tree_row, answers)),
            ),
            Table(
                "The strongest question about income",
                ("who has", "question", "association", "influence", "witness"),
                tuple(map(guard_row, answers)),
            ),
        ],
        pictures=[picture(answer) for answer in answers],
        remarks=[
            "Measured on the extract that was given; accuracy on the same families.",
            f"Left out because their state of health is not known: {left_out:,} families.",
        ],
    )  # fmt: skip
