"""Small, real files of every format: what the changed files start from.

They are the same in every run with the same versions of the libraries.
"""

from __future__ import annotations

import decimal
import functools
import gzip
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Seeds = dict[str, bytes]

RNG = np.random.default_rng(5)
ROWS = 40
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(ROWS) + 100,
        "a": RNG.normal(size=ROWS).round(3),
        "b": RNG.normal(size=ROWS).round(3),
        "n": RNG.integers(0, 3, ROWS).astype(float),
        "k": RNG.choice(["u", "v", "w"], ROWS),
        "w": RNG.integers(1, 4, ROWS),
        "z": RNG.choice(["p", "q"], ROWS),
    }
)
PEOPLE.loc[::9, "b"] = np.nan
Y = ((PEOPLE["a"] > 0) ^ (PEOPLE["z"] == "p")).astype(int).to_numpy()
THREE = np.digitize(PEOPLE["a"], [-0.4, 0.4])
NUMERIC = ["a", "n", "w"]
PROGRAM = "ite(a <= 0.5 and k == 'u', 0, ite(a + 2 * fill(b, 0) > 1, 1, 2))"
OPTIONS = ["--threads", "1", "--quiet"]


def _quiet(make: Callable[[], Seeds]) -> Callable[[], Seeds]:
    @functools.cache
    @functools.wraps(make)
    def made() -> Seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()

    return made


# Models


def estimators() -> dict[str, Any]:
    """An estimator for every translator of scikit-learn's models, not yet fitted."""
    from sklearn import ensemble, linear_model, naive_bayes, svm, tree
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.model_selection import (
        FixedThresholdClassifier,
        GridSearchCV,
        TunedThresholdClassifierCV,
    )
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

    from proxyuse.models.program_estimator import ProgramClassifier

    leaf = tree.DecisionTreeClassifier(max_depth=2, random_state=0)
    line = linear_model.LogisticRegression()
    few: dict[str, Any] = {"n_estimators": 2, "max_depth": 2, "random_state": 0}
    pair = [("tree", leaf), ("line", line)]
    numbers = [("tree", tree.DecisionTreeRegressor(max_depth=2)), ("line", linear_model.Ridge())]
    return {
        "tree": leaf,
        "tree-3": tree.DecisionTreeClassifier(max_depth=3, random_state=0),
        "tree-regressor": tree.DecisionTreeRegressor(max_depth=2, random_state=0),
        "forest": ensemble.RandomForestClassifier(**few),
        "forest-regressor": ensemble.ExtraTreesRegressor(**few),
        "boosting-3": ensemble.GradientBoostingClassifier(**few),
        "boosting-regressor": ensemble.GradientBoostingRegressor(**few),
        "histogram": ensemble.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5),
        "histogram-regressor": ensemble.HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=4),
        "logistic": line,
        "logistic-3": linear_model.LogisticRegression(),
        "discriminant-3": LinearDiscriminantAnalysis(),
        "sgd": linear_model.SGDClassifier(loss="modified_huber", random_state=0),
        "ridge-classifier": linear_model.RidgeClassifier(),
        "lasso-regressor": linear_model.LassoCV(cv=2),
        "poisson-regressor": linear_model.PoissonRegressor(),
        "huber-regressor": linear_model.HuberRegressor(),
        "svc-3": svm.SVC(kernel="linear"),
        "svc": svm.SVC(kernel="linear"),
        "svr-regressor": svm.SVR(kernel="linear"),
        "gaussian-3": naive_bayes.GaussianNB(),
        "bernoulli-3": naive_bayes.BernoulliNB(binarize=1),
        "multinomial-counts": naive_bayes.MultinomialNB(),
        "complement-counts": naive_bayes.ComplementNB(),
        "categorical-counts": naive_bayes.CategoricalNB(),
        "bagging": ensemble.BaggingClassifier(leaf, 2, random_state=0),
        "ada": ensemble.AdaBoostClassifier(leaf, n_estimators=2, random_state=0),
        "ada-regressor": ensemble.AdaBoostRegressor(n_estimators=2, random_state=0),
        "voting": ensemble.VotingClassifier(pair, voting="soft", weights=[1, 2]),
        "voting-hard-3": ensemble.VotingClassifier(pair),
        "voting-regressor": ensemble.VotingRegressor(numbers),
        "stacking": ensemble.StackingClassifier(pair, cv=2),
        "stacking-regressor": ensemble.StackingRegressor(numbers, cv=2),
        "grid": GridSearchCV(leaf, {"max_depth": [1, 2]}, cv=2),
        "fixed": FixedThresholdClassifier(leaf, threshold=0.4),
        "tuned": TunedThresholdClassifierCV(leaf, cv=2),
        "sigmoid-3": CalibratedClassifierCV(leaf, cv=2),
        "isotonic": CalibratedClassifierCV(leaf, cv=2, method="isotonic"),
        "rest-3": OneVsRestClassifier(line),
        "pairs-3": OneVsOneClassifier(line),
        "dummy": DummyClassifier(strategy="prior"),
        "dummy-regressor": DummyRegressor(strategy="quantile", quantile=0.3),
        "program": ProgramClassifier("lambda a, n, w . ite(a <= 0.5, 0, 1)", [0, 1]),
    }


