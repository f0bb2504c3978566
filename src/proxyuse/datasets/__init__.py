"""Public data to try the library on, read offline from files inside the package.

Each function returns a new pandas DataFrame. Nothing here knows about programs or audits.
The licence and the origin of each packaged file are in ``data/LICENSES.md``.
"""

from proxyuse.datasets.bundled import load_adult, load_contraceptive, load_student
from proxyuse.datasets.psid import load_psid

__all__ = ["load_adult", "load_contraceptive", "load_psid", "load_student"]
