"""``proxyuse repair``, asked as a user would: what it prints, how it ends, what it leaves."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.judge.records import Records
from proxyuse.models.files import load_model
from tests.command_line import run as command

N = 240
RNG = np.random.default_rng(0)
MARRIED = RNG.random(N) < 0.5
PEOPLE = pd.DataFrame(
    {
        "score": np.where(MARRIED, 60, 30) + RNG.integers(-18, 19, N),
        "hours": RNG.integers(20, 50, N),
        "job": RNG.choice(["clerk", "cook", "smith"], N).astype(object),
        "married": np.where(MARRIED, "yes", "no"),
    }
)
PEOPLE.loc[PEOPLE.index % 11 == 0, "job"] = np.nan
PAID = ((PEOPLE["score"] > 45) & (PEOPLE["hours"] > 30)) | (PEOPLE["job"] == "smith")
PEOPLE["paid"] = PAID.astype(int)
PEOPLE["pay"] = np.where(PAID, "high", "low")
NUMBERS = ["score", "hours"]
PROGRAM = "ite(score > 45, ite(hours > 30, 'high', 'low'), ite(job == 'smith', 'high', 'low'))"
LIMITS = ("--protected", "married", "--epsilon", "0.2")
PUBLISHED = Path(__file__).parents[2] / "docs" / "schema" / "repair.schema.json"
SCHEMA = json.loads(PUBLISHED.read_text())
CONSTANTS = ("--methods", "constants", "--seconds", "none", "--unconfirmed")


def save_tree() -> str:
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(PEOPLE[NUMBERS], PEOPLE["paid"])
    skops.io.dump(tree, "model.skops")
    return "model.skops"


def save_forest() -> str:
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer((words, ["job"]), ("passthrough", NUMBERS))
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    model = make_pipeline(columns, forest).fit(PEOPLE[[*NUMBERS, "job"]], PEOPLE["paid"])
    skops.io.dump(model, "model.skops")
    return "model.skops"


def save_xgboost() -> str:
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)
    model.fit(PEOPLE[NUMBERS], PEOPLE["paid"]).save_model("model.json")
    return "model.json"


def save_lightgbm() -> str:
    import lightgbm

    settings = {"objective": "binary", "num_leaves": 4, "verbose": -1, "num_threads": 1}
    rows = lightgbm.Dataset(PEOPLE[NUMBERS].astype(float), PEOPLE["paid"])
    lightgbm.train(settings, rows, 3).save_model("model.txt")
    return "model.txt"


def save_program() -> str:
    Path("model.txt").write_text(PROGRAM)
    return "model.txt"


def save_vectors() -> str:
    skops.io.dump(SVC(kernel="linear").fit(PEOPLE[NUMBERS], PEOPLE["married"]), "model.skops")
    return "model.skops"


FAMILIES: dict[str, tuple[Callable[[], str], str]] = {
    "tree": (save_tree, "paid"),
    "forest": (save_forest, "paid"),
    "xgboost": (save_xgboost, "paid"),
    "lightgbm": (save_lightgbm, "paid"),
    "program": (save_program, "pay"),
    "vectors": (save_vectors, "married"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Run a command in this process; what it prints, or its message if it fails."""

    def call(*words: object, code: int = 0) -> str:
        out, err = command(*words, code=code, capsys=capsys)
        return err if code == 2 else out

    return call


@pytest.fixture
def repair(run):
    """Repair the model of this folder by constants, whether violations are confirmed or not."""

    def call(model: str, *words: object, code: int = 0) -> str:
        start = ("repair", "--model", model, "--data", "people.csv", *LIMITS, *CONSTANTS)
        return str(run(*start, *words, code=code))

    return call


def files() -> list[str]:
    return sorted(path.name for path in Path.cwd().iterdir())


