"""Settings shared by all tests.

Property tests draw the same examples on every run, so that a change turns red for what it
changed and for nothing else; the `thorough` profile, used by `make test-slow`, draws many more.
The `random` profile draws new ones each time, for whoever looks for what no test has seen yet:
``HYPOTHESIS_PROFILE=random make test``. What it finds is printed with a line that replays it.
No profile measures time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    derandomize=True,
    max_examples=1000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "random",
    derandomize=False,
    max_examples=1000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
