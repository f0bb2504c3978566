"""Coefficients of scikit-learn's linear models, fitted again on the features that they still read.

Features whose coefficients are all 0 are 0 in the rows, so that their coefficients stay 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.repairing.recipes.fitting import fit_rows, unfitted, with_zeros


def refit_linear(model: Any, X: Any, y: Any, weights: Array | None) -> Any | None:
    """A clone with new coefficients, or None if removed features would come back."""
    removed = np.flatnonzero(~_coefficients(model).any(axis=0))
    new = unfitted(model)
    fit_rows(new, with_zeros(X, removed.tolist()), y, weights)
    if _coefficients(new)[:, removed].any():
        return None
    return new


def _coefficients(model: Any) -> Array:
    coefficients = model.coef_
    if hasattr(coefficients, "toarray"):  # after `sparsify`
        coefficients = coefficients.toarray()
    return np.atleast_2d(coefficients)