# What is written


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_written_is_verified_and_audited_without_findings(family, run, repair):
    save, target = FAMILIES[family]
    model = save()
    output = f"repaired{Path(model).suffix}"
    words = ["--certificate", "c.json", "--program", "p.program"]
    if family != "vectors":
        words += ["--target", target]
    printed = repair(model, *words, "--output", output)
    assert printed.startswith("The repair for ")
    rows = ("--data", "people.csv")
    run("audit", "--model", model, *rows, *LIMITS, "--validity", "none", code=1)
    run("audit", "--model", output, *rows, *LIMITS, "--validity", "none")
    assert run("verify", "c.json", "--model", output, *rows).startswith("Verified. ")
    assert run("verify", "c.json", "--program", "p.program", *rows).startswith("Verified. ")
    original, made = load_model(model).model, load_model(output).model
    if family == "vectors":
        assert type(made).__name__ == "ProgramClassifier"
        assert "runs the program (ProgramClassifier), because" in printed
    else:
        assert type(made) is type(original)
    shown = re.search(r"proxyuse verify .*", printed)
    assert shown is not None
    run(*shown[0].split()[1:])


def test_the_answer_says_what_why_and_at_what_cost(repair):
    save_tree()
    printed = repair("model.skops", "--target", "paid", "--output", "r.skops")
    assert "score" in printed
    for part in ("Replacements", "a proxy for married (association ~0.", "not judged", "accuracy ",
                 "predictions changed for ", "nodes of the program remain",
                 "DecisionTreeClassifier", "add --certificate certificate.json"):  # fmt: skip
        assert part in " ".join(printed.split()), part
    assert "\x1b" not in printed


def test_all_that_can_be_written_is(repair):
    save_program()
    names = {"--output": "r.skops", "--certificate": "c.json", "--program": "r.program",
             "--python": "r.py", "--report": "r.md"}  # fmt: skip
    words = [word for pair in names.items() for word in pair]
    repair("model.txt", "--target", "pay", *words)
    assert set(names.values()) <= set(files())
    program = pu.Program.parse(Path("r.program").read_text())
    model: Any = load_model("r.skops").model
    assert model.predict(PEOPLE).tolist() == program.predict(PEOPLE).tolist()
    space: dict[str, Any] = {}
    exec(Path("r.py").read_text(), space)
    first = PEOPLE.iloc[1].to_dict()
    assert space["predict"](first) == program.predict(PEOPLE)[1]
    report = Path("r.md").read_text()
    assert report.startswith("**The repair for ")
    assert "| 1 |" in report
    certified = json.loads(Path("c.json").read_text())["repaired"]
    assert certified["utility"]["name"] == "accuracy"


@pytest.mark.parametrize("report", ["repaired", "nothing"])
def test_json_is_as_its_published_schema_says(report, repair):
    save_program()
    limits = () if report == "repaired" else ("--epsilon", "0.99")
    printed = repair("model.txt", *limits, "--output", "r.txt", "--json", "--certificate", "c.json")
    document = json.loads(printed)
    jsonschema.validate(document, SCHEMA)
    assert document["written"]["certificate_hash"] == pu.Certificate.read("c.json").hash
    assert str(Path.cwd()) not in printed


def test_a_frontier_is_in_the_result_and_in_the_report(repair):
    save_tree()
    words = ("--target", "paid", "--frontier", "epsilon:0.1,0.2,0.4")
    printed = repair("model.skops", *words, "--output", "r.skops", "--report", "r.html")
    assert "What compliance costs" in printed
    assert "0.2 (requested)" in printed
    assert 'id="frontier"' in Path("r.html").read_text()
    document = json.loads(repair("model.skops", *words, "--output", "s.skops", "--json"))
    jsonschema.validate(document, SCHEMA)
    points = document["frontier"]["points"]
    assert [point["epsilon"] for point in points] == [0.1, 0.2, 0.4]
    assert [point["requested"] for point in points] == [False, True, False]
    known = [point["utility"] for point in points]
    assert known == sorted(known)


def test_a_project_file_asks_for_a_frontier(repair):
    save_program()
    Path("proxyuse.toml").write_text('frontier = "delta:0.05,0.2"')
    document = json.loads(repair("model.txt", "--output", "r.txt", "--json"))
    assert [point["delta"] for point in document["frontier"]["points"]] == [0.05, 0.2]
    Path("proxyuse.toml").write_text('frontier = "alpha"')
    printed = repair("model.txt", "--output", "s.txt", code=2)
    assert "proxyuse.toml: frontier: expected 'epsilon', 'delta'" in printed


