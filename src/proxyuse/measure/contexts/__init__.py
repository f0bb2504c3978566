"""Exact influence through one position, without re-evaluating the program for every value.

**Idea.** Consider one position and how the output depends on the value there, row by row. Only a
few forms of dependence occur between a position and the root. Each of them gives influence from
counts (costs are for n rows):

``PASS``   The output is the value itself, in the rows that reach the position. A pair of rows
           changes the output if their values differ. Count equal values: O(n).
``FLIP``   The value is a boolean, and the output depends on it in the rows of a mask. A pair
           changes the output if the booleans differ and the first row is in the mask: O(n).
``SIDE``   The value is a number that reaches one comparison through sums, factors and monotone
           functions. In the rows of a mask, the output depends on which side of a threshold
           tau(row) the value is. Sort the values once, look up tau, and add the mass on the other
           side: O(n log n).
``SHIFT``  The output is a monotone function of the value (a regressor's sum). Values with the same
           output are neighbors in sorted order. Compare neighbors until the output differs:
           O(n log n) if few values share an output.
``BAND``   The output is a monotone function of the value, and a pair counts if it leaves an
           interval around the row's output (see `Moved`). The interval becomes two thresholds for
           the value, as for SIDE: O(n log n).
``OTHER``  Anything else (``==``, categories, vectors). If all other operands on the path to the
           root are constants, the output is a function of the value, and counting equal outputs is
           enough: O(n). Otherwise the engine declines.

**Finding the form.** Going down from the root, each child's form follows from its parent's form and
the values of its siblings. The branches of an `ite` inherit its form, for the rows that take them.
Its guard becomes a FLIP in the rows where the two branches lead to different outputs. An operand of
``and`` or ``or`` becomes a FLIP where the other operands do not decide. A comparison turns a FLIP
into a SIDE. ``fill(x, c)`` keeps the form: a missing x acts like the number c.

For `Moved`, the root has the form BAND instead of PASS, and a guard becomes a FLIP in the rows
that its other branch moves far enough.

**Rounding.** tau is computed by subtracting where the program adds, so the two can disagree in the
last bits. A slack bounds the disagreement. If a value lies within the slack of tau, the program's
own operations decide, by bisection, because they are monotone. The counts therefore equal those of
the definition, pair by pair.

`context_analysis` finds the form of a position, going down from the root. `path_evaluation`
evaluates from a position up to the root. `unchanged_ranges` finds the range of values that keep a
row's output, `counting` counts pairs block by block, and `engine` puts them together.
"""
