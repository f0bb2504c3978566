"""Find out whether a trained model uses protected information through a proxy.

>>> import proxyuse as pu
>>> program = pu.Program.parse("ite(age <= 30 and sex == 'F', 0, 1)")
>>> data = {"age": [25, 25, 60, 60], "sex": ["F", "M", "F", "M"], "student": [1, 1, 0, 0]}
>>> audit = pu.audit(program, data, protected="student", epsilon=0.5, delta=0.05)
>>> [witness.term for witness in audit.witnesses]
['age', 'age <= 30']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxyuse import validity as validity
    from proxyuse.auditing import audit
    from proxyuse.certificate.certificate import Certificate
    from proxyuse.completed_audit import Audit
    from proxyuse.data.population import Population
    from proxyuse.decision import Positive, Threshold, TopK
    from proxyuse.detect.collective_witness import Collection
    from proxyuse.detect.decompositions import Decomposition
    from proxyuse.detect.progress import Progress
    from proxyuse.detect.results import Unsettled
    from proxyuse.detect.witnesses import Witness
    from proxyuse.errors import (
        Canceled,
        DataError,
        FileError,
        KindError,
        LanguageError,
        LimitExceeded,
        ParseError,
        ProxyUseError,
        TranslationError,
    )
    from proxyuse.input_limits import limits
    from proxyuse.judge.judgment import Judgment, Violation
    from proxyuse.judge.policy import Policy, read_policy
    from proxyuse.lang.positions import Position
    from proxyuse.measure.association.function import FunctionAssociation
    from proxyuse.measure.association.measures.adjusted_mutual_information import (
        AdjustedMutualInformation,
    )
    from proxyuse.measure.association.measures.cramers_v import CramersV
    from proxyuse.measure.association.measures.normalized_mutual_information import (
        NormalizedMutualInformation,
    )
    from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
    from proxyuse.measure.influence import Moved, QuantitativeInputInfluence, SquaredChange
    from proxyuse.methods import Confirmation, CrossValidation, Permutation
    from proxyuse.models.files import LoadedModel, load_model
    from proxyuse.models.program_estimator import program_estimator
    from proxyuse.models.python_source import python_source
    from proxyuse.models.registry import translate
    from proxyuse.notes import Note, NoteKind
    from proxyuse.program import Origin, Program
    from proxyuse.repairing.candidate import Candidate
    from proxyuse.repairing.completed_repair import Repair
    from proxyuse.repairing.repair import repair
    from proxyuse.report.render.figure import save_figure
    from proxyuse.settings import Budget, Sampling
    from proxyuse.testing import assert_no_proxy_use
    from proxyuse.validity.assess import Assessment
    from proxyuse.validity.threshold_tables import ThresholdTable
    from proxyuse.verdict import AttributeVerdict, Validity, Verdict
    from proxyuse.verification.certify import certify
    from proxyuse.verification.result import Verification
    from proxyuse.verification.verify import verify

__all__ = [
    "AdjustedMutualInformation",
    "Assessment",
    "AttributeVerdict",
    "Audit",
    "Budget",
    "Canceled",
    "Candidate",
    "Certificate",
    "Collection",
    "Confirmation",
    "CramersV",
    "CrossValidation",
    "DataError",
    "Decomposition",
    "FileError",
    "FunctionAssociation",
    "Judgment",
    "KindError",
    "LanguageError",
    "LimitExceeded",
    "LoadedModel",
    "Moved",
    "NormalizedMutualInformation",
    "Note",
    "NoteKind",
    "Origin",
    "ParseError",
    "Permutation",
    "Policy",
    "Population",
    "Position",
    "Positive",
    "Program",
    "Progress",
    "ProxyUseError",
    "QuantitativeInputInfluence",
    "Repair",
    "Sampling",
    "SquaredChange",
    "SquaredCorrelation",
    "Threshold",
    "ThresholdTable",
    "TopK",
    "TranslationError",
    "Unsettled",
    "Validity",
    "Verdict",
    "Verification",
    "Violation",
    "Witness",
    "assert_no_proxy_use",
    "audit",
    "certify",
    "limits",
    "load_model",
    "program_estimator",
    "python_source",
    "read_policy",
    "repair",
    "save_figure",
    "translate",
    "verify",
]

__version__ = "0.1.0.dev0"

_HOMES = {
    "proxyuse.auditing": ("audit",),
    "proxyuse.completed_audit": ("Audit",),
    "proxyuse.certificate.certificate": ("Certificate",),
    "proxyuse.verification.certify": ("certify",),
    "proxyuse.verification.result": ("Verification",),
    "proxyuse.verification.verify": ("verify",),
    "proxyuse.models.program_estimator": ("program_estimator",),
    "proxyuse.models.python_source": ("python_source",),
    "proxyuse.detect.collective_witness": ("Collection",),
    "proxyuse.detect.decompositions": ("Decomposition",),
    "proxyuse.detect.progress": ("Progress",),
    "proxyuse.detect.results": ("Unsettled",),
    "proxyuse.detect.witnesses": ("Witness",),
    "proxyuse.errors": (
        "Canceled",
        "DataError",
        "FileError",
        "KindError",
        "LanguageError",
        "LimitExceeded",
        "ParseError",
        "ProxyUseError",
        "TranslationError",
    ),
    "proxyuse.models.files": ("LoadedModel", "load_model"),
    "proxyuse.testing": ("assert_no_proxy_use",),
    "proxyuse.lang.positions": ("Position",),
    "proxyuse.input_limits": ("limits",),
    "proxyuse.measure.association.function": ("FunctionAssociation",),
    "proxyuse.measure.association.measures.adjusted_mutual_information": (
        "AdjustedMutualInformation",
    ),
    "proxyuse.measure.association.measures.cramers_v": ("CramersV",),
    "proxyuse.measure.association.measures.normalized_mutual_information": (
        "NormalizedMutualInformation",
    ),
    "proxyuse.measure.association.measures.squared_correlation": ("SquaredCorrelation",),
    "proxyuse.measure.influence": ("Moved", "QuantitativeInputInfluence", "SquaredChange"),
    "proxyuse.models.registry": ("translate",),
    "proxyuse.notes": ("Note", "NoteKind"),
    "proxyuse.judge.judgment": ("Judgment", "Violation"),
    "proxyuse.judge.policy": ("Policy", "read_policy"),
    "proxyuse.report.render.figure": ("save_figure",),
    "proxyuse.data.population": ("Population",),
    "proxyuse.program": ("Origin", "Program"),
    "proxyuse.repairing.candidate": ("Candidate",),
    "proxyuse.repairing.completed_repair": ("Repair",),
    "proxyuse.repairing.repair": ("repair",),
    "proxyuse.validity.assess": ("Assessment",),
    "proxyuse.validity.threshold_tables": ("ThresholdTable",),
    "proxyuse.decision": ("Positive", "Threshold", "TopK"),
    "proxyuse.methods": ("Confirmation", "CrossValidation", "Permutation"),
    "proxyuse.settings": (
        "Budget",
        "Sampling",
    ),
    "proxyuse.verdict": ("AttributeVerdict", "Validity", "Verdict"),
}
_PACKAGES = ("validity",)
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that importing the package is fast."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