def test_another_process_loads_and_predicts_the_same(repair):
    save_forest()
    repair("model.skops", "--target", "paid", "--output", "r.skops", "--program", "p.program")
    script = (
        "import pandas, proxyuse as pu\n"
        "people = pandas.read_csv('people.csv')\n"
        "model = pu.load_model('r.skops').model\n"
        "program = pu.load_model('p.program').model\n"
        "same = model.predict(people) == program.predict(people)\n"
        "assert same.all() and len(same) == 240\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=dict(os.environ))


def test_a_kind_that_cannot_hold_the_program_gets_another_ending(run, repair):
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=3, booster="gblinear", n_jobs=1)
    model.fit(PEOPLE[NUMBERS], MARRIED.astype(int)).save_model("model.json")
    Path("r.skops").touch()
    assert "r.skops already exists" in repair("model.json", "--output", "r.json", code=2)
    Path("r.skops").unlink()
    printed = repair("model.json", "--output", "r.json", "--certificate", "c.json")
    assert "gblinear" in printed
    assert "r.json" not in files()
    run("verify", "c.json", "--model", "r.skops", "--data", "people.csv")


# What is asked


def test_nothing_to_repair_leaves_the_model_as_it_is(run, repair):
    save_vectors()
    words = ("--epsilon", "0.99", "--output", "r.skops", "--certificate", "c.json")
    printed = repair("model.skops", *words)
    assert printed.startswith("Nothing to repair")
    assert Path("r.skops").read_bytes() == Path("model.skops").read_bytes()
    run("verify", "c.json", "--model", "r.skops", "--data", "people.csv")


def test_what_was_searched_and_not_exhausted_is_said(run, folder):
    married = np.arange(120) % 2
    pd.DataFrame({"x": married, "z": married}).to_csv("same.csv", index=False)
    # Only some of the four together pass the threshold, which no budget is left to find out.
    Path("sum.txt").write_text("ite(3 * x - 3 * x + 2 * x - 2 * x > 4.5, 1, 0)")
    words = ("--model", "sum.txt", "--data", "same.csv", "--protected", "z", "--output", "r.txt")
    printed = run("repair", *words, "--budget", "subsets=0,search=0,grow=0,occurrences=0")
    assert "Combinations of the 4 positions of `x` were searched" in printed
    assert "searched, but not exhaustively: 0 of 10 were measured" in printed


def test_what_may_be_chance_stays_unless_asked_for(run):
    save_program()
    words = ("repair", "--model", "model.txt", "--data", "people.csv", *LIMITS, "--output")
    printed = " ".join(run(*words, "r.txt").split())
    assert printed.startswith("Nothing to repair: no violation for married is confirmed.")
    assert "2 violations that cannot be distinguished from chance are left." in printed
    assert Path("r.txt").read_text() == PROGRAM
    run(*words, "s.txt", "--unconfirmed")
    run(*words, "t.txt", "--validity", "none")
    assert Path("s.txt").read_text() == Path("t.txt").read_text() != PROGRAM


@pytest.mark.parametrize("judged", ["policy", "judgments"])
def test_what_is_judged_appropriate_stays(judged, run, repair):
    save_program()
    if judged == "policy":
        text = "version: 1\nrules:\n  - name: all\n    decision: allow\n    reason: Needed.\n"
        Path("policy").write_text(text)
    else:
        program = pu.Program.parse(PROGRAM)
        for witness in pu.audit(program, PEOPLE, "married", epsilon=0.2).witnesses:
            Records("judgments").add(witness, True, "needed", "Ada")
    words = (f"--{judged}", judged, "--certificate", "c.json", "--output", "r.txt")
    printed = repair("model.txt", *words)
    assert printed.startswith("Nothing to repair")
    assert "judged appropriate" in " ".join(printed.split())
    assert Path("r.txt").read_text() == PROGRAM
    shown = re.search(r"proxyuse verify .*", printed)
    assert shown is not None
    run(*shown[0].split()[1:])


