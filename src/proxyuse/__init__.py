"""Does a trained model use protected information through a proxy inside it?

>>> import proxyuse as pu
>>> program = pu.Program.parse("ite(age <= 30 and sex == 'F', 0, 1)")
>>> data = {"age": [25, 25, 60, 60], "sex": ["F", "M", "F", "M"], "student": [1, 1, 0, 0]}
>>> audit = pu.audit(program, data, protected="student", epsilon=0.5, delta=0.05)
>>> [witness.term for witness in audit.witnesses]
['age', 'age <= 30']
"""

from proxyuse.audit import Audit, audit
from proxyuse.detect.detection import Budget, Unsettled
from proxyuse.detect.measured import Decomposition
from proxyuse.detect.progress import Progress
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import (
    Cancelled,
    DataError,
    KindError,
    LanguageError,
    ParseError,
    ProxyUseError,
    TranslationError,
)
from proxyuse.lang.positions import Position
from proxyuse.measure.association import NormalizedMutualInformation
from proxyuse.measure.influence import QuantitativeInputInfluence, Sampling, SquaredChange
from proxyuse.models.decisions import Positive, Threshold, TopK
from proxyuse.models.registry import translate
from proxyuse.notes import Note, NoteKind
from proxyuse.population import Population
from proxyuse.program import Origin, Program

__all__ = [
    "Audit",
    "Budget",
    "Cancelled",
    "DataError",
    "Decomposition",
    "KindError",
    "LanguageError",
    "NormalizedMutualInformation",
    "Note",
    "NoteKind",
    "Origin",
    "ParseError",
    "Population",
    "Position",
    "Positive",
    "Program",
    "Progress",
    "ProxyUseError",
    "QuantitativeInputInfluence",
    "Sampling",
    "SquaredChange",
    "Threshold",
    "TopK",
    "TranslationError",
    "Unsettled",
    "Witness",
    "audit",
    "translate",
]

__version__ = "0.1.0.dev0"
