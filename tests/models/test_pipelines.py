"""Programs of pipelines read raw columns and make the same predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.datasets import load_adult
from proxyuse.errors import DataError, TranslationError
from proxyuse.lang.nodes import Compare, Const, Var, postorder
from proxyuse.lang.positions import Position, Site
from proxyuse.models.features import Inputs
from proxyuse.models.registry import translate, translate_part
from proxyuse.program import Origin, Program
from tests.faithful import predicts_the_same
from tests.feature_cases import (
    BINS,
    ENCODERS,
    FILLED,
    HOLES,
    HOT,
    LOST_WORDS,
    MIXED,
    NUMBERS,
    SCALED,
    WORDS,
    Y,
    bins,
    has_the_same_features,
    outputs_of,
    unseen,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Found unknown categories", "ignore:Bins whose", "ignore:Feature .* is constant"
)

# Transformers of transformers

COLUMNS = {
    "names": [("a", SCALED, ["gain", "age"]), ("b", FILLED, ["town", "job"])],
    "positions": [("a", SCALED, [-6, 0]), ("b", HOT, [5])],
    "slices": [("a", "passthrough", slice("gain", "flag")), ("b", FILLED, slice(4, 6))],
    "a mask": [("a", SCALED, [name in ("age", "rate") for name in MIXED]), ("b", "drop", ["job"])],
    "callables": [
        ("a", SCALED, make_column_selector(dtype_include="number")),
        ("b", FILLED, make_column_selector(dtype_exclude="number")),
    ],
    "nothing": [("a", SCALED, []), ("b", "passthrough", ["flag"]), ("c", "drop", ["age"])],
    "a column twice": [("a", SCALED, ["age"]), ("b", SimpleImputer(), ["flag", "age"])],
    "nested": [("a", ColumnTransformer([("b", SCALED, [1]), ("c", FILLED, [2])]), [0, 1, 4])],
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_a_column_transformer_selects_columns(columns):
    has_the_same_features(ColumnTransformer(columns).fit(MIXED), unseen(MIXED))


@pytest.mark.parametrize("remainder", ["drop", "passthrough", MinMaxScaler(), SCALED])
def test_the_remainder_comes_last(remainder):
    columns = [("a", FILLED, ["job", "size", "town"]), ("b", "passthrough", ["rate"])]
    made = ColumnTransformer(columns, remainder=remainder).fit(MIXED)
    has_the_same_features(made, unseen(MIXED))
    shuffled = unseen(MIXED)[[*reversed(MIXED.columns)]].assign(more=1)
    same = ColumnTransformer(columns, remainder=remainder).fit(MIXED[MIXED.columns[::-1]])
    has_the_same_features(same, shuffled.drop(columns="more"))


@pytest.mark.parametrize("weight", [2.5, -0.5, 0.0])
def test_weights_of_transformers(weight):
    columns = [("a", SCALED, ["age", "gain"]), ("b", HOT, ["job"])]
    made = ColumnTransformer(columns, transformer_weights={"a": weight, "b": 3.0}).fit(MIXED)
    has_the_same_features(made, unseen(MIXED))
    union = FeatureUnion(
        [("s", StandardScaler()), ("d", "drop"), ("p", "passthrough"), ("b", bins("ordinal"))],
        transformer_weights={"s": weight, "b": 2.0},
    )
    has_the_same_features(union.fit(NUMBERS), unseen(NUMBERS))
    after = make_pipeline(union, bins("onehot-dense", n_bins=2))
    has_the_same_features(after.fit(NUMBERS), unseen(NUMBERS))
    coded = make_pipeline(union, OneHotEncoder(handle_unknown="ignore"))
    has_the_same_features(coded.fit(NUMBERS[:9]), NUMBERS[:9])


def test_unions_of_sparse_and_dense_features():
    union = make_union(clone(HOT), clone(FILLED))
    pipe = make_pipeline(union, StandardScaler(with_mean=False))
    has_the_same_features(pipe.fit(LOST_WORDS), unseen(LOST_WORDS))


def test_the_identity():
    same = FunctionTransformer().fit(HOLES)
    assert [f.name for f in has_the_same_features(same, HOLES)] == [*HOLES.columns]


def test_arrays_have_numbered_columns():
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3))
    program = predicts_the_same(pipe.fit(NUMBERS.to_numpy(), Y), NUMBERS.to_numpy())
    assert program.inputs == ("x0", "x1", "x2", "x3")
    assert translate(pipe, list("abcd")).inputs == tuple("abcd")


# Models at the end

ADULT = load_adult()
TARGET = ADULT.pop("income")
LOST_ADULT = ADULT.mask(np.random.default_rng(4).random(ADULT.shape) < 0.05)
NUMERIC = [name for name in ADULT if ADULT[name].dtype.kind in "if"]
VERBAL = [name for name in ADULT if name not in NUMERIC]


def usual(model, *, scaler=None, encoder=HOT, strategy="most_frequent"):
    """One-hot words and scaled numbers after imputers, and a model."""
    words = make_pipeline(SimpleImputer(strategy=strategy), encoder)
    numbers = make_pipeline(SimpleImputer(strategy="median"), scaler)
    prep = ColumnTransformer([("words", words, VERBAL), ("numbers", numbers, NUMERIC)])
    return Pipeline([("prep", prep), ("model", model)])


def near_thresholds(program, X, most=150):
    """Rows of X with one number at, and next to, each threshold of the program, in float64."""
    tests = {
        (node.left.name, node.right.value)
        for node in postorder(program.term)
        if isinstance(node, Compare)
        and isinstance(node.left, Var)
        and isinstance(node.right, Const)
        and isinstance(node.right.value, float)
    }
    tables = []
    for i, (name, number) in enumerate(sorted(tests)[:most]):
        single = float(np.float32(number))
        ends = [np.nextafter(n, s) for n in (number, single) for s in (-np.inf, np.inf)]
        rows = pd.concat([X.iloc[[i]]] * 6, ignore_index=True)
        tables.append(rows.astype({name: float}).assign(**{name: [number, single, *ends]}))
    return pd.concat(tables, ignore_index=True) if tables else X[:0]


MODELS = [
    DecisionTreeClassifier(max_leaf_nodes=60, random_state=0),
    RandomForestClassifier(5, max_depth=7, random_state=0),
    ExtraTreesClassifier(3, max_depth=7, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("scaler", [None, StandardScaler(), MinMaxScaler()], ids=str)
def test_trees_on_adult(model, scaler):
    pipe = usual(model, scaler=scaler).fit(LOST_ADULT[:6000], TARGET[:6000])
    rows = LOST_ADULT if isinstance(scaler, StandardScaler) else LOST_ADULT[::5]
    program = predicts_the_same(pipe, rows)
    predicts_the_same(pipe, near_thresholds(program, LOST_ADULT), program)
    predicts_the_same(pipe, unseen(LOST_ADULT[:2000]), program)
    shares = translate_part(pipe, Inputs.raw([*ADULT.columns])).probabilities
    assert shares is not None
    predicted = Program(shares, [*ADULT.columns]).predict(LOST_ADULT[:2000])
    np.testing.assert_allclose(predicted, pipe.predict_proba(LOST_ADULT[:2000]), atol=1e-9)


@pytest.mark.parametrize("encoder", [ENCODERS[4], ENCODERS[8], ENCODERS[11]], ids=str)
def test_trees_of_other_encodings_of_adult(encoder):
    pipe = usual(MODELS[1], encoder=encoder).fit(LOST_ADULT[:6000], TARGET[:6000])
    program = predicts_the_same(pipe, LOST_ADULT[::6])
    predicts_the_same(pipe, unseen(LOST_ADULT[:500]), program)


@pytest.mark.parametrize("binning", BINS[:2], ids=str)
def test_trees_of_bins(binning):
    pipe = make_pipeline(SimpleImputer(), clone(binning), MODELS[1])
    X = LOST_ADULT[["age", "hours_per_week", "education_num"]]
    program = predicts_the_same(pipe.fit(X, TARGET), X)
    predicts_the_same(pipe, near_thresholds(program, X), program)


def test_trees_of_products():
    pipe = make_pipeline(StandardScaler(), PolynomialFeatures(3), MODELS[0])
    X = ADULT[NUMERIC][:4000]
    predicts_the_same(pipe.fit(X, TARGET[:4000]), X)


@pytest.mark.parametrize("model", [DecisionTreeRegressor(max_depth=6), RandomForestRegressor(5)])
def test_regressors(model):
    pipe = usual(model, scaler=RobustScaler())
    predicts_the_same(pipe.fit(LOST_ADULT[:900], ADULT["fnlwgt"][:900]), LOST_ADULT[:9000])


@pytest.mark.parametrize("encoder", [HOT, ENCODERS[8], ENCODERS[11], ENCODERS[5]], ids=str)
@pytest.mark.parametrize("several", [False, True])
def test_linear_models_on_adult(encoder, several):
    y = ADULT["race"] if several else TARGET
    model = LogisticRegression(max_iter=40, tol=0.1)
    pipe = usual(model, scaler=StandardScaler(), encoder=encoder)
    program = predicts_the_same(pipe.fit(LOST_ADULT[:4000], y[:4000]), LOST_ADULT[:20000])
    predicts_the_same(pipe, unseen(LOST_ADULT[:2000]), program)
    shares = translate_part(pipe, Inputs.raw([*ADULT.columns])).probabilities
    assert shares is not None
    predicted = Program(shares, [*ADULT.columns]).predict(LOST_ADULT[:2000])
    np.testing.assert_allclose(predicted, pipe.predict_proba(LOST_ADULT[:2000]), atol=1e-9)


def test_a_linear_model_weighs_raw_columns():
    model = LogisticRegression(max_iter=40, tol=0.1)
    pipe = usual(model, scaler=StandardScaler()).fit(LOST_ADULT[:4000], TARGET[:4000])
    text = str(translate(pipe))
    assert "* fill(age, 37.5)" in text
    assert text.count("table(") == len(VERBAL)


def test_guards_are_tests_of_raw_columns():
    pipe = usual(MODELS[0], strategy="constant").fit(LOST_ADULT[:6000], TARGET[:6000])
    program = translate(pipe).without_missing(frozenset(ADULT.columns))
    guards = {program.text_of(node) for node in postorder(program.term) if node.tag == "compare"}
    assert "marital_status == 'Married-civ-spouse'" in guards
    assert any(guard.startswith("age <= ") and guard.endswith(".5") for guard in guards)
    assert not any("!=" in guard or "float" in guard for guard in guards)
    assert Program.parse(str(program)) == program


def test_every_part_has_its_step_as_origin():
    pipe = usual(MODELS[1], scaler=StandardScaler()).fit(LOST_ADULT[:900], TARGET[:900])
    program = translate(pipe)
    assert program.origin(Position(())) == Origin("model")
    trees = {program.origin(program.points.position(Site(i))) for i in range(program.term.points)}
    assert {origin.tree for origin in trees if origin} == {None, *range(5)}
    assert {origin.step for origin in trees if origin} == {"model"}


def test_a_pipeline_is_audited_on_the_raw_frame():
    frame = LOST_ADULT.assign(relationship=ADULT["relationship"], sex=ADULT["sex"])[:8000]
    inputs = frame.drop(columns=["marital_status"])
    prep = make_column_transformer(
        (FILLED, [name for name in VERBAL if name != "marital_status"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMERIC),
    )
    pipe = make_pipeline(prep, DecisionTreeClassifier(max_leaf_nodes=30, random_state=0))
    pipe.fit(inputs, TARGET[:8000])
    married = ADULT["marital_status"][:8000].str.startswith("Married-c")
    audit = pu.audit(pipe, frame, protected={"married": married}, epsilon=0.1, delta=0.02)
    assert audit.complete
    assert "relationship == 'Husband'" in {witness.term for witness in audit.witnesses}
    by_name = pu.audit(pipe, frame.assign(marital_status=married), protected="marital_status")
    assert {w.id for w in by_name.witnesses} <= {w.id for w in audit.witnesses}


# Steps that do nothing, and what is refused


@pytest.mark.parametrize("nothing", [None, "passthrough", FunctionTransformer()])
def test_passthrough_steps_are_translated(nothing):
    tree = DecisionTreeClassifier(max_depth=4)
    pipe = Pipeline([("a", nothing), ("b", StandardScaler()), ("c", nothing), ("d", tree)])
    assert predicts_the_same(pipe.fit(NUMBERS, Y), NUMBERS).inputs == (*NUMBERS.columns,)
    alone = Pipeline([("a", nothing), ("d", tree)])
    assert "age" in predicts_the_same(alone.fit(NUMBERS, Y), NUMBERS).variables


def test_a_pipeline_in_a_pipeline():
    inner = make_pipeline(StandardScaler(), MODELS[0])
    outer = Pipeline([("fill", SimpleImputer()), ("inner", inner)]).fit(HOLES, Y)
    program = predicts_the_same(outer, HOLES)
    assert program.origin(Position(())) == Origin("inner > decisiontreeclassifier", 0, 0)


def test_a_pipeline_that_is_not_fitted_is_refused():
    with pytest.raises(TranslationError, match="this Pipeline is not fitted; call fit first"):
        translate(make_pipeline(StandardScaler(), MODELS[0]))


@pytest.mark.parametrize("last", [StandardScaler(), "passthrough"])
def test_a_pipeline_without_a_model_is_refused(last):
    pipe = Pipeline([("a", StandardScaler()), ("b", last)]).fit(NUMBERS)
    with pytest.raises(TranslationError, match="the last step 'b' of this Pipeline is not a model"):
        translate(pipe)


OPAQUE = [
    (PCA(2), "sklearn.decomposition._pca.PCA"),
    (PowerTransformer(), "PowerTransformer"),
    (FunctionTransformer(np.log1p), "calls log1p, which cannot be translated"),
]


@pytest.mark.parametrize(("transformer", "named"), OPAQUE, ids=["pca", "power", "function"])
def test_the_error_names_the_unsupported_class_and_its_step(transformer, named):
    prep = ColumnTransformer([("odd", transformer, ["age", "gain"])])
    pipe = Pipeline([("prep", prep), ("tree", MODELS[0])]).fit(NUMBERS, Y)
    with pytest.raises(TranslationError, match="prep > odd") as caught:
        translate(pipe)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("transformer", "names"),
    [
        (PCA(2), ["prep__odd__pca0", "prep__odd__pca1"]),
        (PowerTransformer(), ["prep__odd__age", "prep__odd__gain"]),
        (FunctionTransformer(np.log1p), ["prep__odd__0", "prep__odd__1"]),
    ],
)
def test_opaque_outputs_become_variables(transformer, names):
    prep = ColumnTransformer([("odd", transformer, ["age", "gain"]), ("hot", HOT, ["job"])])
    data = pd.concat([NUMBERS, WORDS], axis=1)
    tree = DecisionTreeClassifier(random_state=0)
    pipe = Pipeline([("prep", prep), ("scale", StandardScaler(with_mean=False)), ("tree", tree)])
    program = translate(pipe.fit(data, Y), opaque=True)
    added = program.inputs[len(data.columns) :]
    assert added == tuple(name for name in program.variables if "__" in name)
    assert {*added} <= {*names}
    assert added
    rows = data.assign(**dict(zip(names, outputs_of(prep, data).T[:2], strict=True)))
    assert program.predict(rows).tolist() == pipe.predict(data).tolist()


def test_an_opaque_step_of_a_pipeline():
    pipe = Pipeline([("f", FunctionTransformer(np.cbrt)), ("tree", MODELS[0])]).fit(NUMBERS, Y)
    program = translate(pipe, opaque=True)
    assert set(program.variables) <= {f"f__{i}" for i in range(4)}
    rows = {f"f__{i}": column for i, column in enumerate(np.cbrt(NUMBERS.to_numpy()).T)}
    assert program.predict(rows).tolist() == pipe.predict(NUMBERS).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("scaler", [None, StandardScaler()], ids=str)
def test_forty_trees_on_every_row_of_adult(scaler):
    forest = RandomForestClassifier(40, max_depth=9, random_state=0)
    pipe = usual(forest, scaler=scaler).fit(LOST_ADULT, TARGET)
    predicts_the_same(pipe, LOST_ADULT)


# Rows passed to models in audits

PROTECTED = {"z": np.arange(len(NUMBERS)) % 2}


@pytest.mark.parametrize(
    "first",
    [
        "passthrough",
        FeatureUnion([("d", "drop"), ("s", StandardScaler())]),
        FeatureUnion([("s", make_pipeline(None, StandardScaler())), ("d", "drop")]),
        make_pipeline("passthrough", FunctionTransformer()),
    ],
)
def test_names_come_from_the_first_part_that_is_not_a_passthrough(first):
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1])], remainder="passthrough")
    pipe = make_pipeline(first, columns, clone(MODELS[0])).fit(NUMBERS, Y)
    assert predicts_the_same(pipe, NUMBERS).inputs == (*NUMBERS.columns,)
    assert pu.audit(pipe, NUMBERS, PROTECTED).complete


def test_columns_can_be_selected_by_name_after_a_passthrough():
    columns = ColumnTransformer([("a", StandardScaler(), ["age", "gain"])])
    pipe = make_pipeline("passthrough", columns, clone(MODELS[0])).fit(NUMBERS, Y)
    assert pu.audit(pipe, NUMBERS[NUMBERS.columns[::-1]].assign(more=1), PROTECTED).complete


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (HOLES, "Input X contains NaN"),
        (NUMBERS.replace(NUMBERS["age"][0], np.inf), "contains infinity"),
        (NUMBERS.assign(age="x"), "could not convert string to float: 'x'"),
    ],
    ids=["missing", "infinite", "words"],
)
def test_the_error_of_a_model_that_rejects_the_rows_is_reported(rows, why):
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(NUMBERS, Y)
    for decision in (None, pu.Threshold(0.3), pu.Positive(1), pu.TopK(3)):
        with pytest.raises(DataError, match=f"the Pipeline cannot predict these rows .*{why}"):
            pu.audit(pipe, rows, PROTECTED, decision=decision)


def test_a_column_of_dates_is_named_with_its_type():
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(NUMBERS, Y)
    rows = NUMBERS.assign(age=pd.Timestamp("2020-01-01"))
    with pytest.raises(DataError, match=r"column 'age': expected numbers, .* convert dates to"):
        pu.audit(pipe, rows, {"z": Y})


def test_the_error_for_an_unsupported_class_is_short():
    pipe = make_pipeline(PCA(2), clone(MODELS[0])).fit(NUMBERS, Y)
    with pytest.raises(TranslationError) as caught:
        translate(pipe)
    message = str(caught.value)
    assert message.startswith("cannot translate a sklearn.decomposition._pca.PCA (step 'pca') as a")
    assert "trees, forests, linear models," in message
    assert "proxyuse.models.supported_table()" in message
    assert message.endswith("or pass opaque=True and its outputs as columns")
    assert len(message) < 500


@pytest.mark.parametrize("transformer", [StandardScaler(), ColumnTransformer([("a", HOT, [0])])])
def test_a_transformer_alone_is_refused(transformer):
    with pytest.raises(TranslationError, match="predicts nothing; pass a pipeline"):
        translate(transformer.fit(NUMBERS))
