"""Settings shared by all tests.

Property tests draw the same examples on every run, so that a change turns red for what it
changed and for nothing else. The `thorough` profile, used by `make test-slow`, draws new and
many more examples each time, so that the tests do not look at the same few for ever; what it
finds is printed with a line that replays it. Neither profile measures time.
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
    derandomize=False,
    max_examples=2000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