def test_who_judged_inappropriate_is_told(repair):
    save_program()
    program = pu.Program.parse(PROGRAM)
    for witness in pu.audit(program, PEOPLE, "married", epsilon=0.2).witnesses:
        Records("j.jsonl").add(witness, False, "no ground for pay", "Ada")
    printed = repair("model.txt", "--judgments", "j.jsonl", "--output", "r.txt")
    assert "judged inappropriate by" in " ".join(printed.split())
    assert "no ground for pay" in printed


def test_folds_of_all_rows_compare_the_candidates_and_are_always_the_same(run, folder):
    save_tree()
    words = ("--model", "model.skops", "--data", "people.csv", *LIMITS, "--unconfirmed",
             "--target", "paid", "--json", "--force", "--seconds", "none")  # fmt: skip
    several = ("--methods", "constants", "--methods", "drop", "--cv", "3", "--output", "r.skops")
    content, again = (json.loads(run("repair", *words, *several)) for _ in range(2))
    jsonschema.validate(content, SCHEMA)
    for result in (content, again):
        del result["written"]["model"]["sha256"]  # a skops file holds the time
        for candidate in result["candidates"]:
            del candidate["seconds"]
    assert content == again
    assert content["utility"]["folds"] == 3
    assert [content["utility"][rows]["rows"] for rows in ("used", "selection")] == [N, N]
    assert content["rows"] == N
    methods = [candidate["methods"] for candidate in content["candidates"]]
    assert methods[:2] == [[], ["constants"]]
    assert {name for known in methods for name in known} == {"constants", "drop"}
    one = ("--methods", "constants", "--output", "r.skops")
    content = json.loads(run("repair", *words, *one))
    assert content["utility"]["selection"] is content["utility"]["folds"] is None
    assert len(content["candidates"]) == 2


def test_a_file_is_kept_apart(repair):
    save_program()
    kept = PEOPLE.iloc[:50].drop(columns="married")
    kept.to_csv("kept.csv", index=False)
    words = ("--target", "pay", "--where", "hours > 25", "--weights", "hours", "--json")
    printed = repair("model.txt", *words, "--validation", "kept.csv", "--output", "r.txt")
    content = json.loads(printed)
    kept = kept[kept["hours"] > 25]
    right = pu.Program.parse(PROGRAM).predict(kept) == kept["pay"].to_numpy()
    assert content["utility"]["selection"]["rows"] == len(kept)
    assert content["utility"]["selection"]["before"] == round(float(right.mean()), 4)
    after = pu.Program.parse(Path("r.txt").read_text()).predict(kept) == kept["pay"].to_numpy()
    assert content["utility"]["selection"]["after"] == round(float(after.mean()), 4)
    assert content["utility"]["folds"] is None
    assert any("not weighted" in note for note in content["about"]["notes"])


@pytest.mark.parametrize("utility", ["accuracy", "balanced-accuracy", "agreement"])
def test_utilities_have_names(utility, repair):
    save_program()
    words = ("--target", "pay", "--utility", utility, "--output", "r.txt", "--json")
    content = json.loads(repair("model.txt", *words))
    assert content["utility"]["name"] == utility.replace("-", " ")


def test_a_model_without_names_is_given_its_columns_by_place(run, folder):
    rows = PEOPLE[[*NUMBERS, "married", "pay"]]
    rows.to_csv("few.csv", index=False)
    rows.drop(columns="married").to_csv("kept.csv", index=False)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    skops.io.dump(tree.fit(rows[NUMBERS].to_numpy(), rows["pay"]), "model.skops")
    words = ("--model", "model.skops", "--data", "few.csv", *LIMITS, "--target", "pay")
    outputs = ("--output", "r.skops", "--certificate", "c.json", "--validation", "kept.csv")
    run("repair", *words, *CONSTANTS, *outputs)
    run("verify", "c.json", "--model", "r.skops", "--data", "few.csv", "--target", "pay")


@pytest.mark.parametrize("output", ["r.skops", "r.program"])
def test_a_decision_at_another_probability_is_repaired(output, run, repair):
    save_tree()
    decision = ("--decision-threshold", "0.3", "--target", "paid")
    printed = repair("model.skops", *decision, "--output", output, "--certificate", "c.json")
    assert "probability is at least 0.3" in printed
    run("verify", "c.json", "--model", output, "--data", "people.csv")


