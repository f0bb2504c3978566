"""The entry of a certificate that says who gains and who loses by a repair.

Counts below `min_cell` are withheld as in a report, because a certificate is published.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from proxyuse.certificate.certificate import Certificate, CertifiedChanges, CertifiedOutput
from proxyuse.completed_audit import Audit
from proxyuse.data.columns import Column
from proxyuse.data.table import Table
from proxyuse.lang.evaluate import evaluate
from proxyuse.measure.output_scale import Scale, scale_of
from proxyuse.models.audited_model import AuditedModel, audited_model
from proxyuse.program import Frame, Program
from proxyuse.report.repair_changes import TwoOutputs, outcome_changes
from proxyuse.report.result import MIN_CELL


def certified_changes(
    audit: Audit,
    original: Program,
    columns: Iterable[Column],
    scale: Scale,
    min_cell: int = MIN_CELL,
) -> CertifiedChanges:
    """Return the changes from an original program to the program of an audit, by group.

    Parameters
    ----------
    audit : the audit to certify.
    original : the program before the repair.
    columns : its variables, on the rows of the audit.
    scale : which way is up.
    min_cell : withhold counts of rows below this.
    """
    frame = Frame(columns)
    before = evaluate(original.term, frame.arrays, frame.vocabulary)
    own = (audit.population.columns[name] for name in audit.program.variables)
    arrays = Frame(own, frame.vocabulary).arrays
    after = evaluate(audit.program.term, arrays, frame.vocabulary)
    sample = audit.measurement.sample
    outputs = TwoOutputs(sample.full(before), sample.full(after), frame.vocabulary)
    changes = outcome_changes(audit, outputs, scale, min_cell)
    content = msgspec.to_builtins(changes)
    return msgspec.convert(
        {
            "output": CertifiedOutput(kind=scale.kind, classes=scale.labels, names=scale.names),
            "min_cell": min_cell,
            "labels": content["labels"],
            "attributes": content["attributes"],
        },
        CertifiedChanges,
    )


def repeated_changes(
    certificate: Certificate, original: object, X: object, audit: Audit
) -> CertifiedChanges:
    """Return the changes of a certificate again, from the original program or model."""
    assert certificate.changes is not None
    subject, columns = _original(original, X, audit)
    if isinstance(original, Program):  # it does not know which class is positive
        output = certificate.changes.output
        scale = Scale(output.kind, output.classes, output.names)
    else:
        term, frame = subject.program.term, Frame(columns)
        values = evaluate(term, frame.arrays, frame.vocabulary)
        outputs = audit.measurement.sample.full(values)
        scale = scale_of(term, outputs, subject.classes, audit.settings.decision)
    return certified_changes(audit, subject.program, columns, scale, certificate.changes.min_cell)


def original_rows(original: object, X: object, audit: Audit) -> tuple[Program, list[Column]]:
    """Return the original program, and its variables on the rows of an audit."""
    subject, columns = _original(original, X, audit)
    return subject.program, columns


def _original(original: object, X: object, audit: Audit) -> tuple[AuditedModel, list[Column]]:
    decision = None if isinstance(original, Program) else audit.settings.decision
    protected = {z.name for z in audit.population.protected}
    subject = audited_model(original, X, protected, decision, opaque=audit.settings.opaque)
    kept = audit.population.kept
    table = Table.of(X, subject.program.inputs)
    columns = [table.column(name) for name in subject.program.variables]
    return subject, [column if kept is None else column.take(kept) for column in columns]