def pipelines() -> dict[str, Any]:
    """A pipeline for every translator of scikit-learn's transformers, not yet fitted."""
    from sklearn import feature_selection, impute, linear_model, preprocessing, tree
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline, make_union

    line = linear_model.LogisticRegression()
    leaf = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
    fill = impute.SimpleImputer(add_indicator=True)
    rest = ("passthrough", ["a"])
    one_hot = preprocessing.OneHotEncoder(
        max_categories=2, handle_unknown="infrequent_if_exist", drop="first"
    )

    def columns(encoder: Any, model: Any) -> Any:
        return make_pipeline(make_column_transformer((encoder, ["k"]), (fill, ["b"]), rest), model)

    def numeric(*steps: Any) -> Any:
        return make_pipeline(make_column_transformer((fill, ["b"]), rest), *steps)

    binned = preprocessing.KBinsDiscretizer(3, encode="ordinal")
    return {
        "one-hot": columns(one_hot, line),
        "ordinal": columns(preprocessing.OrdinalEncoder(), leaf),
        "target": columns(preprocessing.TargetEncoder(cv=2, random_state=0), leaf),
        "standard": numeric(preprocessing.StandardScaler(), line),
        "min-max": numeric(preprocessing.MinMaxScaler(), preprocessing.MaxAbsScaler(), leaf),
        "robust": numeric(preprocessing.RobustScaler(), leaf),
        "binned": numeric(binned, leaf),
        "binary": numeric(preprocessing.Binarizer(), line),
        "powers": numeric(preprocessing.PolynomialFeatures(2), line),
        "best": numeric(feature_selection.SelectKBest(k=2), leaf),
        "variance": numeric(feature_selection.VarianceThreshold(), leaf),
        "by-model": numeric(feature_selection.SelectFromModel(leaf), leaf),
        "union": numeric(make_union("passthrough", preprocessing.StandardScaler()), leaf),
    }


@_quiet
def skops_files() -> Seeds:
    """Fitted models of scikit-learn in skops files, by name."""
    import skops.io

    seeds: Seeds = {}
    for name, model in estimators().items():
        target: Any = THREE if name.endswith("-3") else Y
        rows = PEOPLE[NUMERIC]
        if name.endswith("regressor"):
            target = (PEOPLE["a"] + PEOPLE["n"] + 3).to_numpy()
        if name.endswith("counts"):
            rows = PEOPLE[["n", "w"]]
        seeds[name] = skops.io.dumps(model.fit(rows, target))
    for name, model in pipelines().items():
        try:
            seeds[name] = skops.io.dumps(model.fit(PEOPLE[["k", "a", "b"]], Y))
        except ValueError as error:
            raise AssertionError(f"the seed {name!r} cannot be fitted") from error
    return seeds


def _categories() -> pd.DataFrame:
    return PEOPLE[["a", "b", "k"]].assign(k=pd.Categorical(PEOPLE["k"]))


def _xgboost_models() -> dict[str, Any]:
    import xgboost

    few: dict[str, Any] = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}
    numbers = PEOPLE[NUMERIC]
    return {
        "classifier": xgboost.XGBClassifier(**few).fit(numbers, Y),
        "classes": xgboost.XGBClassifier(**few).fit(numbers, THREE),
        "categories": xgboost.XGBClassifier(**few, enable_categorical=True).fit(_categories(), Y),
        "regressor": xgboost.XGBRegressor(**few).fit(numbers, PEOPLE["a"]),
        "linear": xgboost.XGBClassifier(n_estimators=2, n_jobs=1, booster="gblinear").fit(
            numbers, THREE
        ),
        "dart": xgboost.XGBClassifier(**few, booster="dart").fit(numbers, Y),
        "booster": xgboost.train(
            {"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(numbers, Y), 2
        ),
    }


def _xgboost_files(form: str) -> Seeds:
    seeds: Seeds = {}
    for name, model in _xgboost_models().items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"model.{form}")
            model.save_model(path)
            seeds[name] = path.read_bytes()
    return seeds