REFUSED = "--max-loss", "0.01"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_refused_repair_writes_nothing_and_ends_with_1(form, repair):
    save_program()
    before = files()
    names = ("--output", "r.txt", "--certificate", "c.json", "--report", "r.html")
    words = ("--target", "pay", *REFUSED, *names, *(("--json",) if form == "json" else ()))
    printed = repair("model.txt", *words, code=1)
    assert files() == before
    if form == "json":
        document = json.loads(printed)
        jsonschema.validate(document, SCHEMA)
        used = document["utility"]["used"]
        lost = pytest.approx(used["before"] - used["after"], abs=2e-4)
        refusal = document["refusal"]
        assert (refusal["kind"], refusal["utility"], refusal["limit"]) == ("loss", lost, 0.01)
        assert refusal["utility"] > 0.01
        assert document["written"] == {}
    else:
        printed = " ".join(printed.split())
        assert "of accuracy, more than the 0.01 that you accept" in printed
        assert "Nothing was written. To write the model anyway, pass --accept-loss." in printed
        assert "r.txt" not in printed
    repair("model.txt", *words, "--accept-loss")
    assert files() == sorted([*before, "r.txt", "c.json", "r.html"])


def test_a_repair_that_is_no_better_than_a_constant_is_refused(repair):
    Path("model.txt").write_text("ite(score > 45, 'high', 'low')")
    before = files()
    printed = " ".join(repair("model.txt", "--target", "pay", "--output", "r.txt", code=1).split())
    best = PEOPLE["pay"].value_counts(normalize=True).max()
    assert "is not better than always predicting the same: its accuracy is" in printed
    assert f"that of the best constant prediction is {best:.4f}" in printed
    assert files() == before


def test_rows_and_attributes_are_taken_from_where_they_are(run, folder):
    save_program()
    keyed = PEOPLE.assign(id=[f"p{i}" for i in range(N)])
    keyed.loc[keyed.index % 5 == 0, "married"] = None
    keyed[["id", "married"]][::-1].to_csv("restricted.csv", index=False)
    keyed.drop(columns="married").to_csv("people.csv", index=False)
    where = ("--where", "hours >= 22", "--protected-data", "restricted.csv", "--key", "id")
    words = ("--model", "model.txt", "--data", "people.csv", *LIMITS, *where, "--weights", "hours")
    outputs = ("--output", "r.txt", "--certificate", "c.json", "--json", *CONSTANTS)
    drop = ("--missing-protected", "drop", "--target", "pay")
    content = json.loads(run("repair", *words, *drop, *outputs))
    assert content["rows"] == int(((keyed["hours"] >= 22) & keyed["married"].notna()).sum())
    assert content["utility"]["used"]["rows"] == content["rows"]
    run("verify", "c.json", "--model", "r.txt", "--data", "people.csv", *where)


def test_a_project_file_says_the_rest(run, folder):
    save_program()
    Path("proxyuse.toml").write_text(
        'model = "model.txt"\ndata = "people.csv"\nprotected = "married"\ntarget = "pay"\n'
        'epsilon = 0.2\n[output]\njson = "audit.json"\n'
    )
    run("repair", "--output", "r.txt", "--unconfirmed")
    assert Path("r.txt").read_text() != PROGRAM
    assert files() == ["model.txt", "people.csv", "proxyuse.toml", "r.txt"]


def test_a_pickle_is_written_only_if_asked_for(run, repair):
    import lightgbm

    model = lightgbm.LGBMClassifier(n_estimators=3, num_leaves=4, verbose=-1, n_jobs=1)
    model.fit(PEOPLE[NUMBERS].astype(float), PEOPLE["pay"])
    Path("model.pkl").write_bytes(pickle.dumps(model))
    trusted = ("--trust-pickle", "--target", "pay")
    assert "pass --pickle" in repair("model.pkl", *trusted, "--output", "r.pkl", code=2)
    assert "pass --pickle" in repair("model.pkl", *trusted, "--output", "r", code=2)
    assert "is loaded as a Booster" in repair("model.pkl", *trusted, "--output", "r.txt", code=2)
    words = ("--pickle", "--output", "r.joblib", "--certificate", "c.json")
    printed = repair("model.pkl", *trusted, *words)
    assert "(LGBMClassifier)" in printed
    shown = re.search(r"proxyuse verify .*", printed)
    assert shown is not None
    assert "--trust-pickle" in shown[0]
    run(*shown[0].split()[1:])


