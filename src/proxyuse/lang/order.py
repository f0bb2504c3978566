"""The canonical order of operands, in which equal terms are the same however they were written.

It compares the operands' canonical texts (prefix form, word by word). Sub-terms that are equal are
skipped, so a comparison costs no more than the distance to the first difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from proxyuse.lang.nodes import Associative, Term, children, label, postorder


def canonical_order(root: Term) -> tuple[int, ...]:
    """For each child in canonical order, its place in written order."""
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
    """-1, 0 or 1 by canonical text; both terms' inner orders are known already."""
    stack = [(first, second)]
    while stack:
        a, b = stack.pop()
        # A digest of a packed tree takes a look at all of it, a difference is seldom far.
        if a is b or (not (a.packed and b.packed) and a.digest == b.digest):
            continue
        word_a, word_b = label(a), label(b)
        if word_a != word_b:
            return -1 if word_a < word_b else 1
        parts_a, parts_b = children(a), children(b)
        pairs = zip(a._order, b._order, strict=True)
        stack.extend(reversed([(parts_a[i], parts_b[j]) for i, j in pairs]))
    return 0
