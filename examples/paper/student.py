"""Student assistance: a proxy that is deemed appropriate.

The data describe 649 students of Portuguese. A tree of depth 5 predicts whose grades are at least
average: the sum of the three grades is compared with its mean. A school could use it to offer help
to the others. Weekend drinking must not be used, so it is set to 0 for everyone before training,
and the column on workday drinking is dropped. Words are numbered in alphabetical order.

The thresholds are those of the paper (section 6.2 and appendix D.1): an association of at least
0.01 and an influence above 0.05. One of the witnesses is `studytime <= 1.5`: whether a student
studies less than two hours a week. Of the five groups by drinking, the two that drink most study
least, so the test carries a little information about drinking, and it has a lot of influence. The
branch that begins with it is a witness too. The program that the authors published
(<https://github.com/cmu-transparency/artifact-proxyuse-ccs2017>) reports both.

Is this use wrong? No measurement can decide that. In the paper an oracle, a person, judges each
witness. Here the judgment is written as a policy, in a file next to the script: computations on
study time alone are appropriate, with the reason. A witness that no rule covers remains a
violation. That applies to the branch, which also tests absences and the father's education.

Another question is whether a proxy exists in the population, or only in these students. The
associations are small and the students few. `validity="confirm"` confirms none of the witnesses:
the association of each could be below 0.01 in the population. A permutation test asks a weaker
question, whether a computation is independent of drinking. It rejects independence for study time.
The strongest witness, the number of absences, may well be noise: a column with many values shows
this much association with anything in so few rows. The tree was trained on these rows. Confirmation
recognizes this and accounts for all that training could have chosen, which makes the bounds of
branches wide. The permutation test does not, so its guarantee is weaker here.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import Compared, Picture, Reproduced, Table
from proxyuse.datasets import load_student
from proxyuse.words import shortened

STUDY = "studytime <= 1.5"
POLICY = Path(__file__).parent / "student_policy.yaml"


def audited() -> pu.Audit:
    """Train the tree without drinking, and look for drinking inside it."""
    pupils = load_student("por")
    grades = pupils[["G1", "G2", "G3"]].sum(axis=1)
    X = pupils.drop(columns=["G1", "G2", "G3", "Dalc"])
    X = X.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])
    X = X.assign(Walc=0)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, grades >= grades.mean())
    alcohol = {"alcohol": pupils["Walc"]}
    return pu.audit(tree, X, alcohol, epsilon=0.01, delta=0.05, validity=None)


def shown(witness: pu.Witness) -> str:
    """The text of a witness, cut short, with the number of its positions if several."""
    positions = f", {witness.occurrences} places" if witness.occurrences > 1 else ""
    return f"`{shortened(witness.term)}`{positions}"


def judged(witness: pu.Witness, policy: pu.Policy) -> tuple[str, ...]:
    """A row of the table of judgments."""
    judgment = policy(witness)
    decision = "no rule" if judgment is None else "appropriate" if judgment.appropriate else "not"
    figures = f"{witness.association:.4f}", f"{witness.influence:.4f}"
    allowed = judgment is not None and judgment.appropriate
    return (shown(witness), *figures, decision, "no" if allowed else "yes")


def tested(confirmed: pu.Witness, permuted: pu.Witness) -> tuple[str, ...]:
    """A row of the table of tests, of one witness asked in two ways."""
    bounds, chance = confirmed.validity, permuted.validity
    assert bounds is not None
    assert bounds.association_interval is not None
    assert chance is not None
    low, high = bounds.association_interval
    return (
        shown(confirmed), f"{confirmed.association:.4f}", f"{bounds.corrected_association:.4f}",
        f"{low:.4f} to {high:.4f}", str(bounds.verdict), f"{chance.adjusted_p_value:.3f}",
    )  # fmt: skip


def drawn(audit: pu.Audit, guard: pu.Witness) -> Axes:
    """The picture, with a name at the paper's proxy."""
    ax: Axes = Figure(figsize=(7.6, 5.0), layout="constrained").subplots()
    audit.plot(ax=ax)
    ax.annotate(
        guard.term, (guard.association, guard.influence),
        xytext=(0, 24), textcoords="offset points", ha="center", fontsize=7.5,
        arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "#5b6b7d", "shrinkB": 4},
    )  # fmt: skip
    return ax


def reproduce() -> Reproduced:
    """Find the proxies, judge them by the policy, and ask whether they are more than chance."""
    audit, policy = audited(), pu.read_policy(POLICY)
    (guard,) = (w for w in audit.witnesses if w.term == STUDY)
    (branch,) = (w for w in audit.witnesses if w.term.startswith(f"ite({STUDY}"))
    violations = audit.violations(policy)
    bounds, chance = audit.validated("confirm"), audit.validated("permutation")
    sure = sum(w.validity is not None and w.validity.confirmed for w in bounds.witnesses)
    judgment = policy(guard)
    assert judgment is not None
    return Reproduced(
        compared=[
            Compared(f"`{STUDY}`: association with drinking", "0.0128584", guard.association),
            Compared("its influence", "0.149078", guard.influence),
            Compared(
                "judged by the policy", None,
                "appropriate" if judgment.appropriate else "not appropriate",
            ),
            Compared("violations without the policy", None, len(audit.violations())),
            Compared("violations under the policy", None, len(violations)),
            Compared("witnesses confirmed to have at least epsilon", None, sure),
        ],
        tables=[
            Table(
                "Judged by the policy",
                ("witness", "association", "influence", "judged", "violation"),
                tuple(judged(w, policy) for w in audit.witnesses),
            ),
            Table(
                "Asked of the population",
                ("witness", "association", "without chance", "95% bounds",
                 "at least 0.01 and 0.05?", "p-value of independence"),
                tuple(map(tested, bounds.witnesses, chance.witnesses)),
            ),
        ],
        pictures=[
            Picture(
                "student", drawn(bounds, guard),
                "Every computation of the tree, and drinking. No witness is confirmed. Some have "
                "lines for their bounds: those of association, across, begin at 0 and end beyond "
                "the right edge. The table has the bounds of all.",
            )
        ],
        remarks=[
            f"{judgment.by}: {judgment.reason}",
            f"The branch around the question, `{branch.term}`, is a witness, too (association "
            f"{branch.association:.4f}, influence {branch.influence:.4f}). It reads more than the "
            "time spent on study, so the rule does not cover it.",
        ],
    )  # fmt: skip
