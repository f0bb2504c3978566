"""The canonical order of operands, in which equal terms look the same.

Operands are sorted by canonical text (prefix form, label by label). Equal sub-terms are skipped, so
a comparison costs no more than the distance to the first difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from proxyuse.lang.digests import label
from proxyuse.lang.nodes import Associative, Term, children, postorder


def canonical_order(root: Term) -> tuple[int, ...]:
    """Return the written index of each child, in canonical order."""
    if not hasattr(root, "_order"):
        for term in postorder(root, enter_packed=False):
            if not hasattr(term, "_order"):
                parts = children(term)
                order: Sequence[int] = range(len(parts))
                if isinstance(term, Associative):
                    key = cmp_to_key(_compare)
                    order = sorted(order, key=lambda i: key(parts[i]))
                object.__setattr__(term, "_order", tuple(order))
    return root._order


def _compare(first: Term, second: Term) -> int:
    """Compare by canonical text (-1, 0 or 1); the orders inside both terms are already known."""
    stack = [(first, second)]
    while stack:
        a, b = stack.pop()
        # The digest of a packed tree reads all of it; a difference is usually found sooner.
        if a is b or (not (a.packed and b.packed) and a.digest == b.digest):
            continue
        label_a, label_b = label(a), label(b)
        if label_a != label_b:
            return -1 if label_a < label_b else 1
        parts_a, parts_b = children(a), children(b)
        pairs = zip(a._order, b._order, strict=True)
        stack.extend(reversed([(parts_a[i], parts_b[j]) for i, j in pairs]))
    return 0
