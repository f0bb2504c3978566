"""``proxyuse verify``: check a certificate against the model and the data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from proxyuse.certificate.certificate import Certificate
from proxyuse.cli.audit_command import model_inputs
from proxyuse.cli.data_files import load_data
from proxyuse.cli.declared_options import OPTIONS, values_in
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import bar
from proxyuse.errors import FileError
from proxyuse.judge.judgment import first_of
from proxyuse.judge.policy import read_policy
from proxyuse.judge.records import Records
from proxyuse.models.files import load_model
from proxyuse.models.native_categories import text_columns
from proxyuse.program import Program
from proxyuse.project_settings import ProjectOptions
from proxyuse.verification.verify import verify

NOT_VERIFIED = 1


def run(options: argparse.Namespace) -> int:
    """Verify and print; the exit code is 0 if everything was verified, otherwise 1."""
    declared = ProjectOptions(**values_in(options, OPTIONS))
    if (declared.protected_data is None) != (declared.key is None):
        raise FileError("--protected-data and --key belong together; pass both or neither")
    certificate = Certificate.read(options.certificate)
    records = None if declared.judgments is None else Records.open(declared.judgments)
    policy = None if declared.policy is None else read_policy(declared.policy)
    with bar(options.quiet) as progress:
        progress.stage("reading the model")
        model = load_model(
            options.model or options.program, trust_pickle=options.trust_pickle
        ).model
        if options.program is not None and not isinstance(model, Program):
            raise FileError(f"{options.program} is a model, not a program; pass it with --model")
        progress.stage("reading the data")
        X, protected, weights = _rows(options.data, declared, certificate, model)
        progress.stage("repeating the audit")
        result = verify(
            certificate,
            model,
            X,
            protected=protected,
            weights=weights,
            oracle=first_of(records, policy),
            seed=options.seed,
            everything=options.everything,
            threads=declared.threads,
            progress=progress,
        )
    if options.json:
        print_json(result.document)
    else:
        print_text(f"{certificate}\n\n{result}")
    return 0 if result.ok else NOT_VERIFIED


def _rows(path: Path, options: ProjectOptions, certificate: Certificate, model: object) -> Any:
    """Return the columns for the model, the protected attributes and the weights."""
    names = tuple(attribute.column or attribute.name for attribute in certificate.protected)
    certified = certificate.data.weights
    weights = certified or options.weights_column
    data = load_data(
        path,
        protected=names,
        target=options.target,
        weights=weights,
        where=options.where,
        protected_data=options.protected_data,
        key=options.key,
        text=text_columns(model),
    )
    options = replace(options, protected=names, weights=weights)
    X, columns, mass = model_inputs(model, data, options)
    protected = {}
    for attribute, values in zip(certificate.protected, columns.values(), strict=True):
        separate = attribute.column is None and isinstance(values, str)
        protected[attribute.name] = data.frame[values] if separate else values
    if certified is None and isinstance(mass, str):
        mass = data.frame[mass]
    return X, protected, mass
