"""``proxyuse doctor``: what is installed, what is missing, and what to do about it."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import proxyuse
from proxyuse.cli.printing import print_json, print_text

NEEDED = ("numpy", "narwhals", "numba")
USEFUL = {
    "pandas": ("files", "read data files"),
    "pyarrow": ("files", "read Parquet, Arrow and Feather"),
    "skops": ("files", "read models of scikit-learn"),
    "scikit-learn": ("sklearn", "audit models of scikit-learn"),
    "xgboost": ("xgboost", "audit models of XGBoost"),
    "lightgbm": ("lightgbm", "audit models of LightGBM"),
    "imodels": ("imodels", "audit rule lists"),
}
OTHER_NAMES = {"xgboost": "xgboost-cpu"}


def run(given: argparse.Namespace) -> int:
    """Look, and tell."""
    found = {name: _version(name) for name in (*NEEDED, *USEFUL)}
    works = all(found[name] for name in NEEDED) and _audits()
    if given.json:
        print_json(
            {
                "proxyuse": proxyuse.__version__,
                "python": platform.python_version(),
                "system": platform.system(),
                "cores": os.cpu_count(),
                "packages": found,
                "works": works,
            }
        )
        return 0 if works else 2
    lines = [
        f"proxyuse {proxyuse.__version__}, Python {platform.python_version()} on "
        f"{platform.system()}, {os.cpu_count()} cores"
    ]
    for name, number in found.items():
        if number:
            lines.append(f"  {name:14} {number}")
        elif name in USEFUL:
            extra, use = USEFUL[name]
            lines.append(f"  {name:14} not installed; to {use}: pip install 'proxyuse[{extra}]'")
    lines.append("A small audit runs." if works else "A small audit does NOT run here.")
    print_text("\n".join(lines))
    return 0 if works else 2


def _version(name: str) -> str | None:
    for candidate in (name, OTHER_NAMES.get(name, name)):
        try:
            return version(candidate)
        except PackageNotFoundError:
            continue
    return None


def _audits() -> bool:
    """Whether the smallest audit gives what it must."""
    program = proxyuse.Program.parse("ite(x <= 1, 0, 1)")
    found = proxyuse.audit(program, {"x": [1, 2], "z": [0, 1]}, "z")
    works = [w.association for w in found.witnesses[:1]] == [1.0]
    if not works:
        print("the smallest audit gives a wrong answer", file=sys.stderr)
    return works