@_quiet
def xgboost_json() -> Seeds:
    """Models of XGBoost as JSON."""
    return _xgboost_files("json")


@_quiet
def xgboost_ubj() -> Seeds:
    """Models of XGBoost as UBJSON."""
    return _xgboost_files("ubj")


@_quiet
def lightgbm_files() -> Seeds:
    """Models of LightGBM as text."""
    import lightgbm

    settings = {
        "verbose": -1, "num_threads": 1, "num_leaves": 4, "min_data_in_leaf": 5,
        "min_data_per_group": 1, "cat_smooth": 1,
    }  # fmt: skip
    kinds: dict[str, tuple[dict[str, Any], Any, Any]] = {
        "binary": ({"objective": "binary"}, PEOPLE[NUMERIC], Y),
        "categories": ({"objective": "binary"}, _categories(), Y),
        "classes": ({"objective": "multiclass", "num_class": 3}, PEOPLE[NUMERIC], THREE),
        "numbers": ({"objective": "regression"}, PEOPLE[NUMERIC], PEOPLE["a"]),
    }
    return {
        name: lightgbm.train({**settings, **own}, lightgbm.Dataset(rows, target), 2)
        .model_to_string()
        .encode()
        for name, (own, rows, target) in kinds.items()
    }


@_quiet
def programs() -> Seeds:
    """Programs as text."""
    texts = (
        PROGRAM,
        "lambda a, n, w . float32: ite(a <= 0.25, 'no', ite(n in {0, 2}, 'yes', 'no'))",
        "argmax([0.5 * a + n, 1 - w, sigmoid(a)], 'x', 'y', 'z')",
        "ite(not (k in {'u', 'v'} or a > 1e-3), 1, 0)",
        "1.5 * a + -2 * n + w * w + exp(a)",
    )
    return {str(index): text.encode() for index, text in enumerate(texts)}


# Data


@_quiet
def csv_files() -> Seeds:
    """Tables as CSV."""
    plain = PEOPLE.to_csv(index=False)
    return {
        "commas": plain.encode(),
        "semicolons": PEOPLE.to_csv(index=False, sep=";").encode("utf-8-sig"),
        "quotes": PEOPLE.to_csv(index=False, quoting=1, lineterminator="\r\n").encode(),
        "missing": plain.replace(",,", ",?,").encode(),
    }


@_quiet
def gzip_files() -> Seeds:
    """Tables as CSV in gzip."""
    return {name: gzip.compress(data, mtime=0) for name, data in csv_files().items()}


