"""Is a witness real or chance? Statistical methods for the witnesses of an audit.

Three methods, requested by ``audit(..., validity=...)`` or ``Audit.validated``: confidence bounds
(`confirmation`), permutation tests (`permutations`) and cross-validation (`cross_validation`).
"""

from proxyuse.methods import Confirmation, CrossValidation, Permutation
from proxyuse.verdict import Validity, Verdict

__all__ = ["Confirmation", "CrossValidation", "Permutation", "Validity", "Verdict"]
