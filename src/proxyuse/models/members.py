"""What a model made of other models asks of them, and what it then is.

`Whole` collects the members' parts and their origins, and keeps the members' bodies until the
whole is done: origins are known by the identity of node objects, which must not be let go before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, vector
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Relation, Term, Value
from proxyuse.models.features import Inputs
from proxyuse.models.member_terms import Traced, copied, kept
from proxyuse.models.model_terms import DOUBLE, ModelTerms, largest
from proxyuse.models.registry import model_body
from proxyuse.models.sklearn.trees import origin_of


@dataclass(slots=True, eq=False)
class Whole:
    """A model made of others, while it is put together.

    Attributes
    ----------
    model : the fitted model.
    inputs : what it is given.
    origins : where the parts came from that were asked for.
    bodies : of the members asked so far.
    tolerance : how far, relative to their size, sums may be off, if farther than the members'.
    """

    model: Any
    inputs: Inputs
    origins: Traced = field(default_factory=Traced)
    bodies: list[ModelTerms] = field(default_factory=list)
    tolerance: float = DOUBLE

    def ask(self, member: Any, name: str, inputs: Inputs | None = None) -> ModelTerms:
        """What a member computes; `inputs` where they are not those of the whole."""
        body = model_body(member, (inputs or self.inputs).inside(name))
        self.bodies.append(body)
        self.origins |= body.origins
        return body

    def probabilities(self, member: Any, name: str, inputs: Inputs | None = None) -> Term:
        """A member's probabilities, a vector."""
        return self.shares_of(self.ask(member, name, inputs), member, name)

    def scores(self, member: Any, name: str) -> Term:
        """A member's decision function."""
        return self.scores_of(self.ask(member, name), member, name)

    def shares_of(self, body: ModelTerms, member: Any, name: str) -> Term:
        """The probabilities of a member that was asked."""
        if body.probabilities is None:
            raise self._lacks(member, name, "probabilities")
        return body.probabilities

    def scores_of(self, body: ModelTerms, member: Any, name: str) -> Term:
        """The decision function of a member that was asked."""
        if body.scores is None:
            raise self._lacks(member, name, "decision function")
        return body.scores

    def _lacks(self, member: Any, name: str, what: str) -> TranslationError:
        step = self.inputs.inside(name).step
        return TranslationError(
            f"the {what} of {type(member).__name__} (step {step!r}) cannot be said in a program; "
            "use another member"
        )

    def error(self, problem: str, advice: str) -> TranslationError:
        """What cannot be translated, and what to do."""
        where = f" (step {self.inputs.step!r})" if self.inputs.step else ""
        return TranslationError(f"this {type(self.model).__name__}{where} {problem}; {advice}")

    def body(
        self,
        output: Term,
        classes: tuple[Value, ...] = (),
        probabilities: Term | None = None,
        scores: Term | None = None,
    ) -> ModelTerms:
        """The body of the whole; what has no origin yet comes from the whole itself."""
        terms = (output, probabilities, scores)
        origins = kept(self.origins, *terms)
        for term in terms:
            if term is not None:
                origins.setdefault(id(term), origin_of(self.model, self.inputs))
        tolerances = [self.tolerance, *(body.tolerance for body in self.bodies)]
        return ModelTerms(output, classes, probabilities, scores, origins, max(tolerances))

    def largest_share(self, shares: Term, classes: tuple[Value, ...], **more: Term) -> ModelTerms:
        """A body that predicts the first of the largest probabilities."""
        return self.body(largest(shares, classes), classes, shares, **more)

    def normalized(self, shares: list[Term], otherwise: float) -> Term:
        """Probabilities divided by their sum; all `otherwise` where that is 0."""
        totals = [add(*(copied(share, self.origins) for share in shares)) for _ in range(2)]
        return Ite(
            Compare(Relation.EQ, totals[0], Const(0.0)),
            Const((otherwise,) * len(shares)),
            Call(Function.DIV, (vector(*shares), totals[1])),
        )


def divided_sum(terms: list[Term], divisor: float) -> Term:
    """The sum of terms in their order, divided by a number."""
    total = add(*terms)
    return total if divisor == 1 else Call(Function.DIV, (total, Const(float(divisor))))
