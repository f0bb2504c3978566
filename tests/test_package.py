"""The public names of the package, and what importing them loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import UnionType

import pytest

import proxyuse as pu
from proxyuse.cli.commands import COMMANDS
from proxyuse.cli.doctor_command import REQUIRED
from proxyuse.measure.association import measures
from proxyuse.measure.association.names import association_names
from proxyuse.models.supported import SUPPORTED
from proxyuse.models.write_back import WRITERS

SOURCE = Path(pu.__file__).parent


def test_every_public_name_has_a_module():
    assert sorted(pu._HOME) == sorted(pu.__all__)
    for name in pu.__all__:
        value = getattr(pu, name)
        # `Note` is a union of types, which has no name of its own.
        assert isinstance(value, UnionType) or value.__name__ == name
        assert name in dir(pu)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'audits'"):
        _ = pu.audits


@pytest.mark.parametrize(
    "code", ["import proxyuse", "from proxyuse.cli import commands, main, options"]
)
def test_importing_the_package_loads_no_large_library(code):
    heavy = "{'numpy', 'pandas', 'scipy', 'sklearn', 'numba', 'xgboost', 'lightgbm', 'pyarrow'}"
    check = f"{code}; import sys; assert not {heavy} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_an_audit_loads_neither_scipy_nor_models():
    code = (
        "import proxyuse as pu, sys; p = pu.Program.parse('ite(x <= 1, 0, 1)');"
        "pu.audit(p, {'x': [1, 2], 'z': [0, 1]}, 'z', validity=None);"
        "assert not {'scipy', 'sklearn', 'numba', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_validity_is_imported_on_first_use():
    code = (
        "import proxyuse as pu, sys; assert 'proxyuse.validity' not in sys.modules;"
        "assert pu.validity.Confirmation is pu.Confirmation; assert 'validity' in dir(pu)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Imports by name, which import-linter cannot see

IMPORTING = {"import_module", "__import__", "resolve_name", "run_module"}
"""Functions that import a module by its name."""

FIRST_PARTY = {
    "__init__.py": ['f"{__name__}.{name}"', "_HOME[name]"],
    "cli/main.py": ['f"proxyuse.cli.{options.command}_command"'],
    "measure/association/registry.py": ["""f"{measures.__name__}.{name.replace('-', '_')}\""""],
    "models/registry.py": ["module"],
    "models/write_back.py": ["module"],
}
"""The imports of proxyuse's own modules by name: the arguments, by file."""

THIRD_PARTY = {
    "cli/doctor_command.py": ["name"],
    "io/reading.py": ["module"],
    "judge/strict_yaml.py": ['"yaml"'],
    "report/render/figure.py": ['"matplotlib"', 'f"matplotlib.{module}"', '"matplotlib"'],
}
"""The imports of other libraries by name: the arguments, by file."""


def trees() -> Iterator[tuple[str, str, ast.Module]]:
    """The name, the text and the syntax tree of each file of the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        yield path.relative_to(SOURCE).as_posix(), text, ast.parse(text)


def test_only_the_registries_import_modules_by_name():
    arguments: dict[str, list[str | None]] = {}
    for file, text, tree in trees():
        for node in ast.walk(tree):
            match node:
                case ast.Call(ast.Name(name) | ast.Attribute(attr=name), [argument, *_]):
                    if name in IMPORTING:
                        source = ast.get_source_segment(text, argument)
                        arguments.setdefault(file, []).append(source)
    assert arguments == FIRST_PARTY | THIRD_PARTY


def test_functions_that_import_by_name_have_no_other_name():
    for file, _, tree in trees():
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(names=names):
                    assert not [n for n in names if n.name in IMPORTING and n.asname], file
                case ast.Assign(value=ast.Name(name) | ast.Attribute(attr=name)):
                    assert name not in IMPORTING, file


@pytest.mark.parametrize(
    ("package", "modules"),
    [
        ("proxyuse", set(pu._HOME.values())),
        ("proxyuse", {f"proxyuse.{name}" for name in pu._PACKAGES}),
        ("proxyuse.cli", {f"proxyuse.cli.{name}_command" for name in COMMANDS}),
        (
            "proxyuse.measure.association.measures",
            {f"{measures.__name__}.{name.replace('-', '_')}" for name in association_names()},
        ),
        (
            "proxyuse.models",
            {
                function.partition(":")[0]
                for entry in SUPPORTED.values()
                for function in (entry.function, entry.as_transformer)
                if function
            },
        ),
        ("proxyuse.models", {writer.function.partition(":")[0] for writer in WRITERS.values()}),
    ],
    ids=["public names", "packages", "commands", "associations", "translators", "writers"],
)
def test_a_registry_imports_only_modules_of_its_own_package(package, modules):
    assert modules
    for module in modules:
        assert module.startswith(f"{package}.")
        assert find_spec(module) is not None


def test_other_imports_by_name_are_of_other_libraries():
    required = {
        ast.literal_eval(argument)
        for _, _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "require"
        for argument in node.args[:1]
    }
    assert {"pandas", "pyarrow.parquet"} <= required
    assert "proxyuse" not in {name.partition(".")[0] for name in {*REQUIRED, *required}}
