"""The packaged datasets are the published ones, and a user's own extract is read with care."""

from __future__ import annotations

import hashlib
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from proxyuse.datasets import load_adult, load_contraceptive, load_psid, load_student
from proxyuse.datasets.psid import COLUMNS
from proxyuse.errors import DataError

pd = pytest.importorskip("pandas")

ADULT_TRAINING_ROWS = 32_561

DIGESTS = {
    "adult.csv.gz": "f7a97ef60a6fc033d3c21293e263d1f74b2e402187e83291841d85de23348e5d",
    "contraceptive.csv.gz": "89352a888970df8c419e2ecfc60f1fe57cc9ee98eb62421a0c5d263f81e291aa",
    "student-por.csv.gz": "548fed467afb9125ceea208c12eae4dadf34379acd97cfdefa65cd21c40d13d7",
    "student-mat.csv.gz": "8d5310ad54322cb42712524e64c9beb4489d84ac8ec9750604a8024058ab864d",
}

LOADERS = {
    "adult": load_adult,
    "contraceptive": load_contraceptive,
    "student-por": lambda: load_student("por"),
    "student-mat": lambda: load_student("mat"),
}


def text_columns(frame):
    """The columns that are not int64, after checking that they hold text or nothing."""
    names = [name for name in frame if frame[name].dtype != "int64"]
    for name in names:
        assert all(isinstance(value, str) for value in frame[name].dropna().unique())
    return names


@pytest.fixture(scope="module")
def adult():
    return load_adult()


@pytest.fixture
def extract():
    """Two invented families with one more column than is asked for, in another order."""
    frame = pd.DataFrame({name: [1, 2] for name in reversed(COLUMNS)})
    return frame.assign(family=[7, 8], housing=["own", "None"])


