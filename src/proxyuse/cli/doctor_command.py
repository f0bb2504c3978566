"""``proxyuse doctor``: what is installed, what is missing, and how to install it."""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, get_type_hints

import proxyuse
from proxyuse.cli.printing import print_json, print_text

REQUIRED = ("numpy", "filelock", "msgspec", "narwhals", "numba", "scipy")
NEED_NUMPY = ("numba", "scipy")
OPTIONAL = {
    "pandas": ("files", "read data files"),
    "pyarrow": ("files", "read Parquet, Arrow and Feather files"),
    "skops": ("files", "read scikit-learn models"),
    "PyYAML": ("files", "read policies"),
    "jinja2": ("report", "write HTML reports"),
    "matplotlib": ("plot", "draw charts"),
    "scikit-learn": ("sklearn", "audit scikit-learn models"),
    "xgboost": ("xgboost", "audit XGBoost models"),
    "lightgbm": ("lightgbm", "audit LightGBM models"),
    "imodels": ("imodels", "audit rule lists"),
    "cryptography": ("sign", "sign files and check signatures"),
}
OTHER_NAMES = {"xgboost": "xgboost-cpu"}


@dataclass(frozen=True)
class Diagnosis:
    """What is installed here, and whether audits run."""

    proxyuse: Annotated[str, "The version of proxyuse."]
    python: str
    system: str
    cores: int | None
    packages: Annotated[dict[str, str | None], "Versions; null for packages not installed."]
    problems: Annotated[list[str], "Why audits do not run here; empty if they do."]
    works: Annotated[bool, "Whether a test audit gives the right result."]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of ``proxyuse doctor --json``, generated from its types."""
    import msgspec  # not at the top, because `doctor` says if it is missing

    content = msgspec.json.schema(Diagnosis)
    properties = content["$defs"]["Diagnosis"]["properties"]
    for name, kind in get_type_hints(Diagnosis, include_extras=True).items():
        for text in getattr(kind, "__metadata__", ()):
            properties[name]["description"] = text
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "proxyuse doctor --json",
        **content,
    }


def run(options: argparse.Namespace) -> int:
    """Print what is installed; the exit code is 0 if audits run here, otherwise 2."""
    packages = {name: _version(name) for name in (*REQUIRED, *OPTIONAL)}
    problems = _problems(packages)
    if options.json:
        diagnosis = Diagnosis(
            proxyuse=proxyuse.__version__,
            python=platform.python_version(),
            system=platform.system(),
            cores=os.cpu_count(),
            packages=packages,
            problems=problems,
            works=not problems,
        )
        print_json(asdict(diagnosis))
        return 2 if problems else 0
    lines = [
        f"proxyuse {proxyuse.__version__}, Python {platform.python_version()} on "
        f"{platform.system()}, {os.cpu_count()} cores"
    ]
    for name, number in packages.items():
        if number:
            lines.append(f"  {name:14} {number}")
        elif name in OPTIONAL:
            extra, use = OPTIONAL[name]
            lines.append(f"  {name:14} not installed; to {use}: pip install 'proxyuse[{extra}]'")
        else:
            lines.append(f"  {name:14} MISSING")
    if not packages["scikit-learn"] and packages["skops"]:
        lines.append("  Reading a .skops file also needs scikit-learn.")
    lines += problems or ["A test audit succeeded."]
    print_text("\n".join(lines))
    return 2 if problems else 0


def _version(name: str) -> str | None:
    for candidate in (name, OTHER_NAMES.get(name, name)):
        try:
            return version(candidate)
        except PackageNotFoundError:
            continue
    return None


def _problems(packages: dict[str, str | None]) -> list[str]:
    """Return why audits do not run here, one sentence per reason."""
    problems = []
    for name in REQUIRED:
        if packages[name] is None:
            problems.append(f"{name} is not installed: pip install {name}")
            continue
        if name in NEED_NUMPY and problems and problems[0].startswith("numpy "):
            continue  # it may be fine once NumPy is
        try:
            import_module(name)
        except Exception as error:  # a broken build can raise anything
            problems.append(
                f"{name} {packages[name]} cannot be imported ({type(error).__name__}: {error}); "
                f"install it again: pip install --force-reinstall {name}"
            )
    return problems or _test_audit()


def _test_audit() -> list[str]:
    """Audit a program that uses a perfect proxy."""
    program = proxyuse.Program.parse("ite(x <= 1, 0, 1)")
    try:
        audit = proxyuse.audit(program, {"x": [1, 2], "z": [0, 1]}, "z")
    except Exception as error:
        return [f"A test audit fails: {type(error).__name__}: {error}"]
    if [witness.association for witness in audit.witnesses[:1]] != [1.0]:
        return ["A test audit gives a wrong result; please report it."]
    return []
