'''Policies: rules, written by a person, that judge witnesses.

A policy is a YAML file with a list of rules. The first rule that matches a witness decides, and
its reason becomes the reason of the judgment. If no rule matches, there is no judgment. A rule
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

`rules` defines the format and when a rule matches, `strict_yaml` reads the file.
'''

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec

from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import FileError
from proxyuse.input_limits import POLICY_BYTES
from proxyuse.io.reading import read_bytes
from proxyuse.io.typed import InvalidValue, Path, path_text, typed
from proxyuse.judge.judgment import Judgment
from proxyuse.judge.rules import PolicyFile, Rule, day_of
from proxyuse.judge.strict_yaml import read_yaml
from proxyuse.words import shortened


@dataclass(frozen=True, slots=True)
class Policy:
    """An oracle made of ordered rules: the first rule that matches a witness decides.

    Attributes
    ----------
    name : the name of its file, without folders.
    rules : the rules, in order.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> policy = Policy.parse(
    ...     "{version: 1, rules: [{name: tests, decision: deny, reason: sensitive, "
    ...     "when: {kind: test}}]}"
    ... )
    >>> [policy(witness) for witness in audit.witnesses if witness.term == "vitamins == 1"]
    [Judgment(appropriate=False, reason='sensitive', by="policy, rule 1 'tests'")]
    """

    name: str
    rules: tuple[Rule, ...]

    @classmethod
    def parse(cls, text: str, *, name: str = "policy") -> Policy:
        """Parse a policy.

        Parameters
        ----------
        text : YAML.
        name : the name used in messages and judgments.

        Raises
        ------
        FileError
            If the text is not a policy; the message names the line.
        """
        return cls(name, _rules(text, name))

    def __call__(self, witness: Witness | Collection, today: date | None = None) -> Judgment | None:
        """Judge a witness or a collection as of a day (default: today); None if no rule matches."""
        rule = self.rule_for(witness, today)
        if rule is None:
            return None
        by = f"{self.name}, rule {self.rules.index(rule) + 1} {rule.name!r}"
        return Judgment(rule.decision == "allow", rule.reason, by)

    def rule_for(self, witness: Witness | Collection, today: date | None = None) -> Rule | None:
        """Return the first rule that matches a witness or a collection."""
        day = day_of(today)
        return next((rule for rule in self.rules if rule.matches(witness, day)), None)

    def expired(self, today: date | None = None) -> tuple[Rule, ...]:
        """Return the rules that have expired."""
        day = day_of(today)
        return tuple(rule for rule in self.rules if rule.expired(day))

    def unused(
        self, witnesses: Iterable[Witness | Collection], today: date | None = None
    ) -> tuple[Rule, ...]:
        """Return the rules that decide about none of the witnesses.

        Such a rule matches no witness, comes after other rules that match, or has expired.
        """
        day = day_of(today)
        deciding = (self.rule_for(witness, day) for witness in witnesses)
        used = {rule.name for rule in deciding if rule is not None}
        return tuple(rule for rule in self.rules if rule.name not in used)


def read_policy(path: str | pathlib.Path) -> Policy:
    """Read a policy from a YAML file and check it.

    Parameters
    ----------
    path : the file, in UTF-8.

    Raises
    ------
    FileError
        If the file cannot be read or is not a policy; the message names the line.
    """
    path = pathlib.Path(path)
    content = read_bytes(path, POLICY_BYTES)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 (byte {error.start:,}); save it as UTF-8") from None
    return Policy(path.name, _rules(text, str(path)))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of policy files, generated from their types."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A proxyuse policy",
        **msgspec.json.schema(PolicyFile),
    }


def _rules(text: str, file: str) -> tuple[Rule, ...]:
    """Read the rules of a policy; `file` is its name in messages."""
    document = read_yaml(text, file)
    try:
        rules = typed(document.content, PolicyFile).rules
        _check_order(rules)
    except InvalidValue as error:
        message = f"{_label(document.content, error.path)}{error}"
        raise document.location(error.path).error(file, message) from None
    return rules


def _check_order(rules: tuple[Rule, ...]) -> None:
    """Refuse duplicate names, and rules that can never match."""
    numbers: dict[str, int] = {}
    for index, rule in enumerate(rules):
        if rule.name in numbers:
            message = f"rule {numbers[rule.name]} has the same name; rename one of them"
            raise InvalidValue(("rules", index), message)
        numbers[rule.name] = index + 1
        if index and rules[index - 1].matches_everything:
            raise InvalidValue(
                ("rules", index),
                f"it can never match: rule {index} {rules[index - 1].name!r} has no `when` and "
                "matches everything; move that rule to the end",
            )


def _label(content: Any, path: Path) -> str:
    """Name the rule and the key at a path, for a message."""
    match path:
        case ("rules", int(index), *inner):
            rule = content["rules"][index]
            name = rule.get("name") if isinstance(rule, dict) else None
            title = (
                f"rule {index + 1}{f' {shortened(repr(name))}' if isinstance(name, str) else ''}: "
            )
        case _:
            title, inner = "", list(path)
    return f"{title}{path_text(tuple(inner))}: " if inner else title
