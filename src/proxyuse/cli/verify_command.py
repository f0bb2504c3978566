"""``proxyuse verify``: check a certificate against the model and the data."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from msgspec import structs

from proxyuse.certificate.certificate import Certificate
from proxyuse.cli.audit_command import model_inputs
from proxyuse.cli.data_files import load_data
from proxyuse.cli.declared_options import OPTIONS, values_in
from proxyuse.cli.judgments_file import judgments_note, open_judgments, recovery_notes
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import bar
from proxyuse.errors import FileError
from proxyuse.judge.judgment import first_of
from proxyuse.judge.policy import read_policy
from proxyuse.models.files import load_model
from proxyuse.models.native_categories import text_columns
from proxyuse.program import Program
from proxyuse.project_settings import ProjectOptions
from proxyuse.signing import public_key
from proxyuse.verification.verify import verify
from proxyuse.words import one_line

NOT_VERIFIED = 1


def run(options: argparse.Namespace) -> int:
    """Verify and print; the exit code is 0 if everything was verified, otherwise 1."""
    declared = ProjectOptions(**values_in(options, OPTIONS))
    if (declared.protected_data is None) != (declared.key is None):
        raise FileError("--protected-data and --key belong together; pass both or neither")
    certificate = Certificate.read(options.certificate)
    records = open_judgments(declared)
    policy = None if declared.policy is None else read_policy(declared.policy)
    if options.signed_by is not None:
        public_key(options.signed_by)  # raises an error before the work
    with bar(options.quiet) as progress:
        progress.stage("reading the model")
        model = load_model(
            options.model or options.program, trust_pickle=options.trust_pickle
        ).model
        if options.program is not None and not isinstance(model, Program):
            raise FileError(f"{options.program} is a model, not a program; pass it with --model")
        original = None
        if options.original is not None:
            original = load_model(options.original, trust_pickle=options.trust_pickle).model
        progress.stage("reading the data")
        if options.expected_protected is not None:
            declared = structs.replace(declared, protected=tuple(options.expected_protected))
        X, protected, weights = _rows(options.data, declared, certificate, model)
        progress.stage("repeating the audit")
        result = verify(
            certificate if options.signed_by is None else options.certificate,
            model,
            X,
            protected=protected,
            weights=weights,
            oracle=first_of(records, policy),
            original=original,
            epsilon=options.expected_epsilon,
            delta=options.expected_delta,
            decision=options.expected_decision,
            association=options.expected_association,
            influence=options.expected_influence,
            accept=options.accept or (),
            signed_by=options.signed_by,
            seed=options.seed,
            everything=options.everything,
            threads=declared.threads,
            progress=progress,
        )
    if result.claim is not None:
        claim = structs.replace(result.claim, where=declared.where)
        result = dataclasses.replace(result, claim=claim)
    if options.json:
        print_json(result.document)
    else:
        print_text(f"{result}\n\nThe certificate\n{certificate}")
        for note in [] if records is None else [judgments_note(records), *recovery_notes(records)]:
            print_text(f"Note: {one_line(note)}")
    return 0 if result.ok else NOT_VERIFIED


def _rows(path: Path, options: ProjectOptions, certificate: Certificate, model: object) -> Any:
    """Return the columns for the model, the protected attributes and the weights."""
    requested: dict[str, str] | tuple[str, ...] = options.protected or {
        z.name: z.expression or z.column or z.name for z in certificate.protected
    }
    data = load_data(
        path,
        protected=requested,
        target=options.target,
        weights=options.weights_column or certificate.data.weights,
        where=options.where,
        protected_data=options.protected_data,
        key=options.key,
        text=text_columns(model),
    )
    texts = tuple(requested.values() if isinstance(requested, dict) else requested)
    options = structs.replace(options, protected=texts, weights=data.weights)
    X, columns, mass = model_inputs(model, data, options)
    certified = {z.name: z for z in certificate.protected}
    protected = {}
    for name, values in columns.items():
        separate = isinstance(values, str) and name in certified and not certified[name].column
        protected[name] = data.frame[values] if separate else values
    if certificate.data.weighted and certificate.data.weights is None and isinstance(mass, str):
        mass = data.frame[mass]
    return X, protected, mass
