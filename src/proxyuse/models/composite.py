"""Translates models that consist of other models.

`CompositeModel` collects the translations of the members, with their origins. It keeps them
until the composite is translated, because origins are keyed by the ids of live node objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, vector
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Relation, Term, Value
from proxyuse.models.features import Inputs
from proxyuse.models.registry import translate_part
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.models.term_transforms import TracedOrigins, copied, origins_in
from proxyuse.models.translation import DOUBLE, Translation, largest


@dataclass(slots=True, eq=False)
class CompositeModel:
    """A model that consists of other models, during its translation.

    Attributes
    ----------
    model : the fitted model.
    inputs : its features.
    origins : the origins of the members' nodes.
    translations : of the members so far.
    tolerance : the relative tolerance of sums, if larger than the members'.
    """

    model: Any
    inputs: Inputs
    origins: TracedOrigins = field(default_factory=TracedOrigins)
    translations: list[Translation] = field(default_factory=list)
    tolerance: float = DOUBLE

    def translate_member(self, member: Any, name: str, inputs: Inputs | None = None) -> Translation:
        """Translate a member; `inputs` if they differ from those of the composite."""
        translation = translate_part(member, (inputs or self.inputs).inside(name))
        self.translations.append(translation)
        self.origins |= translation.origins
        return translation

    def probabilities(self, member: Any, name: str, inputs: Inputs | None = None) -> Term:
        """Translate a member and return its probabilities, a vector."""
        return self.probabilities_of(self.translate_member(member, name, inputs), member, name)

    def scores(self, member: Any, name: str) -> Term:
        """Translate a member and return its decision function."""
        return self.scores_of(self.translate_member(member, name), member, name)

    def probabilities_of(self, translation: Translation, member: Any, name: str) -> Term:
        """The probabilities of a translated member."""
        if translation.probabilities is None:
            raise self._lacks(member, name, "probabilities")
        return translation.probabilities

    def scores_of(self, translation: Translation, member: Any, name: str) -> Term:
        """The decision function of a translated member."""
        if translation.scores is None:
            raise self._lacks(member, name, "decision function")
        return translation.scores

    def _lacks(self, member: Any, name: str, what: str) -> TranslationError:
        step = self.inputs.inside(name).step
        return TranslationError(
            f"the {what} of {type(member).__name__} (step {step!r}) cannot be translated; "
            "use another model there"
        )

    def error(self, problem: str, advice: str) -> TranslationError:
        """An error that says what cannot be translated, and what to do."""
        where = f" (step {self.inputs.step!r})" if self.inputs.step else ""
        return TranslationError(f"this {type(self.model).__name__}{where} {problem}; {advice}")

    def translation(
        self,
        output: Term,
        classes: tuple[Value, ...] = (),
        probabilities: Term | None = None,
        scores: Term | None = None,
    ) -> Translation:
        """The translation of the composite; terms without an origin get the composite's."""
        terms = (output, probabilities, scores)
        origins = origins_in(self.origins, *terms)
        for term in terms:
            if term is not None:
                origins.setdefault(id(term), origin_of(self.model, self.inputs))
        tolerances = [self.tolerance, *(translation.tolerance for translation in self.translations)]
        return Translation(output, classes, probabilities, scores, origins, max(tolerances))

    def most_probable(
        self, probabilities: Term, classes: tuple[Value, ...], **more: Term
    ) -> Translation:
        """A translation that predicts the most probable class; ties go to the first."""
        return self.translation(largest(probabilities, classes), classes, probabilities, **more)

    def normalized(self, probabilities: list[Term], otherwise: float) -> Term:
        """Probabilities divided by their sum; all `otherwise` if the sum is 0."""
        totals = [add(*(copied(share, self.origins) for share in probabilities)) for _ in range(2)]
        return Ite(
            Compare(Relation.EQ, totals[0], Const(0.0)),
            Const((otherwise,) * len(probabilities)),
            Call(Function.DIV, (vector(*probabilities), totals[1])),
        )


def divided_sum(terms: list[Term], divisor: float) -> Term:
    """The sum of terms in their order, divided by a number."""
    total = add(*terms)
    return total if divisor == 1 else Call(Function.DIV, (total, Const(float(divisor))))
