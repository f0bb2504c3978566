"""Public datasets for examples and tests, bundled with the package.

Each function returns a new pandas DataFrame. Knows nothing about programs and audits. The license
and the origin of each file are in ``data/LICENSES.md``.
"""

from proxyuse.datasets.bundled import load_adult, load_contraceptive, load_student
from proxyuse.datasets.psid import load_psid

__all__ = ["load_adult", "load_contraceptive", "load_psid", "load_student"]
