"""Models of every family are repaired, saved, and loaded in a new process without this package.

The repaired model predicts what the repaired program predicts, in both processes. So does the
Python source of the program, which a third process runs without any library.
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
from proxyuse.repairing.effort import SearchBudget
from tests.constant_repairs import by_constants
from tests.repaired_cases import CASES, DUMMIES, PROTECTED, fitted

pytestmark = pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")

QUICK = SearchBudget(
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
    return by_constants(
        fitted(name),
        case.X,
        case.y,
        protected=PROTECTED,
        epsilon=EPSILON,
        delta=DELTA,
        utility=case.utility,
        effort=QUICK,
        unconfirmed=True,
    )


def dotted(model):
    return f"{type(model).__module__}.{type(model).__qualname__}"


def runs_a_program(model):
    return dotted(model).startswith("proxyuse")


def predictions_of(model, X):
    return predictions(model, model_rows(model, X, list(X)))


def assert_same(actual, expected, single=False):
    """Labels are equal; numbers agree up to rounding, which is coarser in float32."""
    actual = np.asarray(actual).reshape(len(expected))
    if expected.dtype == np.float64:
        np.testing.assert_allclose(actual.astype(float), expected, rtol=1e-6 if single else 1e-12)
    else:
        assert [str(v) for v in actual.astype(expected.dtype)] == [str(v) for v in expected]


def test_every_supported_model_has_a_case():
    installed = {name.partition(".")[0] for name in map(dotted, map(fitted, CASES))}
    supported = {
        name
        for name, entry in SUPPORTED.items()
        if entry.role == "model" and name.partition(".")[0] in installed
    }
    assert supported - {dotted(fitted(name)) for name in (*CASES, *DUMMIES)} == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_violation_remains_and_utility_beats_a_constant(name):
    case, repair = CASES[name], repaired(name)
    assert repair.before.violations() != []
    assert pu.audit(repair.program, case.X, PROTECTED, EPSILON, DELTA).violations() == []
    assert repair.program.size <= repair.original.size
    assert repair.program != repair.original
    if repair.utility == "accuracy":
        outputs = set(repair.original.predict(case.X).tolist())
        assert repair.used.after >= max(np.mean(case.y == output) for output in outputs) - 1e-12
        assert repair.used.after == pytest.approx(np.mean(repair.program.predict(case.X) == case.y))
    else:
        assert repair.utility == "mean squared error"
        assert repair.used.after <= np.var(case.y) * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_model_keeps_its_class_and_predicts_what_the_program_predicts(name):
    case, repair = CASES[name], repaired(name)
    deployed = repair.deployed
    assert deployed.native is (not case.why), deployed.why
    assert case.why in deployed.why
    assert (type(deployed.model) is type(fitted(name))) is deployed.native
    single = "xgboost" in dotted(fitted(name))
    assert_same(predictions_of(deployed.model, case.X), repair.program.predict(case.X), single)
    assert pu.audit(deployed.model, case.X, PROTECTED, EPSILON, DELTA).violations() == []


@pytest.mark.parametrize("name", DUMMIES)
def test_a_model_without_violations_is_unchanged(name):
    repair = repaired(name)
    assert repair.program == repair.original
    assert repair.deployed.native
    assert type(repair.model) is type(fitted(name))


def test_a_model_that_rounds_to_another_decision_is_rejected():
    X = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 3.0], [1.0, 0.0]])
    model = LogisticRegression().fit(X, ["no", "yes", "yes", "no"])
    model.coef_, model.intercept_ = np.array([[0.2, 0.5]]), np.array([-0.7])
    program = pu.translate(model)
    first = next(i for i, term in enumerate(program.points.terms) if term == Var("x0"))
    deployed = write_back(model, program.replaced({Site(first): const(1.0)}), X)
    assert not deployed.native
    assert "depend on rounding" in deployed.why
    assert_same(deployed.model.predict(X), np.array(["no", "no", "yes", "no"], dtype=object))


# A new process

LOADED = """
import pickle, sys
from pathlib import Path

def load(file_format, path):
    if file_format == "pickle":
        return pickle.loads(path.read_bytes())
    if file_format == "joblib":
        import joblib
        return joblib.load(path)
    if file_format == "skops":
        import skops.io as sio
        return sio.load(path, trusted=sio.get_untrusted_types(file=path))
    if file_format == "lightgbm":
        import lightgbm
        return lightgbm.Booster(model_file=path)
    import xgboost
    model = getattr(xgboost, file_format)()
    model.load_model(path)
    return model

