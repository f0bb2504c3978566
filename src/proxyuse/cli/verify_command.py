"""``proxyuse verify``: a certificate, and whether it is right."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from proxyuse.certificate.certificate import Certificate
from proxyuse.certificate.verification import Verification, verify
from proxyuse.cli.audit_command import given_to
from proxyuse.cli.data_files import load_data
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import bar
from proxyuse.errors import FileError
from proxyuse.judge.judgment import first_of
from proxyuse.judge.policy import read_policy
from proxyuse.judge.records import Records
from proxyuse.models.files import load_model
from proxyuse.program import Program
from proxyuse.project import Project

NOT_VERIFIED = 1


def run(given: argparse.Namespace) -> int:
    """Verify, print, and say with the exit code how it ended."""
    if (given.protected_data is None) != (given.key is None):
        raise FileError("--protected-data and --key belong together: give both or none")
    certificate = Certificate.read(given.certificate)
    records = None if given.judgments is None else Records.open(given.judgments)
    policy = None if given.policy is None else read_policy(given.policy)
    with bar(given.quiet) as progress:
        progress.stage("reading the model")
        model = load_model(given.model or given.program, trust_pickle=given.trust_pickle).model
        if given.program is not None and not isinstance(model, Program):
            raise FileError(f"{given.program} is a model, not a program; name it with --model")
        progress.stage("reading the data")
        X, protected, weights = _rows(given, certificate, model)
        progress.stage("making the audit again")
        found = verify(
            certificate,
            model,
            X,
            protected=protected,
            weights=weights,
            oracle=first_of(records, policy),
            seed=given.seed,
            everything=given.everything,
            threads=given.threads,
            progress=progress,
        )
    if given.json:
        print_json(_document(found))
    else:
        print_text(f"{certificate}\n\n{found}")
    return 0 if found.ok else NOT_VERIFIED


def _rows(given: argparse.Namespace, certificate: Certificate, model: object) -> Any:
    """The columns that a model may see, the protected attributes, the weights."""
    names = tuple(z["column"] or z["name"] for z in certificate.content["protected"])
    named = certificate.content["data"]["weights"]
    weights = named or given.weights
    data = load_data(
        given.data,
        protected=names,
        target=given.target,
        weights=weights,
        where=given.where,
        protected_data=given.protected_data,
        key=given.key,
    )
    asked = Project(
        Path("proxyuse.toml"),
        protected=names,
        target=given.target,
        weights=weights,
        key=given.key,
    )
    X, found, mass = given_to(model, data, asked)
    protected = {}
    for z, values in zip(certificate.content["protected"], found.values(), strict=True):
        beside = z["column"] is None and isinstance(values, str)
        protected[z["name"]] = data.frame[values] if beside else values
    if named is None and isinstance(mass, str):
        mass = data.frame[mass]
    return X, protected, mass


def _document(found: Verification) -> dict[str, Any]:
    return {
        "verified": found.ok,
        "hash": found.hash,
        "checks": [
            {
                "name": check.name,
                "ok": check.ok,
                "found": check.found,
                "differences": [str(item) for item in check.differences],
            }
            for check in found.checks
        ],
        "stated": list(found.stated),
    }
