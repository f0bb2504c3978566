"""What is measured, and the limits it is held to.

Imports nothing heavy: the process that starts the measurements stays small, because on Linux a
process begins with the peak memory of the one that started it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One figure.

    Attributes
    ----------
    name : how it is chosen on the command line.
    what : what is measured, and against what.
    function : the module and the function that measure it.
    limit : what the figure must not pass; None where it is there for scale only.
    goal : what it should reach.
    at_least : whether the limit is one from below.
    unit : of the figure; a ratio where it is "x".
    seconds : how long its process may take.
    cores : how many cores its process may use.
    """

    name: str
    what: str
    function: str
    limit: float | None = None
    goal: float | None = None
    at_least: bool = False
    unit: str = "x"
    seconds: float = 120
    cores: int = 1


ENTRIES = (
    Entry(
        name="tree",
        what="audit of a tree of 500 leaves : predict",
        function="benchmarks.trees:tree",
        limit=8,
        goal=2,
    ),
    Entry(
        name="forest",
        what="guards and subtrees of 100 trees of depth 8 : predict",
        function="benchmarks.trees:forest_without_variables",
        limit=8,
        goal=3,
        seconds=240,
    ),
    Entry(
        name="forest-all",
        what="the same and its variables : predict",
        function="benchmarks.trees:forest",
        limit=18,
        goal=13,
        seconds=240,
    ),
    Entry(
        name="repair",
        what="repair of 100 trees of depth 8, 30,000 rows, 5 violations : one audit of them",
        function="benchmarks.repairs:forest",
        limit=20,
        goal=10,
        seconds=480,
    ),
    Entry(
        name="westfall-young",
        what="1,000 permutations of all computations of the tree of 500 leaves : one audit of it",
        function="benchmarks.permutations:westfall_young",
        limit=100,
        goal=30,
    ),
    Entry(
        name="holm",
        what="the same, a table at a time : one audit of it",
        function="benchmarks.permutations:holm",
        limit=100,
        goal=20,
    ),
    Entry(
        name="shap",
        what="SHAP values of the tree of 500 leaves : predict",
        function="benchmarks.others:shap_values",
    ),
    Entry(
        name="permutation",
        what="permutation importance of that tree, 5 repeats : predict",
        function="benchmarks.others:permutation",
    ),
    Entry(
        name="terms",
        what="single terms of a linear classifier, 1,000,000 rows : 10,000 rows",
        function="benchmarks.linear:single_terms",
        limit=300,
        seconds=240,
    ),
    Entry(
        name="subsets",
        what="4,095 subsets of 12 linear terms, 10,000 rows : as many np.sort",
        function="benchmarks.linear:subsets",
        limit=20,
    ),
    Entry(
        name="values",
        what="the tree and 7 values of Z : the tree and 2 values",
        function="benchmarks.trees:seven_values",
        limit=3,
    ),
    Entry(
        name="million",
        what="the tree and 1,000,000 rows : predict",
        function="benchmarks.trees:million_rows",
        limit=8,
        seconds=300,
    ),
    Entry(
        name="memory",
        what="the tree and 1,000,000 rows, peak memory",
        function="benchmarks.trees:memory_of_million_rows",
        limit=2,
        unit="GB",
        seconds=300,
    ),
    Entry(
        name="threads",
        what="the forest and its variables, one thread : two threads",
        function="benchmarks.trees:two_threads",
        limit=1.6,
        at_least=True,
        seconds=300,
        cores=2,
    ),
    Entry(
        name="threads-rows",
        what="the tree and 1,000,000 rows, one thread : two threads",
        function="benchmarks.trees:two_threads_on_a_million_rows",
        seconds=300,
        cores=2,
    ),
    Entry(
        name="xgboost",
        what="guards and subtrees of 300 XGBoost trees of depth 6 : predict",
        function="benchmarks.boosted:audit_of_300",
        limit=10,
        seconds=240,
    ),
    Entry(
        name="translate",
        what="1,000 XGBoost trees of depth 6 into a program : their JSON dump",
        function="benchmarks.boosted:translation_of_1000",
        limit=10,
        seconds=240,
    ),
    Entry(
        name="memory-boosted",
        what="guards and subtrees of 1,000 XGBoost trees, peak memory",
        function="benchmarks.boosted:memory_of_1000",
        limit=4,
        unit="GB",
        seconds=300,
    ),
    Entry(
        name="import",
        what="a process that imports proxyuse : one that imports NumPy",
        function="benchmarks.start:package",
        limit=3,
    ),
    Entry(
        name="help",
        what="proxyuse --help : a process that imports NumPy",
        function="benchmarks.start:command_line",
        limit=3,
    ),
)
