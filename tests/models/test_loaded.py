"""Damage in a model file is reported as such; a fault of a translator stays a fault."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import proxyuse as pu
from proxyuse.errors import CorruptFile, FileError, TranslationError
from proxyuse.models.audited_model import audited_model
from proxyuse.models.checks import call_model
from proxyuse.models.files import load_model
from proxyuse.models.loaded import damage_reported, file_of
from tests.hostile_models import X, Y, real_file, with_field


def saved(model: Any, folder: Path, *edits: Any) -> Path:
    data = skops.io.dumps(model)
    for edit in edits:
        data = edit(data)
    path = folder / "model.skops"
    path.write_bytes(data)
    return path


def test_damage_names_the_file_the_part_and_the_error(tmp_path):
    model = make_pipeline(BernoulliNB()).fit(X, Y)
    path = saved(model, tmp_path, with_field("BernoulliNB", "binarize", "high"))
    loaded = load_model(path).model
    with pytest.raises(
        CorruptFile, match=r"model\.skops is damaged: its BernoulliNB \(step"
    ) as error:
        pu.translate(loaded)
    assert "step 'bernoullinb'" in str(error.value)
    assert "naive_bayes.py:" in str(error.value)
    assert isinstance(error.value.__cause__, ValueError)


def test_an_audit_reports_the_same_damage(tmp_path):
    path = saved(BernoulliNB().fit(X, Y), tmp_path, with_field("BernoulliNB", "binarize", "high"))
    with pytest.raises(FileError, match="is damaged: its BernoulliNB"):
        pu.audit(load_model(path).model, X, {"z": Y})


def test_the_same_fault_in_memory_is_not_hidden():
    model = BernoulliNB().fit(X, Y)
    model.binarize = "high"
    assert file_of(model) == ""
    with pytest.raises(ValueError, match="could not convert"):
        pu.translate(model)


def test_a_part_of_a_loaded_model_comes_from_memory(tmp_path):
    loaded: Any = load_model(saved(make_pipeline(BernoulliNB()).fit(X, Y), tmp_path)).model
    assert file_of(loaded).endswith("model.skops")
    assert file_of(loaded[-1]) == ""


def test_a_model_that_is_not_supported_is_not_called_damaged(tmp_path):
    loaded = load_model(saved(SVC(kernel="rbf").fit(X, Y), tmp_path)).model
    with pytest.raises(TranslationError, match="only kernel='linear'"):
        pu.translate(loaded)


@pytest.mark.parametrize(
    "error",
    [
        ImportError,
        OSError,
        AssertionError,
        NotImplementedError,
        KeyboardInterrupt,
        TranslationError,
    ],
)
def test_what_is_not_damage_is_not_caught(error):
    with pytest.raises(error), damage_reported("model.skops", X):
        raise error("as it is")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "not enough memory to translate its DataFrame"),
        (RecursionError(), "its DataFrame is nested too deeply"),
        (ZeroDivisionError("by zero"), "its DataFrame is inconsistent .ZeroDivisionError: by zero"),
        (KeyError("a\x1b[31m\n"), "KeyError"),
    ],
)
def test_the_message_says_what_kind_of_damage_it_is(error, message):
    with pytest.raises(CorruptFile, match=message) as reported, damage_reported("m.skops", X):
        raise error
    assert "\n" not in str(reported.value)
    assert str(reported.value).startswith("m.skops")


def test_a_program_that_differs_from_a_loaded_model_may_come_from_a_damaged_file(tmp_path):
    model = LogisticRegression().fit(X, Y)
    subject = audited_model(load_model(saved(model, tmp_path)).model, X, {"z"}, None, opaque=False)
    program = pu.Program.parse("lambda a, k, b . 2")
    frame: Any = pu.program.Frame([])
    wrong = type(subject)(program, subject.expected, name="L", file=subject.file)
    with pytest.raises(TranslationError, match=r"model\.skops may be damaged, so save"):
        wrong.check(lambda: np.full(len(X), 2.0), frame, None)


class ManyJobs:
    def predict(self, rows):
        jobs = [joblib.delayed(lambda: (os.getpid(), threading.get_ident()))()] * len(rows)
        return joblib.Parallel(n_jobs=5_000)(jobs)


def test_a_model_cannot_start_processes_or_thousands_of_threads():
    workers = call_model(ManyJobs(), "predict", range(300))
    assert {*workers[:, 0].tolist()} == {os.getpid()}
    assert len({*workers[:, 1].tolist()}) <= joblib.cpu_count()


def test_predictions_of_another_shape_are_refused(tmp_path):
    model = DummyClassifier(strategy="prior").fit(X, Y)
    sparse = with_field("DummyClassifier", "sparse_output_", "False")  # a text, which is true
    loaded = load_model(saved(model, tmp_path, sparse)).model
    with pytest.raises(TranslationError, match="expected one prediction per row"):
        pu.audit(loaded, X, {"z": Y})


def test_models_of_other_libraries_are_guarded_too(tmp_path):
    for name in ("xgboost-json", "xgboost-ubj", "lightgbm"):
        path = tmp_path / name
        path.write_bytes(real_file(name))
        assert file_of(load_model(path).model) == str(path)