# Wrong use


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--output", "nowhere/r.txt"), "nowhere"),
        (("--output", "."), "folder"),
        (("--output", "model.txt", "--force"), "would replace"),
        (("--output", "people.csv", "--force"), "would replace"),
        (("--output", "r.txt", "--program", "r.txt"), "another output"),
        (("--output", "r.txt", "--validation", "kept.csv", "--program", "kept.csv", "--force",
          "--target", "pay"), "would replace"),
        (("--output", "old.txt"), "old.txt already exists"),
        (("--output", "r.txt", "--certificate", "old.txt"), "old.txt already exists"),
        (("--output", "r.json"), ".program"),
        (("--output", "r.pkl"), "--pickle"),
        (("--output", "r.txt", "--validation", "none.csv", "--target", "pay"), "none.csv"),
        (("--output", "r.txt", "--validation", "kept.csv"), "--target"),
        (("--output", "r.txt", "--validation", "kept.csv", "--target", "pay"), "'pay'"),
        (("--output", "r.txt", "--validation", "few.csv", "--target", "pay"),
         "few.csv has no column 'hours' (read by"),
        (("--output", "r.txt", "--validation", "two.csv", "--target", "pay"), "--min-cell"),
        (("--output", "r.txt", "--methods", "magic"), "--methods"),
        (("--output", "r.txt", "--cv", "1"), "--cv"),
        (("--output", "r.txt", "--select", "best"), "--select"),
        (("--output", "r.txt", "--max-loss", "-0.1"), "--max-loss"),
        (("--output", "r.txt", "--seconds", "0"), "--seconds"),
        (("--output", "r.txt", "--remove", "all"), "--remove"),
        (("--output", "r.txt", "--frontier", "alpha"),
         "argument --frontier: expected 'epsilon', 'delta'"),
        (("--output", "r.txt", "--frontier", "epsilon:0.2,2"), "argument --frontier: epsilon:"),
        (("--output", "r.txt", "--frontier", "epsilon:0.1,0.3"),
         "do not include the requested epsilon, 0.2; add it"),
        (("--output", "r.txt", "--utility", "accuracy"), "--target"),
        (("--output", "r.txt", "--utility", "beauty"), "invalid choice"),
        (("--output", "r.txt", "--target", "hours"), "y contains numbers"),
        (("--output", "r.txt", "--target", "married"), "both the target and a protected"),
        (("--output", "r.txt", "--epsilon", "2"), "--epsilon"),
        ((), "--output"),
    ],
)  # fmt: skip
def test_wrong_use_ends_with_2_and_leaves_nothing(words, message, repair):
    save_program()
    Path("old.txt").write_text("old")
    PEOPLE[["score", "hours", "job"]].to_csv("kept.csv", index=False)
    PEOPLE[["score", "job", "pay"]].to_csv("few.csv", index=False)
    PEOPLE[["score", "hours", "job", "pay"]].head(2).to_csv("two.csv", index=False)
    before = {name: Path(name).read_bytes() for name in files()}
    assert message in repair("model.txt", *words, code=2)
    assert {name: Path(name).read_bytes() for name in files()} == before


def test_force_writes_over_what_is_there(repair):
    save_program()
    Path("r.txt").write_text("old")
    repair("model.txt", "--output", "r.txt", "--force")
    assert "ite" in Path("r.txt").read_text()


def test_a_scikit_learn_model_is_no_text(repair):
    save_tree()
    printed = repair("model.skops", "--output", "r.txt", code=2)
    assert "DecisionTreeClassifier" in printed
    assert ".skops" in printed
    repair("model.skops", "--output", "r.program")
    assert load_model("r.program").kind == "program"
