"""A time limit: what was settled in time is returned, and the rest is named."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import proxyuse as pu
from proxyuse.auditing import examine
from proxyuse.cli.main import main
from proxyuse.detect.progress import Clock, OutOfTime
from proxyuse.report.document import document
from proxyuse.report.saved import as_text
from proxyuse.request import request_for
from proxyuse.settings import AuditOptions

ROWS = 300
rng = np.random.default_rng(0)
PEOPLE = pd.DataFrame(rng.normal(size=(ROWS, 5)).round(1), columns=list("abcde"))
PEOPLE["z"] = PEOPLE["a"] + 0.3 * rng.normal(size=ROWS) > 0
SUM = pu.Program.parse("ite(2 * a + b + c * d + e > 0.5, 1, 0)")
RULE = pu.Program.parse("ite(a <= 0 and (b > 1 or a + b + c > 1), 'x', ite(a > 1, 'y', 'x'))")


@cache
def forest() -> pu.Program:
    model = RandomForestClassifier(5, max_depth=3, random_state=0, n_jobs=1)
    X = PEOPLE[list("abcde")]
    return pu.translate(model.fit(X, X["a"] + X["b"] > 0.2))


def programs() -> list[pu.Program]:
    return [SUM, RULE, forest()]


def audited(program: pu.Program, steps: float | None, **options: Any) -> pu.Audit:
    """An audit that stops after a number of ticks of the clock."""
    ticks = count()
    clock = Clock(None, limit=steps, now=lambda: float(next(ticks)))
    return examine(request_for(program, PEOPLE, "z", AuditOptions(**options)), clock=clock)


def figures(audit: pu.Audit) -> dict[str, tuple[object, ...]]:
    return {d.id: (d.term, d.associations["z"], d.influence, d.reach) for d in audit.decompositions}


@pytest.mark.parametrize("index", range(3))
def test_a_limit_that_is_not_reached_changes_nothing(index):
    program = programs()[index]
    full, limited = audited(program, None), audited(program, 10**9)
    assert list(figures(limited).items()) == list(figures(full).items())
    assert [w.id for w in limited.witnesses] == [w.id for w in full.witnesses]
    assert limited.unsettled == full.unsettled
    assert limited.notes == full.notes


@pytest.mark.parametrize(
    "options",
    [{}, {"budget": pu.Budget(positions=0)}, {"all_sets": True, "budget": pu.Budget(subsets=32)}],
)
@pytest.mark.parametrize("index", range(3))
def test_whatever_was_measured_in_time_is_as_without_a_limit(index, options):
    program = programs()[index]
    full = figures(audited(program, None, **options))
    for steps in (0.5, 2, 4, 8, 16, 32, 64, 128):
        audit = audited(program, steps, **options)
        for key, values in figures(audit).items():
            assert full[key] == pytest.approx(values, nan_ok=True)
        assert {w.id for w in audit.witnesses} <= full.keys()


@pytest.mark.parametrize("index", range(3))
def test_more_time_settles_at_least_as_many_witnesses(index):
    program = programs()[index]
    counts = [len(audited(program, 2.0**power).witnesses) for power in range(12)]
    assert counts[-1] == len(audited(program, None).witnesses) > 0


def test_a_complete_audit_has_all_witnesses_however_early_it_stopped():
    full = {w.id for w in audited(RULE, None).witnesses}
    for steps in range(1, 60):
        audit = audited(RULE, steps)
        assert audit.complete <= ({w.id for w in audit.witnesses} == full)


def test_what_was_not_measured_is_named():
    audit = audited(SUM, 2)
    assert not audit.complete
    assert audit.unsettled[0].what == "computations"
    assert audit.unsettled[0].count > 0
    assert audit.notes[0].kind is pu.NoteKind.TIME_LIMIT
    assert "Stopped after 2 s, as requested. " in str(audit)
    assert "were not measured" in str(audit)


def test_what_is_open_has_positions():
    audit = audited(RULE, 0.5)
    assert len(audit.decompositions) == 0
    assert pu.Position(()) in audit.unsettled[0].positions


def test_when_the_search_is_stopped_the_combinations_are_named():
    names = [f"x{i}" for i in range(20)]
    wide = PEOPLE.assign(**{name: rng.normal(size=ROWS).round(1) for name in names})
    program = pu.Program.parse(f"ite({' + '.join(names)} + 3 * a > 0, 1, 0)")
    ticks = count()
    budget = pu.Budget(subsets=16, search=10**6, grow=10**6)
    case = request_for(program, wide, "z", AuditOptions(budget=budget))
    for steps in (2**power for power in range(4, 14)):
        clock = Clock(None, limit=steps, now=lambda: float(next(ticks)))
        audit = examine(case, clock=clock)
        if audit.unsettled[0].what == "operand subsets":
            break
    assert audit.unsettled[0].count > 0
    assert audit.notes[0].kind is pu.NoteKind.TIME_LIMIT
    assert "combinations" in audit.note_sentences()[0]


@pytest.mark.parametrize("steps", [0.5, 10, 40])
def test_a_stopped_audit_can_be_shown_and_asked_further(steps):
    audit = audited(RULE, steps)
    audit.to_frame()
    as_text(document(audit))
    audit.validated("confirm")
    audit.validated(pu.CrossValidation(splits=2))
    assert repr(audit)
    assert audit._repr_html_()


def test_a_stopped_audit_cannot_be_certified():
    with pytest.raises(pu.DataError, match="time limit"):
        pu.certify(audited(RULE, 0.5))
    pu.certify(audited(RULE, 10**9))


def test_an_audit_can_be_given_seconds():
    assert pu.audit(RULE, PEOPLE, "z", time_limit=10_000).complete
    stopped = pu.audit(RULE, PEOPLE, "z", time_limit=1e-9)
    assert not stopped.complete
    assert "Stopped after 1e-09 s" in str(stopped)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "10", True, [1]])
def test_a_limit_is_a_positive_number(limit):
    with pytest.raises(pu.DataError, match="time_limit: expected a number above 0 or None, got"):
        pu.audit(RULE, PEOPLE, "z", time_limit=limit)


def test_a_test_of_a_model_that_ran_out_of_time_fails():
    with pytest.raises(AssertionError, match="Pass a longer time limit"):
        pu.assert_no_proxy_use(RULE, PEOPLE, "z", time_limit=1e-9)


# The clock


def test_the_deadline_counts_only_inside_its_block():
    now = iter(range(100))
    clock = Clock(None, limit=1, now=lambda: float(next(now)))
    for _ in range(5):
        clock.tick()
    reached = []
    with clock.until_deadline():
        clock.tick()
        reached.append("the next step")
    assert clock.stopped
    assert not reached
    clock.tick()
    assert not clock.restarted().stopped


def test_without_a_limit_a_clock_never_stops():
    clock = Clock(None)
    with clock.until_deadline():
        clock.tick(5)
    assert not clock.stopped
    assert clock.restarted() is clock
    assert not issubclass(OutOfTime, pu.ProxyUseError)


# The command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    (tmp_path / "rule.txt").write_text(str(RULE))
    return ["audit", "--model", "rule.txt", "--data", "people.csv", "--protected", "z"]


def test_a_stopped_audit_that_found_nothing_ends_with_3(files, capsys):
    assert main([*files, "--time-limit", "0.000001"]) == 3
    assert "Stopped after 1e-06 s, as requested. " in capsys.readouterr().out


def test_an_audit_in_time_ends_as_without_a_limit(files, capsys):
    assert main([*files, "--time-limit", "10000", "--validity", "none"]) == 1
    assert "Stopped" not in capsys.readouterr().out


def test_the_project_file_can_set_a_limit(files, tmp_path, capsys):
    (tmp_path / "proxyuse.toml").write_text("time_limit = 0.000001\n")
    assert main(files) == 3
    (tmp_path / "proxyuse.toml").write_text("time_limit = 0\n")
    assert main(files) == 2
    assert "time_limit: expected a number above 0, got 0" in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["0", "-3", "nan", "inf"])
def test_the_command_line_refuses_a_limit_that_is_no_time(files, capsys, limit):
    with pytest.raises(SystemExit) as usage:
        main([*files, "--time-limit", limit])
    assert usage.value.code == 2
    assert f"--time-limit: expected a number above 0, got {limit}" in capsys.readouterr().err
