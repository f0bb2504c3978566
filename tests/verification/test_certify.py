"""A certificate states the results of an audit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd

import proxyuse as pu
from proxyuse.certificate.certificate import Certificate
from proxyuse.verification.certify import certify
from tests.certified import (
    AUDIT,
    CERTIFICATE,
    DATA,
    PROGRAM,
    allowed,
    checked,
)


def test_it_states_the_results_of_the_audit():
    content = CERTIFICATE.content
    assert content["decompositions"] == len(AUDIT.decompositions)
    assert [w["id"] for w in content["witnesses"]] == [w.id for w in AUDIT.witnesses]
    assert content["witnesses"][0]["association"] == AUDIT.witnesses[0].association
    assert content["violations"] == 0
    assert pu.Program.parse(content["program"]["text"]) == AUDIT.program
    assert certify(AUDIT).violations == len(AUDIT.witnesses) > 0
    assert certify(AUDIT, allowed).violations == len(AUDIT.violations(allowed))
    assert content["data"]["columns"] == sorted(DATA.columns)


def test_it_contains_only_those_values_of_the_data_that_the_program_contains():
    data = DATA.assign(town=DATA["town"].replace({"C": "Secretville"}))
    text = certify(pu.audit(PROGRAM, data, "pregnant")).to_json()
    assert "Secretville" not in text
    assert '"yes"' not in text


def test_the_same_audit_gives_the_same_bytes_in_another_process(tmp_path):
    CERTIFICATE.save(tmp_path / "a.json")
    DATA.to_parquet(tmp_path / "d.parquet")
    script = """
import sys, pandas as pd, proxyuse as pu
from proxyuse.verification.certify import certify
from tests.certified import *
print(certify(audited(), all_allowed, CERTIFICATE.content["repaired"], date="2030-01-02").hash)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == CERTIFICATE.hash
    assert Certificate.read(tmp_path / "a.json") == CERTIFICATE
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == CERTIFICATE.to_json()
    assert checked(tmp_path / "a.json").ok
    assert checked(str(tmp_path / "a.json"), data=pd.read_parquet(tmp_path / "d.parquet")).ok
