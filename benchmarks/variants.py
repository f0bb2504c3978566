"""Other questions about the same model: more attributes, more values, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.deployed import Deployed


def audit_options(case: Deployed, variant: str) -> dict[str, Any]:
    """What `audit` is asked; of the plain question if no variant is named."""
    if variant == "attributes":
        X = case.X
        return {
            "protected": {
                **case.protected,
                "sex": X["sex"].to_numpy(),
                "race": X["race"].to_numpy(),
                "native": (X["native_country"] == "United-States").to_numpy(),
                "over_60": (X["age"] > 60).to_numpy(),
            }
        }
    if variant == "values":
        group = pd.qcut(case.X["fnlwgt"], 100, labels=False).to_numpy()
        return {"protected": {"group": np.array([f"g{code:02}" for code in group.tolist()])}}
    options: dict[str, Any] = {"protected": case.protected}
    if variant == "weights":
        options["weights"] = np.random.default_rng(0).uniform(0.5, 1.5, len(case.X))
    return options
