"""What the package offers, and that asking for it is all it takes."""

from __future__ import annotations

import subprocess
import sys
from types import UnionType

import pytest

import proxyuse as pu


def test_everything_offered_has_a_home():
    assert sorted(pu._HOME) == sorted(pu.__all__)
    for name in pu.__all__:
        value = getattr(pu, name)
        # `Note` is a union of types, which has no name of its own.
        assert isinstance(value, UnionType) or value.__name__ == name
        assert name in dir(pu)


def test_nothing_else_is_there():
    with pytest.raises(AttributeError, match="no attribute 'audits'"):
        _ = pu.audits


@pytest.mark.parametrize(
    "code", ["import proxyuse", "from proxyuse.cli import commands, main, options"]
)
def test_importing_loads_no_library(code):
    heavy = "{'numpy', 'pandas', 'scipy', 'sklearn', 'numba', 'xgboost', 'lightgbm', 'pyarrow'}"
    check = f"{code}; import sys; assert not {heavy} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_an_audit_loads_neither_scipy_nor_models():
    code = (
        "import proxyuse as pu, sys; p = pu.Program.parse('ite(x <= 1, 0, 1)');"
        "pu.audit(p, {'x': [1, 2], 'z': [0, 1]}, 'z');"
        "assert not {'scipy', 'sklearn', 'numba', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_statistics_are_there_without_an_import_of_their_own():
    code = (
        "import proxyuse as pu, sys; assert 'proxyuse.validity' not in sys.modules;"
        "assert pu.validity.Confirmation is pu.Confirmation; assert 'validity' in dir(pu)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
