"""The certificate: its types, and how its file is written and read.

The published schema in `docs/schema` is generated from these types (`make schemas`).
`verification.certify` creates a certificate from an audit, and `verification.verify` verifies it.
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from proxyuse.certificate.limits import check_cost
from proxyuse.errors import DataError, FileError
from proxyuse.input_limits import CERTIFICATE_BYTES
from proxyuse.io.json_files import DocumentFormat, check_depth, json_text
from proxyuse.io.typed import InvalidValue, path_text, typed
from proxyuse.io.writing import written
from proxyuse.lang.build import const
from proxyuse.settings import Settings
from proxyuse.words import shortened

FORMAT = DocumentFormat(
    noun="a certificate",
    marker="proxyuse certificate",
    version=1,
    advice="ask the author for a new copy",
    limit=CERTIFICATE_BYTES,
)
MAX_LISTED = 10
ORIGINAL_HASH = "original_program_hash"

_HEXADECIMAL = Meta(
    extra_json_schema={"pattern": "^[0-9a-f]{64}$"}, extra={"expected": "64 hexadecimal digits"}
)
Hash = Annotated[str, _HEXADECIMAL]
Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Nonnegative = Annotated[float, Meta(ge=0)]


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a certificate."""


class CertifiedProgram(_Entry, frozen=True, kw_only=True):
    """The program that was audited."""

    hash: Annotated[
        Hash,
        Meta(
            description="BLAKE2b of the inputs in order and the term. The written order of the "
            "operands of + * and or is ignored."
        ),
    ]
    size: Annotated[AtLeastOne, Meta(description="The number of nodes.")]
    text: Annotated[str, Meta(description="The program in the language of proxyuse.")]


class CertifiedData(_Entry, frozen=True, kw_only=True):
    """The rows that were measured. Rows of weight 0 and dropped rows are not included."""

    hash: Annotated[
        Hash,
        Meta(
            description="BLAKE2b of the variables, the protected attributes and the weights. The "
            "order of rows and the way values are stored are ignored."
        ),
    ]
    rows: AtLeastOne
    total_weight: Nonnegative
    columns: Annotated[tuple[str, ...], Meta(description="The names of the columns used.")]
    weighted: bool
    weights: Annotated[
        str | None,
        Meta(
            description="The column of the weights; null if there are none, or if their values "
            "were passed separately."
        ),
    ]


class CertifiedAttribute(_Entry, frozen=True, kw_only=True):
    """A protected attribute."""

    name: str
    column: Annotated[
        str | None,
        Meta(description="Its column; null if it is derived or its values were passed separately."),
    ]
    expression: Annotated[
        str | None, Meta(description="The expression that it is derived by, if it is derived.")
    ]
    derived_from: Annotated[
        tuple[str, ...], Meta(description="The columns that the expression reads.")
    ]


class CertifiedMeasures(_Entry, frozen=True, kw_only=True):
    """The names of the measures."""

    association: str
    influence: str


class CertifiedNote(_Entry, frozen=True, kw_only=True):
    """A note on how the audit was made."""

    kind: str
    text: str


class CertifiedJudgment(_Entry, frozen=True, kw_only=True):
    """The judgment on a witness."""

    appropriate: bool
    reason: str
    by: str


def _judged(judgment: CertifiedJudgment | None) -> str:
    if judgment is None:
        return "not judged"
    verdict = "appropriate" if judgment.appropriate else "inappropriate"
    by = f" by {judgment.by}" if judgment.by else ""
    return f"judged {verdict}{by}: {judgment.reason}"


class CertifiedComputation(_Entry, frozen=True, kw_only=True):
    """A computation with its measures, which are not rounded."""

    protected: Annotated[str, Meta(description="The protected attribute.")]
    id: Annotated[str, Meta(description="A hash of the computation and its positions.")]
    term: Annotated[
        str, Meta(description="The computation as text; a long text is cut and ends with ...")
    ]
    association: Nonnegative
    influence: Nonnegative

    def __str__(self) -> str:
        figures = f"{self.association:.4f}, {self.influence:.4f}"
        return f"{self.protected}: {figures} for {shortened(self.term)} ({self.id})"


class CertifiedWitness(CertifiedComputation, frozen=True, kw_only=True):
    """A witness with its judgment."""

    positions: Annotated[tuple[str, ...], Meta(min_length=1)]
    judgment: Annotated[
        CertifiedJudgment | None, Meta(description="Null if no oracle judged the witness.")
    ]

    def __str__(self) -> str:
        return f"{super().__str__()}; {_judged(self.judgment)}"


