"""Contraception: is religion used where advice is chosen?

A tree of depth 5 predicts from a 1987 survey of 1,473 Indonesian women which method of
contraception they use: none, long-term or short-term. It could be used to choose advice. Religion
must not be used, so it is set to 0 for everyone before training. Does the tree use it anyway?

The thresholds are those of the paper (section 6.2 and appendix D.1): an association of at least
0.005 and an influence above 0.05. In two places, the tree tests whether a woman's education is at
most 3 of 4. This test has the highest association with religion of everything that the tree
computes, and it changes the decision for a third of the pairs of women.

The test is the root of two branches, both for women with children: one for women of at most 37
years and one for older women. Both are witnesses too. The first is the `ite` over education,
children and age that the paper shows next to the test: it begins with `wife_education <= 3.5`, then
`children <= 2.5` and `wife_age <= 30.5`, as in the program that the authors published
(<https://github.com/cmu-transparency/artifact-proxyuse-ccs2017>). It has a lower association with
religion than the test, and more influence. Within this branch, the test of age changes nothing, and
neither does the one beside it, of the husband's occupation: both outcomes lead to the same advice.
For women with more education, age and this occupation are tested again, and there both matter.

Seventeen of twenty women in the survey are Muslim, and most are at each level of education. So
guessing religion from education is exactly as good as always guessing "Islam". Yet the association
is more than chance: `validity="confirm"` confirms that education and its test have an association
of at least 0.005 in the population, and leaves the branches and age open. The tree was trained on
these rows. Confirmation recognizes this and accounts for all that training could have chosen.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import Compared, Picture, Reproduced, Table
from proxyuse.datasets import load_contraceptive
from proxyuse.words import shortened

EDUCATION = "wife_education <= 3.5"
BRANCH = f"ite({EDUCATION}, ite(children <= 2.5, ite(wife_age <= 30.5, "


def audited() -> pu.Audit:
    """Train the tree without religion, and look for religion inside it."""
    women = load_contraceptive()
    X = women.drop(columns="method").assign(wife_religion=0)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, women["method"])
    religion = {"religion": women["wife_religion"]}
    return pu.audit(tree, X, religion, epsilon=0.005, delta=0.05, validity=None)


def guessed_right() -> tuple[float, float]:
    """How often a guess of religion is right: always the same, and the best by education."""
    religion = load_contraceptive()[["wife_education", "wife_religion"]]
    count = religion.value_counts()
    always = count.groupby("wife_religion").sum().max()
    return always / len(religion), count.groupby("wife_education").max().sum() / len(religion)


def shown(witness: pu.Witness) -> str:
    """The text of a witness, cut short, with the number of its positions if several."""
    positions = f", {witness.occurrences} places" if witness.occurrences > 1 else ""
    return f"`{shortened(witness.term)}`{positions}"


def row(witness: pu.Witness) -> tuple[str, ...]:
    """A row of the table of witnesses."""
    assert witness.validity is not None
    return (
        shown(witness),
        f"{witness.association:.4f}", f"{witness.influence:.4f}", f"{witness.reach:.0%}",
        str(witness.validity.verdict),
    )  # fmt: skip


def drawn(branch: pu.Witness) -> Axes:
    """The picture, with a name at the paper's branch."""
    ax: Axes = Figure(figsize=(7.6, 5.0), layout="constrained").subplots()
    audited().plot(ax=ax)
    ax.annotate(
        "the ite over education, children and age", (branch.association, branch.influence),
        xytext=(6, 0), textcoords="offset points", va="center", fontsize=7.5,
    )  # fmt: skip
    return ax


def reproduce() -> Reproduced:
    """Find the question about education and the branch around it, and say what they tell."""
    audit = audited().validated("confirm")
    guards = [w for w in audit.witnesses if w.term == EDUCATION]
    first, second = sorted((w.influence for w in guards if w.occurrences == 1), reverse=True)
    (both,) = (w.influence for w in guards if w.occurrences == 2)
    (branch,) = (w for w in audit.witnesses if w.term.startswith(BRANCH))
    association = guards[0].association
    islam, guessed = guessed_right()
    return Reproduced(
        compared=[
            Compared(f"`{EDUCATION}`: association with religion", "0.0224913", association),
            Compared("its influence in the first place", "0.218281", first),
            Compared("its influence in the second place", "0.118530", second),
            Compared("its influence in both places at once", "0.336812", both),
            Compared(
                "the `ite` over education, children and age: association", None, branch.association
            ),
            Compared("its influence", None, branch.influence),
            Compared("religion guessed right: Islam each time", None, f"{islam:.5f}"),
            Compared("... and from education, as well as it can be", None, f"{guessed:.5f}"),
        ],
        tables=[
            Table(
                "All witnesses",
                ("witness", "association", "influence", "women who come there",
                 "in the population"),
                tuple(row(w) for w in audit.witnesses),
            )
        ],
        pictures=[
            Picture(
                "contraception", drawn(branch),
                "Every computation of the tree, and religion",
            )
        ],
        remarks=[f"The `ite` over education, children and age: `{branch.term}`."],
    )  # fmt: skip
