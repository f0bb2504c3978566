"""Model files are recognized by their content, load to the same decisions, and do no harm."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.errors import FileError
from proxyuse.models.files import load_model
from proxyuse.models.lightgbm.file_format import checked_text
from proxyuse.models.sklearn.skops_types import ALLOWED, CLASSES, TRUSTED
from proxyuse.models.supported import SUPPORTED
from proxyuse.models.xgboost.file_format import read_document
from proxyuse.models.xgboost.ubjson import read_ubjson
from tests import hostile_models
from tests.hostile_models import HOSTILE, REAL, THREE, WITH_CATEGORIES, X, Y, real_file
from tests.models.test_supported import fitted

SKLEARN = [name for name in SUPPORTED if name.startswith("sklearn.")]
DAMAGES = 60
SLOW_TO_FIT = (
    "TheilSenRegressor", "HalvingGridSearchCV", "RFECV", "SequentialFeatureSelector",
    "ExtraTreesRegressor", "RandomForestRegressor", "HistGradientBoostingRegressor",
)  # fmt: skip


def written(folder: Path, data: bytes, name: str = "model") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


# What is read


def test_a_program_as_text(tmp_path):
    text = "ite(age <= 30 and sex == 'F', 0, 1)"
    path = written(tmp_path, text.encode())
    loaded = load_model(str(path))
    assert loaded.model == pu.Program.parse(text)
    assert (loaded.kind, loaded.path, loaded.saved_with) == ("program", path, None)
    assert loaded.sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in SKLEARN if not n.endswith(SLOW_TO_FIT)])
def test_each_supported_class_of_scikit_learn_loads_from_skops(name, tmp_path):
    model: Any
    model, rows = fitted(name)
    path = written(tmp_path, skops.io.dumps(model))
    loaded = load_model(path)
    model_loaded: Any = loaded.model
    assert loaded.kind == "skops"
    assert loaded.saved_with == f"scikit-learn {import_module('sklearn').__version__}"
    assert type(model_loaded) is type(model)
    assert model_loaded.predict(rows).tolist() == model.predict(rows).tolist()


def test_histogram_boosting_with_categories_loads_from_skops(tmp_path):
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[1], max_depth=2)
    model.fit(WITH_CATEGORIES, Y)
    loaded: Any = load_model(written(tmp_path, skops.io.dumps(model))).model
    assert loaded.predict(WITH_CATEGORIES).tolist() == model.predict(WITH_CATEGORIES).tolist()
    assert pu.translate(loaded) == pu.translate(model)


def test_a_pipeline_of_an_encoder_and_a_forest_loads_and_is_audited(tmp_path):
    loaded = load_model(written(tmp_path, real_file("encoded")))
    audit = pu.audit(loaded.model, WITH_CATEGORIES, protected={"z": Y})
    assert audit.complete


def filled_and_encoded() -> tuple[Any, Any]:
    """A pipeline that fills words and numbers that are missing, and its rows."""
    rows = WITH_CATEGORIES.assign(
        k=WITH_CATEGORIES["k"].astype(object).where(np.arange(len(X)) % 5 > 0, np.nan),
        a=WITH_CATEGORIES["a"].where(np.arange(len(X)) % 7 > 0, np.nan),
    )
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer((words, ["k"]), (SimpleImputer(), ["a", "b"]))
    model = make_pipeline(columns, RandomForestClassifier(3, max_depth=3, random_state=0))
    return model.fit(rows, Y), rows


def test_a_pipeline_that_imputes_strings_loads_from_skops(tmp_path):
    model, rows = filled_and_encoded()
    loaded: Any = load_model(written(tmp_path, skops.io.dumps(model))).model
    assert loaded.predict_proba(rows).tolist() == model.predict_proba(rows).tolist()
    assert pu.translate(loaded) == pu.translate(model)


def test_only_an_empty_array_may_state_the_object_dtype(tmp_path):
    filler = SimpleImputer(strategy="most_frequent").fit(filled_and_encoded()[1][["k"]])
    description, members = hostile_models.unzipped(skops.io.dumps(filler))
    dtype = hostile_models.fields(description, "SimpleImputer")["_fit_dtype"]["content"]
    assert dtype["content"] == []
    dtype["content"] = [hostile_models.json_node("x")]
    with pytest.raises(FileError, match="not an array of numbers"):
        load_model(written(tmp_path, hostile_models.zipped(description, members)))


@functools.cache
def xgboost_models():
    import xgboost

    rows, target = xgboost.DMatrix(X, Y), {"objective": "binary:logistic", "nthread": 1}
    few: dict[str, Any] = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
    return {
        "classifier": xgboost.XGBClassifier(**few).fit(X, Y),
        "classes": xgboost.XGBClassifier(**few).fit(X, THREE),
        "categories": xgboost.XGBClassifier(**few, enable_categorical=True).fit(WITH_CATEGORIES, Y),
        "regressor": xgboost.XGBRegressor(**few).fit(X, Y),
        "forest": xgboost.XGBRFClassifier(**few).fit(X, Y),
        "linear": xgboost.XGBClassifier(n_estimators=3, n_jobs=1, booster="gblinear").fit(X, THREE),
        "dart": xgboost.XGBClassifier(**few, booster="dart").fit(X, THREE),
        "pruned": xgboost.XGBClassifier(**few, gamma=2, tree_method="exact").fit(X, Y),
        "booster": xgboost.train(target, rows, 3),
        "names": xgboost.train(target, xgboost.DMatrix(X.set_axis(["é", '"', "\\"], axis=1), Y), 1),
    }


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_xgboost_models_load_with_the_class_they_were_saved_with(suffix, tmp_path):
    import xgboost

    for name, model in xgboost_models().items():
        path = tmp_path / f"{name}.{suffix}"
        model.save_model(path)
        loaded: Any = load_model(path)
        assert (loaded.kind, loaded.saved_with) == ("xgboost", f"XGBoost {xgboost.__version__}")
        if isinstance(model, xgboost.Booster):
            assert bytes(loaded.model.save_raw("json")) == bytes(model.save_raw("json"))
            continue
        kind = "XGBRegressor" if name == "regressor" else "XGBClassifier"
        assert type(loaded.model).__name__ == kind
        rows = WITH_CATEGORIES if name == "categories" else X
        assert loaded.model.predict(rows).tolist() == model.predict(rows).tolist()
        raw = [bytes(m.get_booster().save_raw("json")) for m in (loaded.model, model)]
        assert raw[0] == raw[1]


def test_both_formats_of_xgboost_load_equal_models():
    a, b = (read_document(real_file(f"xgboost-{form}")) for form in ("json", "ubj"))
    assert a == b


@pytest.mark.parametrize(
    ("settings", "target"),
    [
        ({"objective": "binary"}, Y),
        ({"objective": "multiclass", "num_class": 3}, THREE),
        ({"objective": "multiclassova", "num_class": 3}, THREE),
        ({"objective": "regression", "monotone_constraints": [1, 0, 0]}, Y),
        ({"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, Y),
        ({"objective": "regression", "min_data_in_leaf": 1000}, Y),  # one leaf
    ],
)
@pytest.mark.parametrize("categories", [False, True])
def test_lightgbm_models_load_with_the_class_they_were_saved_with(
    settings, target, categories, tmp_path
):
    import lightgbm

    rows = WITH_CATEGORIES if categories and "monotone_constraints" not in settings else X
    options = {
        "verbose": -1,
        "num_threads": 1,
        "num_leaves": 5,
        "min_data_in_leaf": 5,
    } | settings
    model: Any = lightgbm.train(options, lightgbm.Dataset(rows, target), num_boost_round=3)
    model.save_model(tmp_path / "model.txt")
    loaded: Any = load_model(tmp_path / "model.txt")
    assert (loaded.kind, loaded.saved_with) == ("lightgbm", "LightGBM, format v4")
    assert loaded.model.predict(rows).tolist() == model.predict(rows).tolist()
    assert pu.translate(loaded.model) == pu.translate(model)


def test_sizes_and_settings_are_removed_before_lightgbm_loads_a_file():
    text, version = checked_text(real_file("lightgbm").decode().replace("\n", "\r\n"))
    assert version == "v4"
    assert "tree_sizes" not in text
    assert "machine_list" not in text
    assert "[categorical_feature: 1]" in text


# Pickles


def pickles() -> dict[str, bytes]:
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    return {
        **{f"protocol-{n}": pickle.dumps(model, protocol=n) for n in range(6)},
        "gzip": gzip.compress(pickle.dumps(model)),
    }


@pytest.mark.parametrize("name", [f"protocol-{n}" for n in range(6)] + ["gzip"])
def test_a_pickle_is_refused_unless_it_is_trusted(name, tmp_path):
    path = written(tmp_path, pickles()[name], "model.pkl")
    with pytest.raises(FileError, match=r"runs whatever code.*skops.*trust-pickle"):
        load_model(path)
    loaded: Any = load_model(path, trust_pickle=True)
    assert loaded.kind == "pickle"
    assert loaded.saved_with == f"scikit-learn {import_module('sklearn').__version__}"
    assert set(loaded.model.predict(X)) == {0, 1}


@pytest.mark.parametrize("compress", [0, ("zlib", 3), ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_joblib_files_are_pickles(compress, tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump(DecisionTreeClassifier(max_depth=2).fit(X, Y), path, compress=compress)
    with pytest.raises(FileError, match="a pickle"):
        load_model(path)
    assert isinstance(load_model(path, trust_pickle=True).model, DecisionTreeClassifier)


class Touch:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_recognizing_a_pickle_runs_nothing(protocol, tmp_path):
    mark = tmp_path / "was-here"
    path = written(tmp_path, pickle.dumps(Touch(mark), protocol=protocol))
    with pytest.raises(FileError):
        load_model(path)
    assert not mark.exists()
    load_model(path, trust_pickle=True)
    assert mark.exists()


def test_a_trusted_pickle_that_cannot_be_read_is_a_file_error(tmp_path):
    path = written(tmp_path, pickle.dumps(X)[:-20])
    with pytest.raises(FileError, match="cannot be loaded"):
        load_model(path, trust_pickle=True)


# Versions


def of_version(data: bytes, version: str) -> bytes:
    description, members = hostile_models.unzipped(data)
    here = import_module("sklearn").__version__
    text = json.dumps(description).replace(json.dumps(f'"{here}"'), json.dumps(f'"{version}"'))
    return hostile_models.zipped(json.loads(text), members)


def test_another_version_of_scikit_learn_is_named_and_does_not_warn(tmp_path):
    here = import_module("sklearn").__version__
    changed = of_version(real_file("tree"), "1.4.2")
    loaded = load_model(written(tmp_path, changed))
    assert loaded.saved_with == f"scikit-learn 1.4.2 (read with scikit-learn {here})"


def test_both_versions_are_named_if_it_cannot_be_loaded(tmp_path):
    here = import_module("sklearn").__version__
    description, members = hostile_models.unzipped(of_version(real_file("tree"), "1.4.2"))
    fields = hostile_models.fields(description, "DecisionTreeClassifier")
    empty = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    fields["random_state"] = {
        "__class__": "Log",
        "__module__": "sklearn.linear_model._sgd_fast",  # of scikit-learn before 1.6
        "__loader__": "LossNode",
        "__reduce__": {"args": {**empty, "content": []}},
        "content": {**empty, "content": []},
    }
    with pytest.raises(FileError, match=rf"1\.4\.2.*{here}"):
        load_model(written(tmp_path, hostile_models.zipped(description, members)))


def test_a_pickle_of_another_version_of_scikit_learn_is_named(tmp_path):
    here = import_module("sklearn").__version__
    data = pickle.dumps(DecisionTreeClassifier(max_depth=2).fit(X, Y), protocol=0)
    changed = data.replace(here.encode(), b"1.4.2")
    loaded = load_model(written(tmp_path, changed), trust_pickle=True)
    assert loaded.saved_with == f"scikit-learn 1.4.2 (read with scikit-learn {here})"


# The list of types


def resolved(name: str) -> Any:
    module, kind = name.rsplit(".", 1)
    return getattr(import_module(module), kind, None)


def test_every_allowed_name_belongs_to_a_known_library():
    own = {name for name in TRUSTED if name.startswith("proxyuse.")}
    estimators = ("ProgramClassifier", "ProgramRegressor")
    assert own == {f"proxyuse.models.program_estimator.{name}" for name in estimators}
    roots = {name.split(".", 1)[0] for name in set(TRUSTED) - own}
    assert roots == {"builtins", "collections", "functools", "numpy", "sklearn"}
    forbidden = {"builtins.eval", "builtins.exec", "builtins.getattr", "builtins.map"}
    assert not forbidden & set(TRUSTED)


def test_no_allowed_class_has_an_unreviewed_constructor():
    """If this fails, read the new ``__setstate__`` or ``__reduce__`` before adding it here."""
    known = {"BaseEstimator", "IsotonicRegression", "TreePredictor", "object"}
    known |= {"PassiveAggressiveClassifier", "PassiveAggressiveRegressor"}  # warn: deprecated
    for name in sorted(CLASSES):
        kind = resolved(name)
        if kind is None:  # of another version of scikit-learn
            continue
        for method in ("__setstate__", "__reduce__", "__reduce_ex__", "__new__", "__del__"):
            owner = next((base for base in kind.__mro__ if method in vars(base)), object)
            compiled = owner.__module__.startswith("sklearn._loss")
            assert owner.__name__ in known or compiled, (name, method)


def test_allowed_functions_only_compute_scores():
    for name in ALLOWED["FunctionNode"]:
        assert name.split(".")[1] in ("feature_selection", "metrics", "utils"), name


def test_the_error_names_what_is_not_allowed(tmp_path):
    model = make_pipeline(FunctionTransformer(os.path.basename), DecisionTreeClassifier())
    with pytest.raises(FileError, match=r"not on the list of safe types: posixpath\.basename"):
        load_model(written(tmp_path, skops.io.dumps(model)))


def test_random_generators_are_dropped(tmp_path):
    forest = RandomForestClassifier(2, random_state=np.random.RandomState(3)).fit(X, Y)
    loaded: Any = load_model(written(tmp_path, skops.io.dumps(forest))).model
    assert loaded.random_state is None
    assert loaded.predict(X).tolist() == forest.predict(X).tolist()


def test_a_skops_file_without_a_model_is_refused(tmp_path):
    with pytest.raises(FileError, match="not a model"):
        load_model(written(tmp_path, skops.io.dumps({"a": [1, 2]})))


# What is not there


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("tree", "skops.io", r"proxyuse\[files,sklearn\]"),
        ("tree", "sklearn", r"proxyuse\[files,sklearn\]"),
        ("xgboost-json", "xgboost", r"proxyuse\[xgboost\]"),
        ("lightgbm", "lightgbm", r"proxyuse\[lightgbm\]"),
    ],
)
def test_a_library_that_is_not_installed_is_named(name, module, extra, tmp_path, monkeypatch):
    path = written(tmp_path, real_file(name))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FileError, match=f"not installed: pip install '{extra}'"):
        load_model(path)


def test_no_model_library_is_imported_before_it_is_needed():
    code = (
        "import sys, proxyuse.models.files; names = {m.split('.')[0] for m in sys.modules}; "
        "sys.exit(bool(names & {'sklearn', 'skops', 'xgboost', 'lightgbm', 'joblib', 'pandas'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        load_model(tmp_path / "none.skops")
    with pytest.raises(FileError, match="is a folder"):
        load_model(tmp_path)
    with pytest.raises(FileError, match="is empty"):
        load_model(written(tmp_path, b""))
    with pytest.raises(FileError, match="cannot be read"):
        load_model("a\0b")
    with pytest.raises(FileError, match="not a regular file"):
        load_model("/dev/null")
    with pytest.raises(FileError):
        load_model(tmp_path / ("long" * 1000))


def test_the_message_mentions_a_misleading_extension(tmp_path):
    with pytest.raises(FileError, match=r"read as a program despite its name 'model\.skops'"):
        load_model(written(tmp_path, b"no program", "model.skops"))


# Malicious files, loaded in a separate process, which they could crash


def run(folder: Path) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile_models", str(folder)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    for name, data in hostile_models.hostile().items():
        written(folder, data, name)
    for name in REAL:
        written(folder, real_file(name), f"real-{name}")
        for seed in range(DAMAGES):
            damaged = hostile_models.damaged(real_file(name), seed)
            written(folder, damaged, f"damaged-{name}-{seed}")
    return run(folder)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name, outcomes):
    assert outcomes[name].startswith("refused: ")
    assert len(outcomes[name]) < 1000


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("skops-child-beyond", "a child of the tree is not a node"),
        ("skops-cycle", "the tree has a cycle"),
        ("skops-own-method", "it overrides 'predict'"),
        ("skops-vectors-kind", "it overrides '_impl'"),
        ("skops-encoded-columns", "it has the wrong number of output columns"),
        ("skops-value-deep", "a value in its schema is not JSON"),
        ("skops-function", "not on the list of safe types: os.system"),
        ("skops-features-fewer", "feature_names_in_: expected 1 names, got an array of shape"),
        ("skops-bomb", "more than the limit `skops_bytes`"),
        ("skops-absolute", "a member with the invalid name '/etc/passwd'"),
        ("xgboost-chain", "more than 2000 nodes deep"),
        ("xgboost-feature-beyond", "outside its 3 features"),
        ("ubj-long-array", "truncated or damaged"),
        ("xgboost-cycle", "the tree has a cycle"),
        ("xgboost-objective", "cannot load it: Unknown objective"),
        ("lightgbm-cycle", "the tree has a cycle"),
        ("lightgbm-round", "num_tree_per_iteration"),
        ("lightgbm-objective-unknown", "the objective 'unheard-of sigmoid:1' is not supported"),
    ],
)
def test_the_message_states_the_reason(name, why, outcomes):
    assert re.search(why, outcomes[name]), outcomes[name]


@pytest.mark.parametrize("name", REAL)
def test_the_original_files_load(name, outcomes):
    assert outcomes[f"real-{name}"].startswith("loaded: ")


def test_a_duplicate_id_does_not_change_what_is_loaded(tmp_path):
    path = written(tmp_path, hostile_models.with_stolen_id(real_file("tree")))
    loaded: Any = load_model(path).model
    assert loaded.tree_.children_left.max() < 100


@pytest.mark.parametrize("name", REAL)
def test_damaged_files_load_or_are_refused(name, outcomes):
    results = {outcomes[f"damaged-{name}-{seed}"].split(":")[0] for seed in range(DAMAGES)}
    assert results == {"loaded", "refused"}


def test_binary_json_is_read_strictly():
    assert read_ubjson(b"[#i\x02Zd\x3f\x80\x00\x00") == [None, 1.0]
    assert read_ubjson(b"[TF]") == [True, False]
    assert read_ubjson(b"[$d#U\x01\x3d\xcc\xcc\xcd") == [0.1]
    for bad in (b"", b"[", b"[$d]", b"Q", b"Si\xff", b"{i\x01aZi\x01aZ}", b"ZZ", b"[$S#i\x01"):
        with pytest.raises(FileError):
            read_ubjson(bad)


def test_a_data_file_is_not_a_model(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,country\n31,Trinidad&Tobago\n")
    with pytest.raises(FileError, match=r"people\.csv is a data file, not a model; pass a model"):
        load_model(path)