class CertifiedExplicitUse(_Entry, frozen=True, kw_only=True):
    """A column that the program reads and that determines a protected attribute."""

    protected: Annotated[str, Meta(description="The protected attribute.")]
    column: str
    how: Annotated[
        Literal["declared", "predicts"],
        Meta(
            description="Whether the attribute was declared to be this column or derived from it, "
            "or a rule on the column predicts it on held-out rows."
        ),
    ]
    id: Annotated[
        str | None, Meta(description="A hash of the column and its positions, if measured.")
    ]
    influence: Annotated[
        Nonnegative | None, Meta(description="At all its positions; null if not measured.")
    ]
    judgment: Annotated[
        CertifiedJudgment | None, Meta(description="Null if no oracle judged the use.")
    ]

    def __str__(self) -> str:
        influence = "not measured" if self.influence is None else f"{self.influence:.4f}"
        column = f"{shortened(self.column)} ({self.how}), influence {influence}"
        return f"{self.protected}: {column}; {_judged(self.judgment)}"


class CertifiedCollection(_Entry, frozen=True, kw_only=True):
    """Computations that are associated with a protected attribute, changed together."""

    protected: Annotated[str, Meta(description="The protected attribute.")]
    id: Annotated[str, Meta(description="A hash of the members.")]
    kind: Literal["tests", "operands"]
    members: Annotated[int, Meta(ge=2)]
    variables: tuple[str, ...]
    influence_low: Annotated[
        Nonnegative, Meta(description="Of all members together; equal to influence_high if exact.")
    ]
    influence_high: Nonnegative
    judgment: Annotated[
        CertifiedJudgment | None, Meta(description="Null if no oracle judged the collection.")
    ]

    def __str__(self) -> str:
        known = f"{self.members:,} {self.kind}, influence {self.influence_low:.4f}"
        if self.influence_low != self.influence_high:
            known += f" to {self.influence_high:.4f}"
        return f"{self.protected}: {known} ({self.id}); {_judged(self.judgment)}"


class CertifiedOutput(_Entry, frozen=True, kw_only=True):
    """What the program decides, and which way is up."""

    kind: Literal["class", "number", "classes", "none"]
    classes: Annotated[
        tuple[str, ...],
        Meta(description="The classes; the second of two is the positive one."),
    ]
    names: Annotated[tuple[str, ...], Meta(description="The classes as people read them.")]


class CertifiedRange(_Entry, frozen=True, kw_only=True):
    """A selection rate or a mean output; null if it is withheld."""

    at_least: float | None
    at_most: float | None


class CertifiedGroupChange(_Entry, frozen=True, kw_only=True):
    """How the decisions about one group changed, in numbers of rows."""

    value: Annotated[str, Meta(description="The value of the protected attribute.")]
    rows: Count
    changed: Annotated[int | str, Meta(description="A text if the number is withheld.")]
    up: Annotated[
        int | str | None,
        Meta(description="To the positive class, or to a larger number; null without direction."),
    ]
    down: Annotated[int | str | None, Meta(description="The other way.")]
    before: Annotated[
        tuple[CertifiedRange, ...], Meta(description="One figure for each of `labels`.")
    ]
    after: tuple[CertifiedRange, ...]


class CertifiedAttributeChanges(_Entry, frozen=True, kw_only=True):
    """How the decisions about the groups of one protected attribute changed."""

    protected: str
    groups: tuple[CertifiedGroupChange, ...]


class CertifiedChanges(_Entry, frozen=True, kw_only=True):
    """Who gains and who loses by a repair."""

    output: CertifiedOutput
    min_cell: Annotated[AtLeastOne, Meta(description="Counts of rows below this are withheld.")]
    labels: Annotated[
        tuple[str, ...], Meta(description="The classes whose shares are listed, or the mean.")
    ]
    attributes: tuple[CertifiedAttributeChanges, ...]


