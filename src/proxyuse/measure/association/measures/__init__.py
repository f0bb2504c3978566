"""The built-in measures of association, one module each.

A module's name is the measure's name: ``--association cramers-v`` selects ``cramers_v.py``. The
registry lists this folder, so a new file is a new measure. Each module defines ``MEASURES``: the
measure that the name selects, followed by any variants that results can name.
"""