def arrow_columns() -> dict[str, Any]:
    """A column of every type that Arrow has, by the name of its type; with missing values."""
    import pyarrow as pa

    def column(kind: Any, values: list[Any]) -> Any:
        return pa.array([*(values * ROWS)[: ROWS - 1], None], kind)

    moment = 1_700_000_000
    dictionary = pa.dictionary(pa.int8(), pa.string())
    codes = pa.array([0, 1] * (ROWS // 2), pa.int8())

    def coded(values: Any) -> Any:
        return pa.DictionaryArray.from_arrays(codes, values)

    return {
        "bool": column(pa.bool_(), [True, False]),
        "int8": column(pa.int8(), [1, 2, -3]),
        "uint64": column(pa.uint64(), [1, 2**63]),
        "int64": column(pa.int64(), [1, 2**53 + 1]),
        "half": pa.array(np.array([0.5, 1.5] * (ROWS // 2), np.float16)),
        "float": column(pa.float32(), [0.5, float("nan"), float("inf")]),
        "decimal": column(pa.decimal128(10, 2), [decimal.Decimal("1.25"), decimal.Decimal(3)]),
        "decimal256": column(pa.decimal256(60, 2), [decimal.Decimal("1e50"), decimal.Decimal(3)]),
        "string": column(pa.string(), ["u", "v"]),
        "large": column(pa.large_string(), ["u", "v"]),
        "view": column(pa.string_view(), ["u", "v"]),
        "dictionary": pa.array(["u", "v"] * (ROWS // 2)).cast(dictionary),
        "numbers-dictionary": pa.array([1, 2] * (ROWS // 2)).dictionary_encode(),
        "binary": column(pa.binary(), [b"u", b"\xff"]),
        "fixed": column(pa.binary(2), [b"uu", b"vv"]),
        "date": column(pa.date32(), [1, 2]),
        "date64": column(pa.date64(), [0, 86_400_000]),
        "time": column(pa.time64("us"), [1, 2]),
        "timestamp": column(pa.timestamp("s", "UTC"), [moment, moment + 1]),
        "far": column(pa.timestamp("s"), [2**40, -(2**40)]),
        "duration": column(pa.duration("s"), [1, 2]),
        "interval": column(pa.month_day_nano_interval(), [(1, 2, 3)]),
        "list": column(pa.list_(pa.int64()), [[1, 2], []]),
        "large-list": column(pa.large_list(pa.string()), [["u"], ["v"]]),
        "fixed-list": column(pa.list_(pa.float32(), 2), [[1.0, 2.0]]),
        "struct": column(pa.struct([("x", pa.int64()), ("y", pa.string())]), [{"x": 1, "y": "u"}]),
        "map": column(pa.map_(pa.string(), pa.int64()), [[("u", 1)]]),
        "deep": column(pa.list_(pa.struct([("x", pa.list_(pa.int64()))])), [[{"x": [1]}]]),
        "null": pa.nulls(ROWS),
        "coded-lists": coded(pa.array([[1], [2]])),
        "coded-structs": coded(pa.array([{"x": 1}, {"x": 2}])),
        "coded-bytes": coded(pa.array([b"u", b"v"])),
        "coded-times": coded(pa.array([1, 2], pa.timestamp("s"))),
        "coded-decimals": coded(pa.array([decimal.Decimal("0.5"), decimal.Decimal(1)])),
        "coded-twice": coded(pa.array(["u", "u"])),
        "coded-null": coded(pa.array(["u", None])),
        "coded-booleans": coded(pa.array([True, False])),
        "coded-floats": coded(pa.array([0.5, float("nan")])),
        "union": pa.UnionArray.from_sparse(codes, [pa.array([1] * ROWS), pa.array(["u"] * ROWS)]),
        "empty-struct": pa.array([{}] * ROWS, pa.struct([])),
        "list-view": pa.array([[1]] * ROWS, pa.list_view(pa.int64())),
        "uuid": pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([b"0" * 16] * ROWS, pa.binary(16))
        ),
        "runs": pa.RunEndEncodedArray.from_arrays([ROWS // 2, ROWS], ["u", "v"]),
    }


def arrow_file(columns: dict[str, Any], form: str) -> bytes:
    """A table as Parquet, Arrow IPC file or Arrow IPC stream."""
    import pyarrow as pa
    from pyarrow import feather, ipc, parquet

    table = pa.table(columns)
    made = io.BytesIO()
    match form:
        case "parquet":
            parquet.write_table(table, made)
        case "feather":
            feather.write_feather(table, made, compression="lz4")
        case _:
            with ipc.new_stream(made, table.schema) as writer:
                writer.write_table(table)
    return made.getvalue()


def _arrow_seeds(forms: tuple[str, ...]) -> Seeds:
    import pyarrow as pa

    plain: dict[str, Any] = {str(n): pa.array(PEOPLE[n], from_pandas=True) for n in PEOPLE}
    coded = {**plain, "k": plain["k"].dictionary_encode()}
    more = {**plain, "extra": arrow_columns()["deep"], "d": arrow_columns()["decimal"]}
    return {
        f"{name}-{form}": arrow_file(columns, form)
        for form in forms
        for name, columns in (("plain", plain), ("coded", coded), ("more", more))
    }


@_quiet
def parquet_files() -> Seeds:
    """Tables as Parquet."""
    return _arrow_seeds(("parquet",))


@_quiet
def arrow_files() -> Seeds:
    """Tables as Feather files and Arrow streams."""
    return _arrow_seeds(("feather", "stream"))


# Documents


@functools.cache
def audit() -> Any:
    """An audit with several witnesses."""
    import proxyuse as pu

    return pu.audit(
        pu.Program.parse(PROGRAM), PEOPLE, "z", epsilon=0.001, delta=0.01, validity=None, threads=1
    )


@_quiet
def results() -> Seeds:
    """Results of audits as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        _command(folder, "audit", "--validity", "none", "--output", "none.json")
        _command(folder, "audit", "--output", "confirmed.json")
        return {path.stem: path.read_bytes() for path in sorted(Path(folder).glob("*.json"))}


@_quiet
def certificates() -> Seeds:
    """Certificates."""
    with tempfile.TemporaryDirectory() as folder:
        _command(folder, "audit", "--certificate", "plain.json")
        return {path.stem: path.read_bytes() for path in sorted(Path(folder).glob("*.json"))}


def _command(folder: str, *words: str) -> None:
    import contextlib

    from proxyuse.cli.main import main

    program, data = Path(folder, "program.txt"), Path(folder, "people.csv")
    program.write_text(PROGRAM)
    PEOPLE.to_csv(data, index=False)
    inputs = ["--model", str(program), "--data", str(data), "--protected", "z"]
    outputs = [str(Path(folder, w)) if w.endswith(".json") else w for w in words]
    thresholds = ["--epsilon", "0.001", "--delta", "0.01"]
    with contextlib.redirect_stdout(io.StringIO()):
        if main([*outputs, *inputs, *thresholds, *OPTIONS]) == 2:
            raise AssertionError("a seed cannot be made")


@_quiet
def policies() -> Seeds:
    """Policies as YAML."""
    from proxyuse.judge.policy import __doc__ as page

    assert page is not None
    example = page.split('"""')[1].replace("\n... ", "\n").replace("\n...", "\n").strip() + "\n"
    short = (
        "version: 1\nrules:\n  - {name: all, decision: deny, reason: Nobody has looked at it.}\n"
    )
    hostile = "version: 1\nrules: !!python/object/apply:os.system ['id']\n"
    anchors = "version: 1\nrules: &r [{name: a, decision: deny, reason: x}, *r]\n"
    texts = {"example": example, "short": short, "hostile": hostile, "anchors": anchors}
    return {name: text.encode() for name, text in texts.items()}


@_quiet
def projects() -> Seeds:
    """Project files, which name the files beside them."""
    from proxyuse.project import __doc__ as page

    assert page is not None
    top = 'model = "program.txt"\ndata = "people.csv"\nprotected = ["z"]\nthreads = 1\n'
    example = page.split('"""')[1].replace("\n... ", "\n").replace("\n...", "\n").split("\n", 4)[4]
    return {
        "short": f"{top}epsilon = 0.01\ndelta = 0.01\n\n[validity]\nmethods = 'none'\n".encode(),
        "output": f'{top}[output]\njson = "made.json"\nmarkdown = "made.md"\n'.encode(),
        "example": (top.replace('threads = 1\n', '') + example).encode(),
    }  # fmt: skip


@_quiet
def judgments() -> Seeds:
    """Files of recorded judgments."""
    from proxyuse.judge.records import Records

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "judgments.jsonl")
        records = Records.open(path)
        for number, witness in enumerate(audit().witnesses[:4]):
            records.add(witness, appropriate=number % 2 == 0, reason="it is needed", by="Ada")
        return {"four": path.read_bytes(), "one": path.read_bytes().split(b"\n")[0] + b"\n"}


# Words


@_quiet
def expressions() -> Seeds:
    """Conditions on rows and expressions that derive attributes."""
    texts = (
        "a > 0 and k == 'u'", "n in {0, 1}", "over: a + b > 0.5", "k", "b <= 0 or not (k in {'u'})",
        "ite(a > 0, k, 'none')", "fill(b, 0) * 2", "x: k == 'v'",
    )  # fmt: skip
    return {str(index): text.encode() for index, text in enumerate(texts)}


@_quiet
def options() -> Seeds:
    """Command-line options, one per line."""
    lines = (
        "--epsilon\n0.01\n--delta\n0.01",
        "--epsilon\n50%\n--association\nnormalized-mutual-information",
        "--influence\nmoved:0.5\n--measure\nall",
        "--sampling\nalpha=0.1,beta=0.1\n--seed\n3",
        "--budget\nsubsets=10,occurrences=4",
        "--weights\nw\n--clusters\nid\n--alpha\n0.1",
        "--validity\npermutation\n--permutations\n10\n--correction\nholm",
        "--validity\ncross-validation\n--splits\n3\n--validation-share\n0.3",
        "--max-support\n20\n--bins\n4\n--min-cell\n3\n--validity\nnone",
        "--output\nmade.json\n--csv\nmade.csv\n--report\nmade.html\n--sarif\nmade.sarif",
        "--where\na > 0\n--missing-protected\ncategory\n--time-limit\n5",
    )
    return {str(index): line.encode() for index, line in enumerate(lines)}
