"""A policy is read with care, and the first of its rules that matches decides."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from datetime import date, datetime
from pathlib import Path
from typing import get_args

import jsonschema
import pytest

import proxyuse as pu
from proxyuse.judge.policy import Policy, read_policy, schema
from proxyuse.judge.rules import KINDS, Range, When
from proxyuse.judge.strict_yaml import read_yaml
from proxyuse.lang.nodes import Const, Term

pytest.importorskip("yaml")

PAGE = Path(__file__).parents[2] / "docs" / "policy.md"
SCHEMA = schema()
DAY = date(2026, 6, 1)

PROGRAM = """
ite(relationship in {'Husband', 'Wife'},
    ite(married == 1 or hours <= 20, 'a', 'b'),
    ite(0.5 * hours + table(region, {'n': 1, 's': 10}, 0) <= 20.5, 'b', 'a'))
"""


@pytest.fixture(scope="module")
def witnesses():
    data = {
        "relationship": ["Husband", "Wife", "Wife", "Husband", "Child", "Child", "None", "None"],
        "married": [1, 1, 1, 0, 0, 0, 0, 1],
        "hours": [10, 20, 30, 40, 50, 10, 20, 30],
        "region": ["n", "s", "n", "s", "n", "s", "n", "s"],
    }
    audit = pu.audit(
        pu.Program.parse(PROGRAM), data, protected=["married", "region"], epsilon=0, delta=0
    )
    return audit.witnesses


def rule_text(name="first", decision="allow", more="", when=""):
    text = f"  - name: {name}\n    decision: {decision}\n    reason: because\n"
    for line in textwrap.dedent(more).strip().splitlines():
        text += f"    {line}\n"
    return text + (f"    when: {when}\n" if when else "")


def policy_of(*rules):
    return Policy.parse("version: 1\nrules:\n" + "".join(rules), name="p.yaml")


def matched(witnesses, when):
    policy = policy_of(rule_text(when=when))
    return [w for w in witnesses if policy(w, today=DAY) is not None]


def refused(text):
    with pytest.raises(pu.FileError) as caught:
        Policy.parse(text, name="p.yaml")
    message = str(caught.value)
    assert message.startswith("p.yaml")
    assert "Traceback" not in message
    assert len(message) < 600
    return message.removeprefix("p.yaml").removeprefix(", ")


def fits_schema(text):
    content = read_yaml(text, "p.yaml").content
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(content)


# How rules match


def read(term):
    return set(re.findall(r"relationship|married|hours|region", term))


CONDITIONS = {
    "{protected: married}": lambda w: w.protected == "married",
    "{protected: [region, religion]}": lambda w: w.protected == "region",
    "{variables: {only: hours}}": lambda w: read(w.term) == {"hours"},
    "{variables: {only: [hours, region]}}": lambda w: read(w.term) <= {"hours", "region"},
    "{variables: {any: [region, age]}}": lambda w: "region" in read(w.term),
    "{variables: {only: [hours, region], any: [region]}}": lambda w: (
        "region" in read(w.term) <= {"hours", "region"}
    ),
    "{kind: variable}": lambda w: w.size == 1,
    "{kind: member}": lambda w: w.term == "relationship in {'Husband', 'Wife'}",
    "{kind: [or, ite]}": lambda w: w.term.startswith(("ite(", "married == 1 or")),
    "{kind: table}": lambda w: w.term.startswith("table("),
    "{kind: mul}": lambda w: w.term == "0.5 * hours",
    "{kind: add}": lambda w: w.term.startswith("0.5 * hours + ") and "<=" not in w.term,
    "{kind: test}": lambda w: (
        not w.term.startswith("ite(")
        and any(sign in w.term for sign in ("<=", "==", " in ", " or "))
    ),
    "{association: {at_least: 0.2}}": lambda w: w.association >= 0.2,
    "{association: {above: 0, below: 0.5}}": lambda w: 0 < w.association < 0.5,
    "{influence: {at_most: 0.25}}": lambda w: w.influence <= 0.25,
    "{influence: {above: 0.25, at_most: 1.0}}": lambda w: w.influence > 0.25,
    "{explicit: true}": lambda w: (w.term, w.protected) in {(n, n) for n in ("married", "region")},
    "{explicit: false, kind: variable}": lambda w: w.size == 1 and w.term != w.protected,
    "{term: hours <= 20}": lambda w: w.term == "hours <= 20",
    "{term: ['hours<=20 or married==1', hours]}": lambda w: (
        w.term in ("married == 1 or hours <= 20", "hours")
    ),
    "{term: hours <= 20, protected: married}": lambda w: (
        (w.term, w.protected) == ("hours <= 20", "married")
    ),
}


@pytest.mark.parametrize("when", CONDITIONS)
def test_a_rule_matches_where_all_its_conditions_hold(witnesses, when):
    expected = [w for w in witnesses if CONDITIONS[when](w)]
    assert matched(witnesses, when) == expected
    assert 0 < len(expected) < len(witnesses)
    assert fits_schema("version: 1\nrules:\n" + rule_text(when=when))


def test_a_rule_can_name_witnesses_by_id(witnesses):
    first, last = witnesses[0].id, witnesses[-1].id
    found = matched(witnesses, f"{{id: ['{first}', '{last}']}}")
    assert {w.id for w in found} == {first, last}


def test_the_order_of_operands_does_not_matter_in_a_term_and_numbers_do(witnesses):
    assert matched(witnesses, "{term: married == 1 or hours <= 20.5}") == []
    assert len(matched(witnesses, "{term: hours <= 20 or married == 1}")) == 2


def test_terms_are_found_as_an_audit_prints_them(witnesses):
    for witness in witnesses:
        quoted = json.dumps(witness.term)
        assert witness in matched(witnesses, f"{{term: {quoted}}}")


def test_terms_of_a_float32_model_are_found_as_printed():
    program = pu.Program.parse("float32: ite(x <= 0.3, 'a', 'b')")
    found = pu.audit(program, {"x": [0.1, 0.5], "z": [0, 1]}, "z").witnesses
    assert [w.term for w in matched(found, "{term: x <= 0.3}")] == ["x <= 0.3"]


@pytest.mark.parametrize("place", ["decision: ", "reason: x\n    "])
def test_half_of_a_surrogate_pair_is_refused_where_a_word_is_expected(place):
    refused(f'version: 1\nrules:\n  - name: a\n    {place}"\\ud802": allow\n')
    refused(f'version: 1\nrules:\n  - name: a\n    reason: r\n    {place}"\\ud802"\n')


def test_a_rule_without_when_matches_everything(witnesses):
    assert matched(witnesses, "") == witnesses


def test_the_first_rule_that_matches_decides(witnesses):
    policy = policy_of(
        rule_text("variables", "allow", when="{kind: variable}"),
        rule_text("married", "deny", when="{protected: married}"),
    )
    for w in witnesses:
        judged = policy(w)
        if w.size == 1:
            assert judged == pu.Judgment(True, "because", "p.yaml, rule 1 'variables'")
        elif w.protected == "married":
            assert judged == pu.Judgment(False, "because", "p.yaml, rule 2 'married'")
        else:
            assert judged is None


def test_an_audit_takes_a_policy_for_an_oracle():
    data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    policy = policy_of(
        rule_text("variables", when="{kind: variable}"),
        rule_text("tests", "deny", when="{kind: test}"),
    )
    judged = {v.witness.term: v.judgment for v in audit.violations(policy)}
    assert judged == {
        "vitamins == 1": pu.Judgment(False, "because", "p.yaml, rule 2 'tests'"),
        "ite(vitamins == 1, 'a', 'b')": None,
    }


def test_every_node_but_a_constant_is_of_a_kind():
    named = {node for nodes in KINDS.values() for node in nodes}
    assert named == set(get_args(Term)) - {Const}


@pytest.mark.parametrize(
    ("range_", "inside", "outside"),
    [
        (Range(at_least=0.2), [0.2, 1], [0.19]),
        (Range(above=0.2), [0.21], [0.2]),
        (Range(at_most=0.2), [0, 0.2], [0.21]),
        (Range(below=0.2), [0.19], [0.2]),
        (Range(above=0.2, at_most=0.4), [0.4], [0.2, 0.41]),
    ],
)
def test_ends_belong_to_a_range_or_not(range_, inside, outside):
    assert all(value in range_ for value in inside)
    assert not any(value in range_ for value in outside)


@pytest.mark.parametrize("text", ["0", "1", ".5", "0.5", "5e-1", "1e-3", "1.", "+0.25"])
def test_numbers_are_read_as_written(text):
    (rule,) = policy_of(rule_text(when=f"{{influence: {{at_most: {text}}}}}")).rules
    assert rule.when.influence == Range(at_most=float(text))


# Days


def test_a_rule_matches_until_the_day_before_it_expires(witnesses):
    policy = policy_of(
        rule_text("for now", more="expires: 2027-01-31"),
        rule_text("later", "deny", more='expires: "2028-01-01"'),
    )
    w = witnesses[0]
    days = [date(2027, 1, 30), date(2027, 1, 31), date(2027, 12, 31), date(2028, 1, 1)]
    rules = [policy.rule_for(w, day) for day in days]
    assert [rule and rule.name for rule in rules] == ["for now", "later", "later", None]
    assert policy(w, today=days[-1]) is None
    expired = [[rule.name for rule in policy.expired(day)] for day in days]
    assert expired == [[], ["for now"], ["for now"], ["for now", "later"]]


def test_without_a_day_it_is_today(witnesses):
    policy = policy_of(
        rule_text("gone", more="expires: 2001-01-01"),
        rule_text("stays", more="expires: 9999-12-31"),
    )
    assert [rule.name for rule in policy.expired()] == ["gone"]
    assert policy(witnesses[0]).by == "p.yaml, rule 2 'stays'"
    assert [rule.name for rule in policy.unused(witnesses)] == ["gone"]


def test_a_day_is_a_date(witnesses):
    policy = policy_of(rule_text(more="expires: 2027-01-31"))
    assert policy(witnesses[0], today=datetime(2027, 1, 30, 23, 59)) is not None
    with pytest.raises(pu.DataError, match="pass a date"):
        policy(witnesses[0], today="2027-01-30")


def test_rules_that_decide_about_nothing_are_listed(witnesses):
    policy = policy_of(
        rule_text("variables", when="{kind: variable}"),
        rule_text("nobody", when="{protected: nobody}"),
        rule_text("hidden", when="{term: hours}"),
        rule_text("old", more="expires: 2020-01-01", when="{kind: ite}"),
        rule_text("rest", "deny"),
    )
    names = [rule.name for rule in policy.unused(iter(witnesses), DAY)]
    assert names == ["nobody", "hidden", "old"]
    assert policy.unused([], DAY) == policy.rules


# What is read


def test_a_file_is_read_and_named_without_its_folder(tmp_path, witnesses):
    path = tmp_path / "pay.yaml"
    text = "version: 1\nrules:\n" + rule_text("Überstunden")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    for source in (path, str(path)):
        policy = read_policy(source)
        assert policy == Policy.parse(text, name="pay.yaml")
        judged = policy(witnesses[0])
        assert judged is not None
        assert judged.by == "pay.yaml, rule 1 'Überstunden'"


def test_json_is_yaml():
    text = json.dumps(
        {"version": 1, "rules": [
            {"name": "a", "decision": "deny", "reason": "r", "expires": "2027-01-31",
             "when": {"explicit": True, "association": {"at_least": 0.5}}}
        ]}
    )  # fmt: skip
    (rule,) = Policy.parse(text).rules
    assert (rule.decision, rule.expires) == ("deny", date(2027, 1, 31))
    assert rule.when == When(explicit=True, association=Range(at_least=0.5))


def test_a_reason_over_several_lines_becomes_one():
    (rule,) = Policy.parse(
        "version: 1\nrules:\n- name: a\n  decision: deny\n  reason: |\n    one\n    two\n"
    ).rules
    assert rule.reason == "one two"


def test_the_example_of_the_page_is_a_policy_and_uses_every_key():
    (text,) = re.findall(r"^```yaml[^\n]*\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    policy = Policy.parse(text)
    assert len(policy.rules) == 6
    assert fits_schema(text)
    keys = {"version", "rules"}
    for part in ("Rule", "When", "Range", "Variables"):
        keys |= set(SCHEMA["$defs"][part]["properties"])
    assert [key for key in keys if not re.search(rf"\b{key}:", text)] == []


def test_the_schema_lists_every_kind():
    kind, several = SCHEMA["$defs"]["When"]["properties"]["kind"]["anyOf"]
    assert set(kind["enum"]) == set(several["items"]["enum"]) == set(KINDS)


@pytest.mark.parametrize("word", ["no", "off", "On", "y", "1:30", "2027-01-31", "0x10", ".inf"])
def test_words_that_older_yaml_takes_for_other_types_are_text(word):
    (rule,) = policy_of(rule_text(word, when=f"{{protected: [a, {word}]}}")).rules
    assert (rule.name, rule.when) == (word, When(protected=("a", word)))


# What is refused

# The rules, the message, and whether the schema refuses them too.
WRONG_RULES = [
    ("[]", "line 2, column 1: rules: expected a list with at least one item, got an empty", True),
    ("", "line 2, column 1: rules: expected a list with at least one item, got nothing", True),
    ("{a: b}", "line 2, column 1: rules: expected a list with at least one item, got a map", True),
    ("[text]", "line 2, column 9: rule 1: expected a mapping with the keys", True),
    ("[{}]", "line 2, column 9: rule 1: missing key 'name'", True),
    ("[{name: a, reason: r}]", "rule 1 'a': missing key 'decision'", True),
    ("[{name: a, decision: deny}]", "rule 1 'a': missing key 'reason'", True),
    ("[{name: a, decision: maybe, reason: r}]", 'expected allow or deny, got "maybe"', True),
    ("[{name: a, decision: yes, reason: r}]", 'decision: expected allow or deny, got "yes"', True),
    ("[{name: a, decision: alow, reason: r}]", "did you mean 'allow'?", True),
    ("[{name: a, decision: deny, reason: ' '}]", "expected text that is not blank", True),
    ("[{name: a, decision: deny, reason: }]", "reason: expected text, got nothing", True),
    ("[{name: a, decision: deny, reason: [r]}]", "reason: expected text, got a list", True),
    (r'[{name: a, decision: deny, reason: "\e[2J"}]', "no control characters", True),
    (r'[{name: a, decision: deny, reason: "\ud800"}]', "no control characters", True),
    ("[{name: 12, decision: deny, reason: r}]", "line 2, column 10: rule 1: name: expected text, "
     "got 12; put it in quotes", True),
    ("[{name: true, decision: deny, reason: r}]", "got true; put it in quotes", True),
    ("[{name: a, decison: deny, reason: r}]", "decison: unknown key; did you mean 'decision'?",
     True),
    ("[{name: a, allow: true, reason: r}]", "allow: unknown key; use one of name, decision, "
     "reason, expires, when", True),
    (f"[{{name: a, {'k' * 900}: 1}}]", "unknown key", True),
    ("[{name: a, 'b` - at `$.rules[7]': 1}]", "unknown key", True),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "message", "refused_by_schema"), WRONG_RULES)
def test_rules_of_another_shape_are_refused(rules, message, refused_by_schema):
    text = f"version: 1\nrules: {rules}\n"
    assert message in refused(text)
    assert fits_schema(text) is not refused_by_schema


# A line of a rule, the message, and whether the schema refuses it too.
WRONG_LINES = [
    ("expires: tomorrow", 'expires: expected a date such as 2027-01-31, got "tom', True),
    ("expires: 2027-02-30", 'expires: expected a date such as 2027-01-31, got "2027-02-30"', False),
    ("expires: 2027-1-31", "expected a date", True),
    ("expires: 2027-01-31 12:00:00", "expected a date", True),
    ("expires: 20270131", "expected a date", True),
    ("expires:", "expires: expected a date such as 2027-01-31, got nothing", True),
    ("when:", "when: expected a mapping with the keys protected, variables, kind", True),
    ("when: {}", "when: expected at least one of protected, variables, kind", True),
    ("when: always", "when: expected a mapping with the keys protected", True),
    ("when: {asociation: {below: 1}}", "when.asociation: unknown key; did you mean 'association'?",
     True),
    ("when: {<<: {kind: ite}}", "when.<<: unknown key", True),
    ("when: {protected: }", "when.protected: expected text, got nothing", True),
    ("when: {protected: ' '}", "when.protected: expected text that is not blank", True),
    ("when: {protected: []}", "when.protected: expected a list with at least one item", True),
    ("when: {protected: [a, 3]}", "column 27: rule 1 'first': when.protected[2]: expected text, "
     "got 3; put it in quotes", True),
    ("when: {protected: [a, b, a]}", "when: protected lists a value twice", True),
    ("when: {protected: {a: b}}", "when.protected: expected text, got a mapping", True),
    ("when: {protected: [[a]]}", "when.protected[1]: expected text, got a list", True),
    ("when: {variables: hours}", "expected a mapping with the keys only, any", True),
    ("when: {variables: {}}", "when.variables: expected at least one of only, any", True),
    ("when: {variables: {all: [a]}}", "when.variables.all: unknown key", True),
    ("when: {variables: {only: a, any: b}}", "no variable is in both only and any", False),
    ("when: {kind: tset}", "got \"tset\"; did you mean 'test'?", True),
    ("when: {kind: [ite, tset]}", "when.kind[2]: expected one of add, and, argmax", True),
    ("when: {kind: loop-the-loop}", "expected one of add, and, argmax", True),
    ("when: {association: 0.5}", "when.association: expected a mapping with the keys "
     "at_least, above, at_most, below, got 0.5", True),
    ("when: {association: {}}", "when.association: expected at least one of at_least, above", True),
    ("when: {association: {at_least: 1.5}}", "when.association.at_least: expected a number from "
     "0 to 1, got 1.5", True),
    ("when: {association: {at_least: -0.1}}", "expected a number from 0 to 1", True),
    ("when: {association: {at_least: .nan}}", "expected a number from 0 to 1", True),
    ("when: {association: {at_least: .inf}}", "expected a number from 0 to 1", True),
    ("when: {association: {at_least: 1e999}}", "expected a number from 0 to 1", True),
    ("when: {association: {at_least: '0.5'}}", 'got "0.5"; remove the quotes', True),
    ("when: {association: {at_least: 5%}}", "expected a number from 0 to 1", True),
    ("when: {association: {at_least: true}}", "expected a number from 0 to 1", True),
    ("when: {association: {at_least: [1]}}", "expected a number from 0 to 1", True),
    ("when: {association: {at_least: }}", "expected a number from 0 to 1, got nothing", True),
    ("when: {association: {at_least: 0.1, above: 0.2}}", "use either at_least or above", True),
    ("when: {influence: {at_most: 0.1, below: 0.2}}", "use either at_most or below", True),
    ("when: {association: {at_least: 0.5, at_most: 0.4}}", "no number is in this range", False),
    ("when: {influence: {above: 0.5, at_most: 0.5}}", "no number is in this range", False),
    ("when: {association: {above: 1}}", "no number is in this range", False),
    ("when: {influence: {below: 0}}", "no number is in this range", False),
    ("when: {explicit: yes}", 'when.explicit: expected true or false, got "yes"', True),
    ("when: {explicit: 'true'}", 'got "true"; remove the quotes', True),
    ("when: {term: age <=}", '"age <=" is not a term: line 1, column 7: expected a term', False),
    ("when: {term: age in 3}", "is not a term", False),
    ("when: {id: d534}", "16 characters, 0-9 and a-f", True),
    ("when: {id: 1234567890123456}", "when.id: expected text, got 1234567890123456; put it in "
     "quotes", True),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message", "refused_by_schema"), WRONG_LINES)
def test_lines_that_do_not_fit_are_refused(line, message, refused_by_schema):
    text = "version: 1\nrules:\n" + rule_text(more=line)
    error = refused(text)
    assert message in error
    assert re.match(r"line 6, column \d+: rule 1 'first': ", error)
    assert fits_schema(text) is not refused_by_schema


def test_names_are_unique():
    text = "version: 1\nrules:\n" + rule_text("a", when="{kind: ite}") + rule_text("a")
    assert (
        refused(text)
        == "line 7, column 5: rule 2 'a': rule 1 has the same name; rename one of them"
    )


def test_a_rule_below_one_that_matches_everything_is_refused():
    text = "version: 1\nrules:\n" + rule_text("all") + rule_text("b")
    assert "rule 2 'b': it can never match: rule 1 'all' has no `when`" in refused(text)
    policy_of(rule_text("all", more="expires: 2027-01-31"), rule_text("b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " is empty"),
        ("# nothing\n", " is empty"),
        ("just text", "line 1, column 1: expected a mapping with the keys version"),
        ("rules: []", "line 1, column 1: rules: expected a list"),
        ("{}", "line 1, column 1: missing key 'version'"),
        ("version: 1", "line 1, column 1: missing key 'rules'"),
        ("version: 2\nrules: [a]", "line 1, column 1: version: expected 1"),
        ("version: '1'\nrules: [a]", "version: expected 1"),
        ("version: 1\nrule: []", "line 2, column 1: rule: unknown key; did you mean 'rules'?"),
        ("version: 1\nversion: 1", 'line 2, column 1: duplicate key "version", first in line 1'),
        ("a:\n  b: 1\n  c: 2\n  b: 3", 'line 4, column 3: duplicate key "b", first in line 2'),
        ("a: &x 1", 'line 1, column 4: aliases and anchors are not allowed ("&x")'),
        ("a: [&x [], *x]", "aliases and anchors are not allowed"),
        ("a: *x", 'line 1, column 4: aliases and anchors are not allowed ("*x")'),
        ("a: !!python/object/apply:os.getcwd []", "tags are not allowed"),
        ("a: !!str no", "tags are not allowed"),
        ("a: 1\n---\nb: 2", "line 2, column 1: invalid YAML: but found another document"),
        ("? [a]\n: b", "line 1, column 3: expected text as a key"),
        ("a: b: c", "line 1, column 5: invalid YAML: mapping values are not allowed"),
        ("a: 'b\nc", "which starts in line 1"),
        ("a:\n\tb: 1", "line 2, column 1: invalid YAML"),
        ("a: b\nc: \x07", "line 2, column 4: YAML does not allow this character (code 7)"),
        ('a: "\\UFFFFFFFF"', "is too large"),
        (f"%YAML 1.{'9' * 5000}\n---\na", "is too large"),
        ("[" * 100_000, "line 1, column 22: it has at least 21 levels, more than the limit"),
        ("- " * 100_000, "line 1, column 41: it has at least 21 levels, more than the limit"),
        ("a" * 1_000_001, " has 1,000,001 bytes, more than the limit `policy_bytes`"),
    ],
)
def test_texts_that_are_no_policies_are_refused(text, message):
    assert message in refused(text)


def test_bombs_of_aliases_are_refused_at_the_first_anchor():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert refused("\n".join(lines)).startswith(
        'line 1, column 5: aliases and anchors are not allowed ("&a0")'
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist; check the path"),
        (b"a: \xff", "is not UTF-8 (byte 3); save it as UTF-8"),
        (b"#" * 1_000_001, "has 1,000,001 bytes, more than the limit `policy_bytes`"),
        (b"version: 3", "line 1, column 1: version: expected 1"),
    ],
)
def test_files_that_cannot_be_read_are_named_with_their_folder(tmp_path, content, message):
    path = tmp_path / "pay.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(pu.FileError) as caught:
        read_policy(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_folders_and_impossible_names_are_refused(tmp_path):
    for path, message in ((tmp_path, "is a folder; pass a file"), ("a\0b", "cannot be read")):
        with pytest.raises(pu.FileError, match=message):
            read_policy(path)


def test_yaml_is_imported_when_used_and_its_extra_named_where_it_is_missing():
    code = """
import sys
from proxyuse.judge.policy import Policy
from proxyuse import FileError
assert "yaml" not in sys.modules
sys.modules["yaml"] = None
try:
    Policy.parse("version: 1")
except FileError as error:
    assert "needs PyYAML" in str(error) and "'proxyuse[files]'" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
