"""Adding a measure of association takes one file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import proxyuse as pu
from proxyuse.measure.association import measures
from proxyuse.measure.association.names import ASSOCIATIONS
from proxyuse.measure.association.registry import association_from

TOY = """
class LargestShare:
    name = "largest share"
    information_bound = False

    def __call__(self, masses):
        return float(masses.max() / masses.sum())


MEASURES = (LargestShare(),)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one more file: the toy measure. Nothing else differs."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        Path(pu.__file__).parent,
        folder / "proxyuse",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    file = folder / "proxyuse" / "measure" / "association" / "measures" / "largest_share.py"
    file.write_text(TOY, encoding="utf-8")
    (folder / "program.txt").write_text("ite(x <= 1, 0, 1)\n", encoding="utf-8")
    (folder / "people.csv").write_text("x,z\n" + "1,a\n1,a\n2,a\n2,b\n" * 10, encoding="utf-8")
    return folder


def run(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the copy of the package, in the folder that contains it."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )


def inputs(command: str) -> tuple[str, ...]:
    return ("-m", "proxyuse", command, "--model", "program.txt", "--data", "people.csv")


AUDIT = (*inputs("audit"), "--protected", "z", "--epsilon", "0.5", "--delta", "0")


def test_a_new_file_is_a_new_measure_in_python(package: Path) -> None:
    code = """
import proxyuse as pu
from proxyuse.measure.association.registry import association_from, built_in_association

people = {"x": [1, 1, 2, 2], "z": list("aaab")}
program = pu.Program.parse("ite(x <= 1, 0, 1)")
audit = pu.audit(program, people, "z", association="largest-share", epsilon=0.5, delta=0)
assert audit.measures[0] == "largest share"
assert {witness.association for witness in audit.witnesses} == {0.5}
assert built_in_association("largest share") is association_from("largest-share")
"""
    completed = run(package, "-c", code)
    assert completed.returncode == 0, completed.stderr


def test_a_new_file_is_a_new_measure_on_the_command_line(package: Path) -> None:
    completed = run(
        package, *AUDIT, "--association", "largest-share",
        "--output", "audit.json", "--report", "audit.html", "--certificate", "certificate.json",
    )  # fmt: skip
    assert completed.returncode in (0, 1), completed.stderr
    document = json.loads((package / "audit.json").read_text(encoding="utf-8"))
    assert document["measures"]["association"] == "largest share"
    ranges = [witness["association_range"] for witness in document["witnesses"]]
    assert ranges
    assert all(low <= 0.5 <= high for low, high in ranges)
    report = (package / "audit.html").read_text(encoding="utf-8")
    assert "--association largest-share" in report  # the command that repeats this audit
    verified = run(package, *inputs("verify"), "certificate.json")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_new_file_is_a_new_measure_in_the_project_file(package: Path) -> None:
    project = package / "proxyuse.toml"
    project.write_text('association = "largest-share"\n', encoding="utf-8")
    try:
        completed = run(package, *AUDIT, "--output", "project.json")
    finally:
        project.unlink()
    assert completed.returncode in (0, 1), completed.stderr
    document = json.loads((package / "project.json").read_text(encoding="utf-8"))
    assert document["measures"]["association"] == "largest share"


def test_a_new_file_is_listed_in_the_help(package: Path) -> None:
    assert "largest-share" in run(package, "-m", "proxyuse", "audit", "--help").stdout


def test_without_the_file_the_name_is_unknown() -> None:
    with pytest.raises(pu.DataError, match="largest-share"):
        association_from("largest-share")


def test_the_default_comes_first_and_every_module_is_listed() -> None:
    files = {path.stem.replace("_", "-") for path in Path(measures.__path__[0]).glob("[!_]*.py")}
    assert set(ASSOCIATIONS) == files
    assert association_from(None) == association_from(ASSOCIATIONS[0])


def test_the_names_do_not_import_numpy() -> None:
    code = (
        "import sys; from proxyuse.measure.association.names import ASSOCIATIONS; "
        "assert len(ASSOCIATIONS) >= 4; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
