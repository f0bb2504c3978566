"""Association: how closely a computation and a protected attribute determine each other.

`measures` has one module per measure, `protocol` says what a measure is, and `registry` finds a
measure by name. The other modules count the joint tables that the measures read.
"""
