"""The project file is found, read and checked."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest

import proxyuse.project
from proxyuse.errors import FileError
from proxyuse.project import Project, find_project, read_project
from proxyuse.project_settings import Output, ProjectOptions, ValidityTable
from proxyuse.settings import Budget
from tests.command_line import run
from tests.io.test_data_files import somebody_else


def own(folder, text, name="proxyuse.toml"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
    return path


def shared(folder, text):
    return own(folder, text, "pyproject.toml")


def refused(path):
    with pytest.raises(FileError) as caught:
        read_project(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def example():
    doc = proxyuse.project.__doc__ or ""
    lines = doc.split('EXAMPLE = """\n')[1].split('... """')[0].splitlines()
    return "\n".join(line[4:] for line in lines)


# What is read


def test_the_example_has_every_key(tmp_path):
    project = read_project(own(tmp_path, example()))
    assert project == Project(
        path=tmp_path / "proxyuse.toml",
        options=ProjectOptions(
            model=tmp_path / "models/credit.skops",
            data=tmp_path / "data/applicants.parquet",
            protected=("marital_status", "religion", "over60: age > 60"),
            target="granted",
            weights="sampling_weight",
            clusters="household",
            where="age >= 18 and country == 'SE'",
            protected_data=tmp_path / "restricted/people.csv",
            key="person_id",
            epsilon=0.1,
            delta=0.05,
            association="cramers-v",
            min_cell=5,
            missing_protected="drop",
            threads=2,
            time_limit=600,
            budget=Budget(subsets=4096, occurrences=1024),
            policy=tmp_path / "policy.yaml",
            judgments=tmp_path / "judgments.jsonl",
            judgments_head="0a1b...",
            fail_on="possible",
            strict=True,
        ),
        validity=ValidityTable(
            {
                "methods": ("confirm", "permutation", "cross-validation"),
                "alpha": 0.01,
                "rows_are": "held-out",
                "weights_are": "counts",
                "permutations": 10_000,
                "correction": "holm",
                "exact_p_values": True,
                "splits": 20,
                "at_least": 18,
                "validation_share": 0.3,
                "seed": 7,
            }
        ),
        output=Output(
            json=tmp_path / "reports/audit.json",
            csv=tmp_path / "reports/audit.csv",
            markdown=tmp_path / "reports/audit.md",
            report=tmp_path / "reports/audit.html",
            sarif=tmp_path / "reports/audit.sarif",
            junit=tmp_path / "reports/audit.xml",
        ),
        limits={"rows": 200_000_000},
    )


def test_the_project_file_says_where_the_page_goes(tmp_path, monkeypatch, capsys):
    rows = "".join("1,1\n0,0\n" for _ in range(20))
    own(tmp_path, f"vitamins,pregnant\n{rows}".encode(), "people.csv")
    own(tmp_path, "ite(vitamins == 1, 'a', 'b')", "model.program")
    text = "model = 'model.program'\ndata = 'people.csv'\nprotected = 'pregnant'\n"
    own(tmp_path, text + "output.report = 'told/page.html'")
    monkeypatch.chdir(tmp_path)
    printed, _ = run("audit", code=1, capsys=capsys)
    page = tmp_path / "told" / "page.html"
    assert "The model uses a proxy for" in page.read_text("utf-8")
    assert str(page) in printed
    printed, _ = run("audit", "--report", "other.html", code=1, capsys=capsys)
    assert "open the HTML report: other.html" in printed  # the command line goes before the file
    assert (tmp_path / "other.html").read_bytes() == page.read_bytes()


def test_what_is_left_out_is_none(tmp_path):
    path = own(tmp_path, "")
    assert read_project(path) == Project(path)
    assert read_project(str(path)).options.protected is None


def test_pyproject_says_the_same_in_its_own_table(tmp_path):
    text = """
    [project]
    name = "credit"
    [tool.proxyuse]
    protected = "religion"
    epsilon = 1
    [tool.proxyuse.output]
    json = "a.json"
    """
    project = read_project(shared(tmp_path, text))
    assert project.options.protected == ("religion",)
    assert project.options.epsilon == 1.0
    assert type(project.options.epsilon) is float
    assert project.output == Output(json=tmp_path / "a.json")


def test_options_of_methods_are_kept_for_a_command_line_that_requests_them(tmp_path):
    project = read_project(own(tmp_path, "[validity]\nsplits = 5\nalpha = 0.01"))
    assert project.validity == ValidityTable({"splits": 5, "alpha": 0.01})


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    own(tmp_path / "sub", "data = '../rows.csv'\nmodel = '/models/m.json'\n")
    monkeypatch.chdir(tmp_path)
    project = read_project("sub/proxyuse.toml")
    assert project.options.data is not None
    assert os.path.normpath(project.options.data) == str(tmp_path / "rows.csv")
    assert project.options.model == Path("/models/m.json")
    assert project.path == Path("sub/proxyuse.toml")


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfkey = 'a'\n", b"key = 'a'\r\n"])
def test_editors_of_windows_are_welcome(tmp_path, raw):
    assert read_project(own(tmp_path, raw)).options.key == "a"


# Where it is found


def test_the_nearest_file_wins(tmp_path):
    own(tmp_path, "key = 'top'")
    shared(tmp_path / "a/b", "[tool.proxyuse]\nkey = 'middle'")
    (tmp_path / "a/b/c/d").mkdir(parents=True)
    found = {
        name: getattr(find_project(tmp_path / name), "options", ProjectOptions()).key
        for name in (".", "a", "a/b", "a/b/c/d")
    }
    assert found == {".": "top", "a": "top", "a/b": "middle", "a/b/c/d": "middle"}


def test_in_one_folder_our_own_file_goes_first(tmp_path):
    own(tmp_path, "key = 'own'")
    shared(tmp_path, "[tool.proxyuse]\nkey = 'shared'")
    project = find_project(tmp_path)
    assert project is not None
    assert project.options.key == "own"
    assert project.path == tmp_path / "proxyuse.toml"


@pytest.mark.parametrize(
    "text",
    ["[project]\nname = 'x'\n", "[tool.other]\n", "not TOML", "[project]\nname = 'proxyuse'\n"],
)
def test_a_pyproject_of_others_is_passed_over(tmp_path, text):
    own(tmp_path, "key = 'top'")
    shared(tmp_path / "sub", text)
    project = find_project(tmp_path / "sub")
    assert project is not None
    assert project.options.key == "top"


def test_folders_are_not_files(tmp_path):
    own(tmp_path, "key = 'top'")
    (tmp_path / "sub/proxyuse.toml").mkdir(parents=True)
    project = find_project(tmp_path / "sub")
    assert project is not None
    assert project.options.key == "top"


def test_without_a_file_there_is_no_project(tmp_path):
    assert find_project(tmp_path) is None


def test_the_start_may_be_relative(tmp_path, monkeypatch):
    own(tmp_path, "key = 'top'")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    project = find_project(Path("."))
    assert project is not None
    assert project.path == tmp_path / "proxyuse.toml"


def test_a_folder_above_that_anyone_may_write_to_is_passed_over(tmp_path):
    everybodys = tmp_path / "everybodys"
    own(everybodys, "threads = 2")
    everybodys.chmod(0o1777)
    (everybodys / "mine").mkdir()
    assert find_project(everybodys / "mine") is None
    assert find_project(everybodys) is not None


def test_a_found_file_with_an_error_is_not_passed_over(tmp_path):
    own(tmp_path, "key = 'top'")
    own(tmp_path / "sub", "epsilom = 1")
    with pytest.raises(FileError, match="epsilom"):
        find_project(tmp_path / "sub")


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("protectd = 'a'", ": unknown option 'protectd'; did you mean 'protected'?"),
        ("min-cell = 5", ": unknown option 'min-cell'; did you mean 'min_cell'?"),
        ("Epsilon = 5", "did you mean 'epsilon'?"),
        ("tool.proxyuse.key = 'a'", ": unknown option 'tool'"),
        ("zzz = 1", "known options: epsilon, delta, missing_protected"),
        ("output.jsn = 'a'", ": output: unknown option 'jsn'; did you mean 'json'?"),
        ("budget.subset = 1", ": budget: unknown option 'subset'; did you mean 'subsets'?"),
        (
            "output = 'a.json'",
            ": output: expected a table, got 'a.json'; keys: json, csv",
        ),
        ("output.json = 1", ": output: json: expected the path of a file, got 1"),
        ("model = ''", ": model: expected the path of a file, got ''"),
        ('model = "a\\u0000b"', "expected the path"),
        ("data = ['a.csv']", ": data: expected the path of a file, got ['a.csv']"),
        ("protected = []", ": protected: expected a name, or a list of different names, got []"),
        ("protected = ['a', 1]", "or a list of different names"),
        ("protected = ''", "or a list of different names"),
        ("protected = ['a', 'a']", "or a list of different names"),
        ("target = 3", ": target: expected a non-empty string, got 3"),
        ("weights = 3", ": weights: expected a column name, got 3"),
        ("key = true", "expected a non-empty string"),
        ("where = '  '", ": where: expected a non-empty string"),
        (
            "epsilon = 1.5",
            ": epsilon: expected a number between 0 and 1, or a percentage such as '50%', got 1.5",
        ),
        ("epsilon = -0.1", "between 0 and 1"),
        ("epsilon = nan", "between 0 and 1"),
        (
            "epsilon = '0.1'",
            ": epsilon: expected a number between 0 and 1, or a percentage such as '50%', got "
            "'0.1'",
        ),
        ("delta = true", ": delta: expected a number of at least 0, got True"),
        ("delta = inf", "got inf"),
        ("bins = 0", ": bins: expected 'best-cut' or an integer of at least 1 or 'none', got 0"),
        ("budget = 4", ": budget: expected a table, got 4"),
        ("budget.grow = -1", ": budget: grow: expected an integer of at least 0, got -1"),
        ("sampling.alpha = 1", ": sampling: alpha: expected a number above 0 and below 1, got 1"),
        ("influence = 3", ": influence: expected a name, got 3"),
        ("influence = 'moved'", "'moved:X' or 'moved:X%', got 'moved'"),
        ("influence = 'moved:x'", "a percentage after 'moved:', got 'x'"),
        ("min_cell = 0", "an integer of at least 1"),
        ("min_cell = 2.5", "an integer"),
        ("threads = true", "an integer"),
        ("missing_protected = 'keep'", "'refuse', 'drop' or 'category'"),
        ("missing_protected = ['drop']", "'refuse', 'drop' or 'category'"),
        ("association = 'nmi'", "'cramers-v' or 'squared-correlation', got 'nmi'"),
        ("validity = 'confirm'", ": validity: expected a table, got 'confirm'; keys: methods,"),
        ("validity.methods = []", "'permutation', 'cross-validation' or 'none', or a list"),
        ("validity.methods = [['confirm']]", "or a list of different names"),
        ("validity.methods = ['confirm', 'confirm']", "or a list of different names"),
        ("validity.alpha = 0", ": validity: alpha: expected a number above 0 and below 1, got 0"),
        ("validity.alpa = 0.1", "did you mean 'alpha'?"),
        ("validity.correction = 'sidak'", "'benjamini-hochberg' or 'none'"),
        ("validity.permutations = 0", "an integer of at least 1"),
        ("validity.seed = -1", "an integer of at least 0"),
        ("fail_on = 'all'", "fail_on: expected 'confirmed' or 'possible', got 'all'"),
        ("strict = 1", "true or false"),
        ("validity.weights_are = 'rows'", "'sampling' or 'counts'"),
        (
            "validity.methods = 'confirm'\nvalidity.splits = 5",
            ": validity: splits is an option of 'cross-validation'",
        ),
        ("trust_pickle = true", "trust_pickle"),
        ("key = 'a'\nwhere = ", "is not valid TOML"),
        ("key = 'a'\nwhere = \n", "at line 2, column 9"),
        ("key = 'a'\nkey = 'b'\n", "at line 2"),
        (f"threads = {'9' * 5000}", "is not valid TOML"),
        (f"key = {'[' * 100_000}", "nested too deeply"),
        (b"key = '\xe9'", "is not in UTF-8 (byte 7)"),
    ],
)
def test_what_does_not_fit_is_refused_with_file_and_key(tmp_path, text, message):
    assert message in refused(own(tmp_path, text))


def test_a_long_value_is_cut_short(tmp_path):
    assert len(refused(own(tmp_path, f"protected = [{'1, ' * 1000}]"))) < 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.proxyuse]\nepsilon = 2", ": [tool.proxyuse] epsilon: expected a number between"),
        ("[tool.proxyuse.output]\nx = 2", ": [tool.proxyuse] output: unknown option 'x'"),
        (
            "[tool.proxyuse.validity]\nmethods = 'confirm'\nsplits = 2",
            ": [tool.proxyuse] validity: splits is an option of",
        ),
        ("tool = {proxyuse = 3}", "tool.proxyuse is not a table"),
        ("[project]\nname = 'proxyuse'", "has no table [tool.proxyuse]"),
        ("tool = 'proxyuse'", "has no table [tool.proxyuse]"),
        ("[tool.proxyuse\n", "at line 1"),
    ],
)
def test_in_pyproject_the_table_is_named_too(tmp_path, text, message):
    assert message in refused(shared(tmp_path, text))


def test_a_file_that_cannot_be_read_is_said_so(tmp_path):
    assert "does not exist" in refused(tmp_path / "proxyuse.toml")
    assert "is a folder" in refused(tmp_path)
    path = own(tmp_path, "key = 'a'")
    path.chmod(0)
    with somebody_else():
        assert "no permission" in refused(path)


def test_output_folders_are_created(tmp_path, monkeypatch, capsys):
    own(
        tmp_path,
        """\
        model = "models/model.txt"
        data = "people.csv"
        protected = "z"
        min_cell = 1
        fail_on = "possible"
        [output]
        json = "results/today/audit.json"
        sarif = "results/audit.sarif"
        """,
    )
    own(tmp_path / "models", "ite(x <= 1, 0, 1)", "model.txt")
    own(tmp_path, "x,z\n1,0\n2,1\n", "people.csv")
    monkeypatch.chdir(tmp_path)
    run("audit", code=1, capsys=capsys)
    content = json.loads(Path("results/today/audit.json").read_text())
    assert content["about"]["model"]["file"] == "models/model.txt"
    assert '"uri": "models/model.txt"' in Path("results/audit.sarif").read_text()
    _, err = run("audit", "--csv", "nowhere/audit.csv", code=2, capsys=capsys)
    assert "nowhere" in err