class Certificate(_Entry, frozen=True, kw_only=True):
    """The result of an audit of one program on one dataset, with a hash of the content.

    Its attributes are the entries of its file; see the published schema.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> certificate = pu.certify(pu.audit(program, data, "pregnant"))
    >>> certificate.violations, certificate.complete
    (3, True)
    >>> print(certificate.claim)
    A complete search finds 3 violations and 3 witnesses, for 'pregnant', with an association of at
    least 0.1 and an influence above 0.05.
    """

    format: Literal["proxyuse certificate"] = "proxyuse certificate"
    version: Literal[1] = 1
    proxyuse: Annotated[str, Meta(description="The version of proxyuse that created it.")]
    date: Annotated[str | None, Meta(description="The date that its author stated, if any.")]
    claim: Annotated[str, Meta(description="The claim in one sentence.")]
    program: CertifiedProgram
    data: CertifiedData
    protected: Annotated[tuple[CertifiedAttribute, ...], Meta(min_length=1)]
    measures: CertifiedMeasures
    settings: Annotated[Settings, Meta(description="The options that determine the figures.")]
    requested_epsilon: Annotated[
        str | None,
        Meta(
            description="The percentage that epsilon was computed from, as a share of the highest "
            "association that a two-valued computation can have; null if it was a number."
        ),
    ]
    complete: Annotated[bool, Meta(description="Whether every witness is listed.")]
    unsettled: Annotated[
        tuple[str, ...], Meta(description="What was not measured and may contain witnesses.")
    ]
    notes: tuple[CertifiedNote, ...]
    decompositions: Annotated[Count, Meta(description="The number of measured decompositions.")]
    without_influence: Annotated[
        Count,
        Meta(
            description="The number of decompositions whose influence was not measured, because "
            "they cannot be witnesses."
        ),
    ]
    front: Annotated[
        tuple[CertifiedComputation, ...],
        Meta(
            description="For each protected attribute, the Pareto front of association and "
            "influence: no other decomposition is at least as high in both."
        ),
    ]
    judged: Annotated[bool, Meta(description="Whether an oracle judged the witnesses.")]
    violations: Annotated[
        Count, Meta(description="The number of witnesses that were not judged appropriate.")
    ]
    witnesses: Annotated[
        tuple[CertifiedWitness, ...], Meta(description="All witnesses, with their judgments.")
    ]
    explicit: Annotated[
        tuple[CertifiedExplicitUse, ...],
        Meta(description="Columns that determine a protected attribute, with their judgments."),
    ]
    collections: Annotated[
        tuple[CertifiedCollection, ...],
        Meta(
            description="Tests, or terms of sums, that are associated with a protected attribute "
            "and together may have an influence above delta, with their judgments. Computations "
            "that were judged appropriate are left out."
        ),
    ]
    repaired: Annotated[
        dict[str, Any] | None,
        Meta(
            description="The repair that led to the program, if any. The entry "
            f"{ORIGINAL_HASH} is the hash of the program before the repair."
        ),
    ]
    changes: Annotated[
        CertifiedChanges | None,
        Meta(
            description="Who gains and who loses by the repair; null if the program is not the "
            "result of a repair."
        ),
    ]
    hash: Annotated[
        Hash,
        Meta(
            description="BLAKE2b of all other entries, as ASCII JSON with sorted keys and no "
            "whitespace."
        ),
    ]

    @property
    def content(self) -> dict[str, Any]:
        """The JSON values of its file."""
        values = msgspec.to_builtins(self, enc_hook=_plain_label)
        content: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
        return content

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Certificate:
        """Return the certificate with this content; raise a `DataError` if there is none."""
        try:
            text = json.dumps(dict(content), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(f"it contains values that JSON does not allow: {error}") from None
        return _decoded(FORMAT.parsed(text))

    def to_json(self) -> str:
        """Return the text of its file. The same certificate gives the same text."""
        return json_text(self.content)

    def save(self, path: str | Path) -> Path:
        """Write it to a file atomically."""
        return written(path, self.to_json())

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a file that `save` wrote; raise a `FileError` for any other file.

        This checks only the form. `verify` checks the claim.
        """
        content = FORMAT.read(Path(path))
        try:
            return _decoded(content)
        except DataError as error:
            raise FileError(f"{path}: {error}") from None

    def __str__(self) -> str:
        lines = [
            self.claim,
            "",
            f"program    {self.program.size:,} nodes, hash {self.program.hash}",
            f"data       {self.data.rows:,} rows, hash {self.data.hash}",
            f"measured   {self.decompositions:,} decompositions",
        ]
        if self.unsettled:
            lines += ["", "Not settled:", *_listed(self.unsettled)]
        if self.witnesses:
            lines += ["", "Remaining witnesses:", *_listed(self.witnesses)]
        if self.explicit:
            lines += ["", "Columns that determine a protected attribute:", *_listed(self.explicit)]
        if self.collections:
            lines += ["", "Computations that act together:", *_listed(self.collections)]
        lines += ["", "Strongest pairs of association and influence:", *_listed(self.front)]
        if count := self.without_influence:
            lines.append(f"  (excluding {count:,} decompositions whose influence was not measured)")
        if self.repaired is not None:
            lines += ["", "The program is the result of a repair; see the entry 'repaired'."]
        return "\n".join([*lines, "", f"hash of this certificate {self.hash}"])


def typed_certificate(content: dict[str, Any]) -> Certificate:
    """Convert JSON values to a certificate; raise an `InvalidValue` if they do not fit."""
    try:
        check_depth(content)
        certificate = typed(content, Certificate, every_key=True)
    except ValueError as error:
        raise InvalidValue((), str(error)) from None
    except DataError as error:  # from the options
        raise InvalidValue(("settings",), str(error)) from None
    check_cost(certificate.settings)
    return certificate


def _decoded(content: dict[str, Any]) -> Certificate:
    try:
        return typed_certificate(content)
    except InvalidValue as error:
        raise FORMAT.mismatch(located(error)) from None


def located(error: InvalidValue) -> str:
    """Return an error with its path in the file; indexes count from 0, as in JSON paths."""
    path = path_text(error.path, first=0)
    return f"{path}: {error}" if path else str(error)


def _plain_label(label: Any) -> Any:
    """Return a NumPy number or label as a JSON value."""
    return int(label) if isinstance(label, numbers.Integral) else const(label).value


def _listed(items: tuple[object, ...]) -> list[str]:
    more = len(items) - MAX_LISTED
    return [f"  {item}" for item in items[:MAX_LISTED]] + [f"  and {more:,} more"] * (more > 0)
