"""Adding a measure of association takes one file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import proxyuse as pu
from proxyuse.measure.association import measures
from proxyuse.measure.association.names import ASSOCIATIONS, association_names
from proxyuse.measure.association.registry import association_from, built_in_association

TOY = """
class LargestShare:
    name = "largest share"
    information_bound = False

    def __call__(self, masses):
        return float(masses.max() / masses.sum())


MEASURES = (LargestShare(),)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A measure in a file of its own, in one more folder of the package."""
    (tmp_path / "largest_share.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(tmp_path)])
    yield "largest-share"
    sys.modules.pop(f"{measures.__name__}.largest_share", None)
    if hasattr(measures, "largest_share"):
        del measures.largest_share


def test_a_new_file_is_a_new_measure(toy: str) -> None:
    people = {"x": [1, 1, 2, 2], "z": list("aaab")}
    program = pu.Program.parse("ite(x <= 1, 0, 1)")
    audit = pu.audit(program, people, "z", association=toy, epsilon=0.5, delta=0)
    assert audit.measures[0] == "largest share"
    assert {witness.association for witness in audit.witnesses} == {0.5}
    assert toy in association_names()
    measure = built_in_association("largest share")
    assert measure is not None
    assert measure == association_from(toy)


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
