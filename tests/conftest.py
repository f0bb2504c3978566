"""Settings shared by all tests.

Property tests draw the same examples on every run, so a test only turns red because of a change.
`make test` draws a few examples per test. `make test-slow` runs every property test again with the
`thorough` profile, which draws four times as many. The `random` profile draws new examples each
time: ``HYPOTHESIS_PROFILE=random make test``. Hypothesis prints a line that replays a failure.
No profile measures time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers of pytest use every core already

QUICK, THOROUGH = 10, 40  # examples per property test

for name, examples, repeatable in (
    ("quick", QUICK, True),
    ("thorough", THOROUGH, True),
    ("random", THOROUGH, False),
):
    settings.register_profile(
        name,
        derandomize=repeatable,
        max_examples=examples,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
