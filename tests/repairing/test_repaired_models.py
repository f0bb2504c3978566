"""Models of every family are repaired, saved, and loaded by a process that knows nothing of it.

The repaired model says what the repaired program says, in this process and in the other one, and
so does the program's Python source, which a third process runs without this package.
"""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import proxyuse as pu
from proxyuse.lang.build import const
from proxyuse.lang.nodes import Var
from proxyuse.lang.positions import Site
from proxyuse.models.checks import model_rows, predictions
from proxyuse.models.supported import SUPPORTED
from proxyuse.models.write_back import write_back
from tests.repaired_cases import CASES, DUMMIES, PROTECTED, fitted

pytestmark = pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")

QUICK = pu.SearchBudget(
    orders=1, programs=1, branches=1, undo=1, constants=4, expressions=8, checks=16, costly=4
)
EPSILON, DELTA = 0.15, 0.05

NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if case.slow else name
    for name, case in CASES.items()
]


@cache
def repaired(name):
    case = {**CASES, **DUMMIES}[name]
    return pu.repair(
        fitted(name),
        case.X,
        case.y,
        protected=PROTECTED,
        epsilon=EPSILON,
        delta=DELTA,
        utility=case.utility,
        search=QUICK,
    )


def dotted(model):
    return f"{type(model).__module__}.{type(model).__qualname__}"


def runs_a_program(model):
    return dotted(model).startswith("proxyuse")


def said_by(model, X):
    return predictions(model, model_rows(model, X, list(X)))


def assert_same(said, expected, single=False):
    """Labels are equal; numbers, but for the last digits of those computed in float32."""
    said = np.asarray(said).reshape(len(expected))
    if expected.dtype == np.float64:
        np.testing.assert_allclose(said.astype(float), expected, rtol=1e-6 if single else 1e-12)
    else:
        assert [str(v) for v in said.astype(expected.dtype)] == [str(v) for v in expected]


def test_every_supported_model_has_a_case():
    installed = {name.partition(".")[0] for name in map(dotted, map(fitted, CASES))}
    wanted = {
        name
        for name, entry in SUPPORTED.items()
        if entry.role == "model" and name.partition(".")[0] in installed
    }
    assert wanted - {dotted(fitted(name)) for name in (*CASES, *DUMMIES)} == set()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_and_little_is_lost(name):
    case, repair = CASES[name], repaired(name)
    assert repair.before.violations() != []
    assert pu.audit(repair.program, case.X, PROTECTED, EPSILON, DELTA).violations() == []
    assert repair.program.size <= repair.original.size
    assert repair.program != repair.original
    if repair.utility == "accuracy":
        shares = [np.mean(case.y == said) for said in set(repair.original.predict(case.X).tolist())]
        assert repair.used.after >= max(shares) - 1e-12
        assert repair.used.after == pytest.approx(np.mean(repair.program.predict(case.X) == case.y))
    else:
        assert repair.utility == "mean squared error"
        assert repair.used.after <= np.var(case.y) * (1 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_of_its_kind_and_says_what_the_program_says(name):
    case, repair = CASES[name], repaired(name)
    deployed = repair.deployed
    assert deployed.native is (not case.why), deployed.why
    assert case.why in deployed.why
    assert (type(deployed.model) is type(fitted(name))) is deployed.native
    single = "xgboost" in dotted(fitted(name))
    assert_same(said_by(deployed.model, case.X), repair.program.predict(case.X), single)
    assert pu.audit(deployed.model, case.X, PROTECTED, EPSILON, DELTA).violations() == []


@pytest.mark.parametrize("name", DUMMIES)
def test_what_needs_no_repair_stays_as_it_is(name):
    repair = repaired(name)
    assert repair.program == repair.original
    assert repair.deployed.native
    assert type(repair.model) is type(fitted(name))


def test_a_model_that_rounds_to_another_decision_is_not_given():
    X = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 3.0], [1.0, 0.0]])
    model = LogisticRegression().fit(X, ["no", "yes", "yes", "no"])
    model.coef_, model.intercept_ = np.array([[0.2, 0.5]]), np.array([-0.7])
    program = pu.translate(model)
    first = next(i for i, term in enumerate(program.points.terms) if term == Var("x0"))
    deployed = write_back(model, program.replaced({Site(first): const(1.0)}), X)
    assert not deployed.native
    assert "hangs on the last digits of a sum" in deployed.why
    assert_same(deployed.model.predict(X), np.array(["no", "no", "yes", "no"], dtype=object))


# A new process

