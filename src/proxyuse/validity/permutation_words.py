"""What a permutation test did, and what it cannot say, in sentences."""

from __future__ import annotations

from proxyuse.validity.options import Correction, Permutation

_PROMISES: dict[Correction, str] = {
    "westfall-young": (
        "corrected by Westfall-Young's maximum: the chance that any independent pair is confirmed "
        "is at most {alpha:g}"
    ),
    "holm": (
        "corrected by Holm: the chance that any independent pair is confirmed is at most {alpha:g}"
    ),
    "bonferroni": (
        "corrected by Bonferroni: the chance that any independent pair is confirmed is at most "
        "{alpha:g}"
    ),
    "benjamini-hochberg": (
        "corrected by Benjamini-Hochberg: the expected share of independent pairs among the "
        "confirmed is at most {alpha:g}, but single ones may well be among them"
    ),
    "none": (
        "not corrected for the number of tests: about {alpha:g} of all independent pairs pass"
    ),
}


def permutation_remarks(
    options: Permutation,
    *,
    computations: int,
    attributes: int,
    weighted: bool,
    exact: int,
    undecided: int,
    needed: int,
) -> tuple[str, ...]:
    """Sentences on a test.

    Parameters
    ----------
    computations, attributes : how many there were; each pair is a test.
    weighted : whether rows have different weights.
    exact : how many p-values are over all permutations.
    undecided : how many witnesses could not be decided.
    needed : with how many permutations the first test can pass.
    """
    tests, drawn = computations * attributes, options.permutations
    product = f"{_many(computations, 'computation')} x {_many(attributes, 'protected attribute')}"
    promise = _PROMISES[options.correction].format(alpha=options.alpha)
    said = [f"permutation test: {_many(tests, 'test')} ({product}), {_many(drawn, 'permutation')}, "
            f"seed {options.seed}, {promise}"]  # fmt: skip
    if exact:
        said.append(f"the p-values of {_many(exact, 'test')} are over all permutations")
    elif options.exact:
        said.append(
            "exact=True changed nothing: it is for tables of two rows and two columns, whole "
            "counts, and corrections other than Westfall-Young's"
        )
    if weighted and options.weights == "sampling":
        said.append(
            "rows kept their weights while the protected attributes were permuted; each row is "
            "one observation"
        )
    elif weighted:
        said.append("each row stands for as many records as its weight says")
    said.append(
        "the test asks whether a computation and a protected attribute are independent; it says "
        "nothing of epsilon, and nothing of influence"
    )
    if undecided:
        said.append(_undecided(options, tests, undecided, needed))
    return tuple(said)


def _undecided(options: Permutation, tests: int, undecided: int, needed: int) -> str:
    ways = ["draw more"]
    if options.correction not in ("westfall-young", "none"):
        if not options.exact:
            ways.append("pass exact=True")
        ways.append('use correction="westfall-young"')
    listed = " or ".join([", ".join(ways[:-1]), ways[-1]]) if len(ways) > 1 else ways[0]
    return (
        f"{_many(undecided, 'witness', 'witnesses')} cannot be decided with "
        f"{_many(options.permutations, 'permutation')}: {_many(tests, 'test')} need at least "
        f"{needed:,}; {listed}"
    )


def _many(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
