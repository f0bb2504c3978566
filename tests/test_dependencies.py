"""The oldest versions that are tested are the lower bounds that users see."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def bounds(requirements):
    """The lower bound of each requirement; those of an extra are followed."""
    found: dict[str, list[int]] = {}
    for requirement in requirements:
        if extras := re.fullmatch(r"proxyuse\[([\w,]+)\]", requirement):
            for extra in extras[1].split(","):
                found |= bounds(EXTRAS[extra])
        else:
            name, bound = requirement.split(">=")
            found[name.lower()] = parts(bound)
    return found


def parts(version):
    """A version as numbers, without zeros at the end: 2.0 and 2.0.0 are equal."""
    numbers = [int(number) for number in version.split(".")]
    while numbers[-1] == 0:
        numbers.pop()
    return numbers


def test_the_oldest_versions_are_the_lower_bounds():
    text = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8")
    pins = dict(line.lower().split("==") for line in text.splitlines() if line[0] != "#")
    tested = bounds([*PROJECT["dependencies"], *EXTRAS["test"]])
    assert {name: parts(pins[name]) for name in tested} == tested


def test_every_requirement_of_users_is_tested_at_its_lower_bound():
    required = bounds([*PROJECT["dependencies"], *EXTRAS["all"]])
    required["xgboost-cpu"] = required.pop("xgboost")  # the same package without GPUs
    tested = bounds([*PROJECT["dependencies"], *EXTRAS["test"]])
    assert required.items() <= tested.items()
