"""A certificate, with the program and the rows that it is about."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd

import proxyuse as pu
from proxyuse.hashes import content_hash, program_hash
from proxyuse.verification.certify import certify
from proxyuse.verification.result import Verification
from proxyuse.verification.verify import verify

PROGRAM = pu.Program.parse(
    "ite(vitamins == 1 and town in {'A', 'B'}, ite(height + age <= 200, 'x', 'y'), 'z')"
)
generator = np.random.default_rng(5)
N = 48
DATA = pd.DataFrame({"pregnant": ["yes", "no"] * (N // 2), "seen": [1, 2, 3, 1] * (N // 4)})
DATA["vitamins"] = np.where(generator.random(N) < 0.1, 0, DATA["pregnant"] == "yes") * 1
TOWNS = np.array(["A", "B", "C", None])
DATA["town"] = generator.choice(TOWNS, N, p=[0.4, 0.3, 0.2, 0.1])
DATA["height"] = generator.choice([150.0, 160.0, 170.0, np.nan], N)
DATA["age"] = generator.integers(20, 50, N)
DATA["old"] = DATA["age"] > 35


def allowed(witness):
    if witness.size == 1:
        return pu.Judgment(True, "a variable by itself", "rule 'bare'")
    return None


def all_allowed(witness):
    return pu.Judgment(True, "sold to all", "rule 'shop'")


def audited(**options):
    options = {
        "epsilon": 0.2, "delta": 0.05, "weights": "seen", "max_support": 20, "bins": 8, **options,
    }  # fmt: skip
    return pu.audit(PROGRAM, DATA, ["pregnant", "old"], **options)


AUDIT = audited()
CERTIFICATE = certify(
    AUDIT,
    all_allowed,
    {"original_program_hash": program_hash(PROGRAM), "steps": [{"cost": 0.5}]},
    date="2030-01-02",
)


def forged(content, **changes):
    """Another content with the hash that belongs to it."""
    new = {**content, **changes}
    return {**new, "hash": content_hash(new)}


def checked(content, *, program=PROGRAM, data=DATA, oracle=all_allowed, **options) -> Verification:
    return verify(content, program, data, oracle=oracle, **options)


def replaced(content, path, value):
    new = copy.deepcopy(content)
    inner = new
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return new
