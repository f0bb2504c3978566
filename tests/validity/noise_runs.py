"""How often noise is audited in tests that allow no confirmation."""

from __future__ import annotations

RUNS = 60
"""Runs on noise, none of which may be confirmed.

At a true rate of 5%, this happens with probability 0.95 ** 60 = 4.6%, so a test on 60 runs without
a confirmation shows a rate below 5%. "At most 10 of 200" would pass with probability 58%. It would
also pass more often at every other rate up to 12%. Above that, both pass less than once in 1,000.
"""