LOADED = """
import pickle, sys
from pathlib import Path

def load(way, path):
    if way == "pickle":
        return pickle.loads(path.read_bytes())
    if way == "joblib":
        import joblib
        return joblib.load(path)
    if way == "skops":
        import skops.io as sio
        return sio.load(path, trusted=sio.get_untrusted_types(file=path))
    if way == "lightgbm":
        import lightgbm
        return lightgbm.Booster(model_file=path)
    import xgboost
    model = getattr(xgboost, way)()
    model.load_model(path)
    return model

def said(model, X):
    if type(model).__module__.startswith("xgboost") and type(model).__name__ == "Booster":
        import xgboost
        return model.predict(xgboost.DMatrix(X))
    return model.predict(X)

folder = Path(sys.argv[1])
results = []
asked = pickle.loads((folder / "asked").read_bytes())
for number, (way, runs_a_program, table) in enumerate(asked):
    X = pickle.loads((folder / table).read_bytes())
    model = load(way, folder / f"{number}.{way}")
    shares = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    results.append((said(model, X), shares))
    assert runs_a_program or "proxyuse" not in sys.modules, model
(folder / "answers").write_bytes(pickle.dumps(results))
"""


def ways_to_save(model):
    """How models of a family are saved, each as its name and a function of a path."""
    ways = {"pickle": lambda path: path.write_bytes(pickle.dumps(model))}
    library = type(model).__module__.partition(".")[0]
    if library == "xgboost":
        ways[type(model).__name__] = model.save_model
    elif library == "lightgbm":
        ways["lightgbm"] = getattr(model, "booster_", model).save_model
    elif library == "sklearn":
        sio = pytest.importorskip("skops.io")
        return {
            "joblib": lambda path: joblib.dump(model, path),
            "skops": lambda path: sio.dump(model, path),
        }
    return ways


def check_in_a_new_process(names, folder):
    asked: list[tuple[str, bool, str]] = []
    expected: list[tuple[str, str]] = []
    for name in sorted(names, key=lambda name: runs_a_program(repaired(name).model)):
        repair, X = repaired(name), CASES[name].X
        model = repair.model
        table = f"rows {id(X)}"
        (folder / table).write_bytes(pickle.dumps(X))
        for way, save in ways_to_save(model).items():
            path = folder / f"{len(asked)}.{way}"
            path = path.with_suffix(".json") if way.startswith("XGB") or way == "Booster" else path
            save(path)
            path.rename(folder / f"{len(asked)}.{way}")
            asked.append((way, runs_a_program(model), table))
            expected.append((name, way))
    (folder / "asked").write_bytes(pickle.dumps(asked))
    run(folder, LOADED, "-W", "ignore")
    answers = pickle.loads((folder / "answers").read_bytes())
    for (name, way), (said, shares) in zip(expected, answers, strict=True):
        repair, X = repaired(name), CASES[name].X
        single = "xgboost" in dotted(repair.model)
        if way == "lightgbm" and hasattr(repair.model, "predict_proba"):
            own = repair.model.predict_proba(X)
            np.testing.assert_array_equal(said, own if own.shape[1] > 2 else own[:, 1])
            continue
        assert_same(said, repair.program.predict(X), single)
        assert (shares is not None) == hasattr(repair.model, "predict_proba")
        if shares is not None:
            np.testing.assert_array_equal(shares, repair.model.predict_proba(X))


def run(folder, code, *options):
    script = folder / "script.py"
    script.write_text(code)
    command = [sys.executable, *options, str(script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


QUICK_NAMES = [name for name, case in CASES.items() if not case.slow]


def test_a_new_process_loads_all_of_them(tmp_path):
    check_in_a_new_process(QUICK_NAMES, tmp_path)


@pytest.mark.slow
def test_a_new_process_loads_the_slow_ones_too(tmp_path):
    check_in_a_new_process(CASES, tmp_path)


SOURCES = """
import importlib.util, json, runpy, sys
from pathlib import Path

assert importlib.util.find_spec("proxyuse") is None and importlib.util.find_spec("numpy") is None
folder = Path(sys.argv[1])
results = []
for number, rows in enumerate(json.loads((folder / "asked.json").read_text())):
    predict = runpy.run_path(str(folder / f"{number}.py"))["predict"]
    results.append([predict(row) for row in rows])
(folder / "answers.json").write_text(json.dumps(results))
"""


def test_python_alone_runs_their_source(tmp_path):
    asked = []
    for number, name in enumerate(QUICK_NAMES):
        (tmp_path / f"{number}.py").write_text(pu.python_source(repaired(name).program), "utf-8")
        asked.append(CASES[name].X.head(12).to_dict("records"))
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    run(tmp_path, SOURCES, "-I", "-S")
    answers = json.loads(Path(tmp_path / "answers.json").read_text())
    for name, said in zip(QUICK_NAMES, answers, strict=True):
        for one, other in zip(
            said, repaired(name).program.predict(CASES[name].X.head(12)).tolist(), strict=True
        ):
            if isinstance(other, float):
                assert math.isclose(one, other, rel_tol=1e-12), name
            else:
                assert one == other, name
