"""Exact influence without evaluating the program again for every value.

The idea. Take one position and look at how the output depends on the value there, row by row.
Only a few forms of dependence occur between a position and the root, and each gives influence
from counts (costs are for n rows):

``PASS``   The output is the value itself in the rows that reach it. A pair of rows changes the
           output if the values differ: count equal values. O(n).
``FLIP``   The value is true or false, and the output depends on it in the rows of a mask. A pair
           changes the output if the truth values differ and the first row is in the mask. O(n).
``SIDE``   The value is a number. Through sums, factors and monotone functions it meets one
           comparison, and in the rows of a mask the outcome decides the output: it depends on
           which side of a threshold tau(row) the value is. Sort the values once, look tau up in
           them, add the mass on the other side. O(n log n).
``SHIFT``  The output is a monotone function of the value (a regressor's sum). Values that give
           the same output are neighbors in order: look at neighbors until they differ.
           O(n log n) if few values share an output.
``OTHER``  Anything else (``==``, categories, vectors). If only constants stand beside the
           position on its path to the root, the output is a function of the value, and counting
           equal outputs is enough, O(n). Otherwise the engine declines.

Going down from the root, each child's form follows from its parent's form and from the values of
its siblings. An `ite` passes its parent's form on to its branches, for the rows that take them.
Its guard becomes a FLIP in the rows where the two branches lead to different outputs. Operands of
``and`` and ``or`` are a FLIP where the other operands do not decide. A comparison turns a FLIP
into a SIDE. ``fill(x, c)`` keeps the form: a missing x acts like the number c.

Rounding. tau is computed by subtracting while the program adds, so they may disagree in the last
bits. tau therefore comes with a slack that bounds the disagreement. If a value lies within it, the
program's own operations decide, by bisection among the values there, because they are monotone.
The counts are those of the definition, pair by pair.

`context_analysis` finds the form of a position, going down from the root. `path_evaluation`
evaluates from a position up to the root. `unchanged_ranges` finds the range of values that keep a
row's output, `counting` counts pairs block by block, and `engine` puts them together.
"""
