"""Is a witness real, or noise? Statistics on what detection found.

Three ways, asked for by ``audit(..., validity=...)`` or ``Audit.validated``: confidence bounds
(`confirmation`), permutation tests (`permutations`) and splits of the rows (`cross_validation`).
"""

from proxyuse.settings import Confirmation, CrossValidation, Permutation
from proxyuse.verdict import Validity, Verdict

__all__ = ["Confirmation", "CrossValidation", "Permutation", "Validity", "Verdict"]