def predict(model, X):
    if type(model).__module__.startswith("xgboost") and type(model).__name__ == "Booster":
        import xgboost
        return model.predict(xgboost.DMatrix(X))
    return model.predict(X)

folder = Path(sys.argv[1])
results = []
models = pickle.loads((folder / "models").read_bytes())
for number, (file_format, runs_a_program, table) in enumerate(models):
    X = pickle.loads((folder / table).read_bytes())
    model = load(file_format, folder / f"{number}.{file_format}")
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    results.append((predict(model, X), probabilities))
    assert runs_a_program or "proxyuse" not in sys.modules, model
(folder / "results").write_bytes(pickle.dumps(results))
"""


def savers(model):
    """The file formats of a model, each with a function that saves the model to a path."""
    formats = {"pickle": lambda path: path.write_bytes(pickle.dumps(model))}
    library = type(model).__module__.partition(".")[0]
    if library == "xgboost":
        formats[type(model).__name__] = model.save_model
    elif library == "lightgbm":
        formats["lightgbm"] = getattr(model, "booster_", model).save_model
    elif library == "sklearn":
        sio = pytest.importorskip("skops.io")
        return {
            "joblib": lambda path: joblib.dump(model, path),
            "skops": lambda path: sio.dump(model, path),
        }
    return formats


def check_in_a_new_process(names, folder):
    models: list[tuple[str, bool, str]] = []
    expected: list[tuple[str, str]] = []
    for name in sorted(names, key=lambda name: runs_a_program(repaired(name).model)):
        repair, X = repaired(name), CASES[name].X
        model = repair.model
        table = f"rows {id(X)}"
        (folder / table).write_bytes(pickle.dumps(X))
        for file_format, save in savers(model).items():
            path = folder / f"{len(models)}.{file_format}"
            is_json = file_format.startswith("XGB") or file_format == "Booster"
            saved = path.with_suffix(".json") if is_json else path
            save(saved)
            saved.rename(path)
            models.append((file_format, runs_a_program(model), table))
            expected.append((name, file_format))
    (folder / "models").write_bytes(pickle.dumps(models))
    run(folder, LOADED, "-W", "ignore")
    results = pickle.loads((folder / "results").read_bytes())
    for (name, file_format), (outputs, probabilities) in zip(expected, results, strict=True):
        repair, X = repaired(name), CASES[name].X
        single = "xgboost" in dotted(repair.model)
        if file_format == "lightgbm" and hasattr(repair.model, "predict_proba"):
            own = repair.model.predict_proba(X)
            np.testing.assert_array_equal(outputs, own if own.shape[1] > 2 else own[:, 1])
            continue
        assert_same(outputs, repair.program.predict(X), single)
        assert (probabilities is not None) == hasattr(repair.model, "predict_proba")
        if probabilities is not None:
            np.testing.assert_array_equal(probabilities, repair.model.predict_proba(X))


def run(folder, code, *options):
    script = folder / "script.py"
    script.write_text(code)
    command = [sys.executable, *options, str(script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


QUICK_NAMES = [name for name, case in CASES.items() if not case.slow]


@pytest.mark.slow
def test_a_new_process_loads_every_quick_model(tmp_path):
    check_in_a_new_process(QUICK_NAMES, tmp_path)


@pytest.mark.slow
def test_a_new_process_loads_every_model(tmp_path):
    check_in_a_new_process(CASES, tmp_path)


SOURCES = """
import importlib.util, json, runpy, sys
from pathlib import Path

assert importlib.util.find_spec("proxyuse") is None and importlib.util.find_spec("numpy") is None
folder = Path(sys.argv[1])
results = []
for number, rows in enumerate(json.loads((folder / "rows.json").read_text())):
    predict = runpy.run_path(str(folder / f"{number}.py"))["predict"]
    results.append([predict(row) for row in rows])
(folder / "results.json").write_text(json.dumps(results))
"""


@pytest.mark.slow
def test_the_python_source_of_a_program_needs_no_library(tmp_path):
    rows = []
    for number, name in enumerate(QUICK_NAMES):
        (tmp_path / f"{number}.py").write_text(pu.python_source(repaired(name).program), "utf-8")
        rows.append(CASES[name].X.head(12).to_dict("records"))
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    run(tmp_path, SOURCES, "-I", "-S")
    results = json.loads(Path(tmp_path / "results.json").read_text())
    for name, outputs in zip(QUICK_NAMES, results, strict=True):
        predicted = repaired(name).program.predict(CASES[name].X.head(12)).tolist()
        for output, expected in zip(outputs, predicted, strict=True):
            if isinstance(expected, float):
                assert math.isclose(output, expected, rel_tol=1e-12), name
            else:
                assert output == expected, name
