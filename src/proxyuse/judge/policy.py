'''A policy: rules that a person wrote, which judge witnesses.

A YAML file with a list of rules. Asked about a witness, the first rule that matches decides,
and its reason becomes the judgment's; if none matches, the policy has no judgment. A rule
matches if all its conditions hold and it has not expired.

>>> EXAMPLE = """
... version: 1
... rules:
...   - name: hours
...     decision: allow
...     reason: Hours worked are part of what is paid for.
...     expires: 2027-01-31
...     when:
...       protected: sex
...       variables: {only: [hours_per_week]}
...       association: {below: 0.3}
...   - name: everything else
...     decision: deny
...     reason: Nobody has looked at it.
... """
>>> policy = Policy.parse(EXAMPLE, name="pay.yaml")
>>> [rule.name for rule in policy.rules]
['hours', 'everything else']
>>> [rule.name for rule in policy.expired(date(2027, 1, 31))]
['hours']

`policy_text` reads the rules and `rules` says when one matches. This module knows
witnesses, not audits.
'''

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from proxyuse.detect.witnesses import Witness
from proxyuse.errors import FileError
from proxyuse.judge.judgment import Judgment
from proxyuse.judge.policy_text import read_rules
from proxyuse.judge.rules import Rule, day_of
from proxyuse.judge.strict_yaml import MOST_BYTES


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order, of which the first that matches a witness decides: an oracle.

    Attributes
    ----------
    name : the name of its file, without folders.
    rules : the rules.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> policy = Policy.parse(
    ...     "{version: 1, rules: [{name: tests, decision: deny, reason: sensitive, "
    ...     "when: {kind: test}}]}"
    ... )
    >>> [policy(witness) for witness in found.witnesses if witness.term == "vitamins == 1"]
    [Judgment(appropriate=False, reason='sensitive', by="policy, rule 1 'tests'")]
    """

    name: str
    rules: tuple[Rule, ...]

    @classmethod
    def parse(cls, text: str, *, name: str = "policy") -> Policy:
        """Read a policy from text.

        Parameters
        ----------
        text : YAML.
        name : what it is called in messages and judgments.

        Raises
        ------
        FileError
            If it is not a policy; the message says where and why.
        """
        return cls(name, read_rules(text, name))

    def __call__(self, witness: Witness, today: date | None = None) -> Judgment | None:
        """Judge a witness, on a day that is by default today; None if no rule matches."""
        rule = self.rule_for(witness, today)
        if rule is None:
            return None
        by = f"{self.name}, rule {rule.number} {rule.name!r}"
        return Judgment(rule.decision == "allow", rule.reason, by)

    def rule_for(self, witness: Witness, today: date | None = None) -> Rule | None:
        """The rule that decides about a witness: the first that matches."""
        day = day_of(today)
        return next((rule for rule in self.rules if rule.matches(witness, day)), None)

    def expired(self, today: date | None = None) -> tuple[Rule, ...]:
        """The rules that no longer match anything."""
        day = day_of(today)
        return tuple(rule for rule in self.rules if rule.expired(day))

    def unused(self, witnesses: Iterable[Witness], today: date | None = None) -> tuple[Rule, ...]:
        """The rules that decide about none of some witnesses.

        Nothing fits them, or earlier rules come first, or they have expired.
        """
        day = day_of(today)
        deciding = (self.rule_for(witness, day) for witness in witnesses)
        used = {rule.number for rule in deciding if rule is not None}
        return tuple(rule for rule in self.rules if rule.number not in used)


def read_policy(path: str | Path) -> Policy:
    """Read a policy from a YAML file and check it.

    Parameters
    ----------
    path : the file, in UTF-8.

    Raises
    ------
    FileError
        If it cannot be read or is not a policy; the message says where and why.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"{path} cannot be read: {why}; check the name of the policy") from error
    if len(content) > MOST_BYTES:
        raise FileError(f"{path} is longer than {MOST_BYTES:,} bytes; is it the right file?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not in UTF-8 (byte {error.start:,}); save it in UTF-8"
        ) from None
    return Policy(path.name, read_rules(text, str(path)))
