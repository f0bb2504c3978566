"""Views of consecutive rows of a sample, so that threads can count them in parallel."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from threading import RLock
from typing import Any, TypeVar

from proxyuse.lang.evaluate import Array, Vocabulary
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points
from proxyuse.measure.sample import Sample
from proxyuse.settings import Influence

MIN_ROWS = 1 << 14
"""The smallest number of rows for which a thread pays off."""

T = TypeVar("T")


class RowView:
    """Consecutive rows of a sample, which computes and caches the values of all rows.

    Each view is used by one thread at a time. The views of a sample share a lock on it.
    """

    def __init__(self, sample: Sample, rows: slice, lock: RLock) -> None:
        self.sample, self.slice, self._lock = sample, rows, lock
        self.n_rows = rows.stop - rows.start
        self._shared: dict[Any, Any] = {}

    @property
    def points(self) -> Points:
        """The program's points."""
        return self.sample.points

    @property
    def loss(self) -> Influence:
        """The loss whose mean is the influence."""
        return self.sample.loss

    @property
    def vocabulary(self) -> Vocabulary:
        """The codes of categories in the sample."""
        return self.sample.vocabulary

    def value(self, term: Term) -> Array:
        """Return the value of a term in each row, or a single entry if the term is constant."""
        with self._lock:
            values = self.sample.value(term)
        return values if len(values) < self.sample.n_rows else values[self.slice]

    def values(self, term: Term) -> Array:
        """Return the value of a term in each row."""
        with self._lock:
            return self.sample.values(term)[self.slice]

    def reached(self, point: int) -> Array:
        """Return which rows evaluate a point."""
        with self._lock:
            return self.sample.reached(point)[self.slice]

    def shared(self, kind: Callable[[Any], T]) -> T:
        """Return the shared instance of a class for these rows; a full view uses the sample's."""
        if self.n_rows == self.sample.n_rows:
            return self.sample.shared(kind)
        if kind not in self._shared:
            self._shared[kind] = kind(self)
        return self._shared[kind]  # type: ignore[no-any-return]


def row_views(sample: Sample) -> list[RowView]:
    """Split the rows of a sample into one view per thread that pays off."""
    parts = max(1, min(sample.threads, sample.n_rows // MIN_ROWS))
    edges = [sample.n_rows * part // parts for part in range(parts + 1)]
    lock = RLock()
    return [RowView(sample, slice(a, b), lock) for a, b in pairwise(edges)]