@pytest.mark.parametrize("name", DIGESTS)
def test_packaged_file_is_the_one_that_was_checked(name):
    content = files("proxyuse.datasets").joinpath("data", name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == DIGESTS[name]


def test_licence_and_citation_travel_with_the_data():
    text = files("proxyuse.datasets").joinpath("data", "LICENSES.md").read_text("utf-8")
    assert "CC BY 4.0" in text
    for doi in ("10.24432/C5XW20", "10.24432/C59W2D", "10.24432/C5TG7T"):
        assert doi in text
    for name in DIGESTS:
        assert name in text


@pytest.mark.parametrize("name", LOADERS)
def test_each_call_returns_an_independent_frame(name):
    first = LOADERS[name]()
    untouched = first.copy(deep=True)
    first.iloc[:, 0] = first.iloc[::-1, 0].to_numpy()
    first["new"] = 0
    pd.testing.assert_frame_equal(LOADERS[name](), untouched)


@pytest.mark.parametrize("name", LOADERS)
def test_text_has_no_blanks_around_it(name):
    frame = LOADERS[name]()
    for column in text_columns(frame):
        assert all(value == value.strip() != "" for value in frame[column].dropna().unique())


def test_adult_has_uci_columns_of_numbers_and_text(adult):
    assert adult.shape == (48_842, 15)
    assert list(adult) == [
        *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status"),
        *("occupation", "relationship", "race", "sex", "capital_gain", "capital_loss"),
        *("hours_per_week", "native_country", "income"),
    ]
    assert text_columns(adult) == [
        *("workclass", "education", "marital_status", "occupation", "relationship", "race"),
        *("sex", "native_country", "income"),
    ]


def test_adult_starts_with_uci_training_rows_and_ends_with_its_test_rows(adult):
    united_states = "United-States"
    assert adult.iloc[0].tolist() == [
        *(39, "State-gov", 77516, "Bachelors", 13, "Never-married", "Adm-clerical"),
        *("Not-in-family", "White", "Male", 2174, 0, 40, united_states, "<=50K"),
    ]
    assert adult.iloc[ADULT_TRAINING_ROWS - 1].tolist() == [
        *(52, "Self-emp-inc", 287927, "HS-grad", 9, "Married-civ-spouse", "Exec-managerial"),
        *("Wife", "White", "Female", 15024, 0, 40, united_states, ">50K"),
    ]
    assert adult.iloc[ADULT_TRAINING_ROWS].tolist() == [
        *(25, "Private", 226802, "11th", 7, "Never-married", "Machine-op-inspct"),
        *("Own-child", "Black", "Male", 0, 0, 40, united_states, "<=50K"),
    ]


def test_adult_incomes_are_counted_as_by_uci(adult):
    training, test = adult[:ADULT_TRAINING_ROWS], adult[ADULT_TRAINING_ROWS:]
    assert training["income"].value_counts().to_dict() == {"<=50K": 24_720, ">50K": 7_841}
    assert test["income"].value_counts().to_dict() == {"<=50K": 12_435, ">50K": 3_846}


def test_adult_question_marks_are_missing_values(adult):
    training, test = adult[:ADULT_TRAINING_ROWS], adult[ADULT_TRAINING_ROWS:]
    missing = training.isna().sum()
    assert missing[missing > 0].to_dict() == {
        "workclass": 1_836,
        "occupation": 1_843,
        "native_country": 583,
    }
    assert len(training.dropna()) == 30_162
    assert len(test.dropna()) == 15_060
    assert not (adult == "?").any(axis=None)


def test_adult_keeps_uci_category_names(adult):
    assert set(adult["marital_status"]) == {
        *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"),
        *("Never-married", "Separated", "Widowed"),
    }
    assert set(adult["race"]) == {
        *("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
    }
    assert adult.nunique()[["workclass", "education", "occupation", "native_country"]].tolist() == [
        *(8, 16, 14, 41),
    ]
    assert (adult.groupby("education")["education_num"].nunique() == 1).all()


def test_contraceptive_is_complete_and_in_uci_coding():
    women = load_contraceptive()
    assert women.shape == (1_473, 10)
    assert text_columns(women) == []
    assert women.iloc[0].tolist() == [24, 2, 3, 3, 1, 1, 2, 3, 0, 1]
    assert women["method"].value_counts().to_dict() == {1: 629, 3: 511, 2: 333}
    ranges = {name: (women[name].min(), women[name].max()) for name in women}
    assert ranges == {
        "wife_age": (16, 49),
        "wife_education": (1, 4),
        "husband_education": (1, 4),
        "children": (0, 16),
        "wife_religion": (0, 1),
        "wife_working": (0, 1),
        "husband_occupation": (1, 4),
        "living_standard": (1, 4),
        "media_exposure": (0, 1),
        "method": (1, 3),
    }


@pytest.mark.parametrize(("course", "rows", "at_gp"), [("por", 649, 423), ("mat", 395, 349)])
def test_student_is_complete_for_both_courses(course, rows, at_gp):
    pupils = load_student(course)
    assert pupils.shape == (rows, 33)
    assert not pupils.isna().any(axis=None)
    assert text_columns(pupils) == [
        *("school", "sex", "address", "famsize", "Pstatus", "Mjob", "Fjob", "reason"),
        *("guardian", "schoolsup", "famsup", "paid", "activities", "nursery", "higher"),
        *("internet", "romantic"),
    ]
    assert (pupils["school"] == "GP").sum() == at_gp
    assert set(pupils[["G1", "G2", "G3"]].to_numpy().flat) <= set(range(21))


def test_student_starts_with_uci_first_pupil():
    assert load_student("mat").iloc[0][["age", "absences", "G1", "G2", "G3"]].tolist() == [
        *(18, 6, 5, 6, 6),
    ]
    assert load_student("por").iloc[0][["age", "absences", "G1", "G2", "G3"]].tolist() == [
        *(18, 4, 0, 11, 11),
    ]


@pytest.mark.parametrize("course", ["math", "../adult", "", None, ["por"]])
def test_unknown_course_is_refused_with_the_two_names(course):
    with pytest.raises(DataError, match=r'"por".*"mat"'):
        load_student(course)


def test_psid_csv_keeps_the_listed_columns_in_their_order(tmp_path, extract):
    path = tmp_path / "families.csv"
    extract.to_csv(path, index=False)
    families = load_psid(str(path))
    assert tuple(families) == COLUMNS
    assert families["housing"].tolist() == ["own", "None"]
    assert families["age"].tolist() == [1, 2]


def test_psid_csv_has_missing_values_where_cells_are_empty_or_na(tmp_path, extract):
    path = tmp_path / "families.csv"
    extract = extract.astype({"age": "float"})
    extract.loc[0, "age"] = None
    extract.to_csv(path, index=False, na_rep="NA", encoding="utf-8-sig")
    assert load_psid(path)["age"].isna().tolist() == [True, False]


def test_psid_parquet_reads_as_csv_does(tmp_path, extract):
    pytest.importorskip("pyarrow")
    extract.set_index("family").to_parquet(tmp_path / "families.parquet")
    extract.to_csv(tmp_path / "families.csv", index=False)
    pd.testing.assert_frame_equal(
        load_psid(tmp_path / "families.parquet"), load_psid(tmp_path / "families.csv")
    )


def test_psid_names_all_missing_columns(tmp_path, extract):
    path = tmp_path / "families.csv"
    extract.drop(columns=["gender", "age"]).to_csv(path, index=False)
    with pytest.raises(DataError, match="missing columns: age, gender;"):
        load_psid(path)


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.parquet", ".", "file://nowhere.csv"])
def test_psid_says_how_to_get_a_file_that_is_not_there(tmp_path, name):
    with pytest.raises(DataError, match=r"does not exist; register"):
        load_psid(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("binary.csv", b"\x1f\x8b\x08\x00\xff\xfe\x00"),
        ("ragged.csv", b"age,gender\n1,2\n1,2,3\n"),
        ("text.parquet", b"age,gender\n1,2\n"),
        ("empty.parquet", b""),
    ],
)
def test_psid_says_what_to_do_about_an_unreadable_file(tmp_path, name, content):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read as .*; save it"):
        load_psid(path)


def test_psid_refuses_rows_that_would_be_shifted(tmp_path):
    path = tmp_path / "families.csv"
    path.write_text(",".join(COLUMNS) + "\n" + "1," * len(COLUMNS) + "\n")
    with pytest.raises(DataError, match="more cells than the header"):
        load_psid(path)


def test_psid_refuses_a_file_without_rows(tmp_path):
    path = tmp_path / "families.csv"
    path.write_text(",".join(COLUMNS) + "\n")
    with pytest.raises(DataError, match="no rows"):
        load_psid(path)


@pytest.mark.parametrize(
    "load", [*LOADERS.values(), lambda: load_psid(Path("families.csv"))], ids=[*LOADERS, "psid"]
)
def test_without_pandas_the_error_says_what_to_install(monkeypatch, load):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DataError, match=r"pip install 'proxyuse\[datasets\]'"):
        load()
