"""``proxyuse sign``, and ``verify`` with a signature and with what the verifier expects."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.command_line import run
from tests.documents import schema


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("content")
    return tmp_path


def test_a_file_is_signed_and_checked(folder, capsys):
    out, _ = run("sign", "--new-key", "ada.pem", code=0, capsys=capsys)
    assert "Created ada.pub.pem." in out
    out, _ = run("sign", "file", "--key", "ada.pem", code=0, capsys=capsys)
    assert "Signed file. Pass on file.sig with it." in out
    words = ("sign", "--check", "file", "--key", "ada.pub.pem")
    out, _ = run(*words, code=0, capsys=capsys)
    assert out.startswith("Valid: file was signed with key")
    Path("file").write_text("Content")
    out, _ = run(*words, code=1, capsys=capsys)
    assert out.startswith("NOT valid: file was changed after it was signed.")
    Path("file.sig").unlink()
    out, _ = run(*words, code=1, capsys=capsys)
    assert "file.sig does not exist" in out


def test_the_output_fits_the_published_schema(folder, capsys):
    commands = (
        (("--new-key", "ada.pem"), 0, "created", None),
        (("file", "--key", "ada.pem"), 0, "signed", None),
        (("--check", "file", "--key", "ada.pub.pem"), 0, "checked", True),
        (("--check", "ada.pem", "--key", "ada.pub.pem"), 1, "checked", False),
    )
    for words, code, action, valid in commands:
        out, _ = run("sign", "--json", *words, code=code, capsys=capsys)
        result = json.loads(out)
        jsonschema.validate(result, schema("sign"))
        assert (result["action"], result["valid"]) == (action, valid)


def test_a_passphrase_comes_from_a_file(folder, capsys):
    Path("secret").write_text("open sesame\nsecond line\n")
    words = ("--passphrase-file", "secret")
    run("sign", "--new-key", "ada.pem", *words, code=0, capsys=capsys)
    _, err = run("sign", "file", "--key", "ada.pem", code=2, capsys=capsys)
    assert "--passphrase-file" in err
    run("sign", "file", "--key", "ada.pem", *words, code=0, capsys=capsys)
    run("sign", "--check", "file", "--key", "ada.pub.pem", code=0, capsys=capsys)
    Path("secret").write_text("\n")
    _, err = run("sign", "file", "--key", "ada.pem", *words, code=2, capsys=capsys)
    assert "first line is empty" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected a file and --key"),
        (("file",), "expected a file and --key"),
        (("file", "--key", "none.pem"), "none.pem does not exist"),
        (("none", "--key", "ada.pem"), "none does not exist"),
        (("file", "--key", "ada.pub.pem"), "not a private key"),
        (("--check", "file", "--key", "ada.pem"), "is a private key"),
        (("--new-key", "ada.pem"), "is not replaced"),
        (("--new-key", "b.pem", "--key", "ada.pem"), "nothing else; remove --key"),
        (("file", "--new-key", "b.pem"), "nothing else; remove file"),
        (("--new-key", "b.pem", "--check"), "not allowed"),
        (("file", "--key", "ada.pem", "--signature", "ada.pub.pem"), "not a signature"),
    ],
)
def test_usage_errors_exit_with_2(words, message, folder, capsys):
    run("sign", "--new-key", "ada.pem", code=0, capsys=capsys)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    _, err = run("sign", *words, code=2, capsys=capsys)
    assert message in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


MODEL = "ite(home == 1, 'A', ite(pay <= 170, 'A', 'B'))"
ROWS = "home,pay,married,race\n" + "1,160,yes,a\n0,160,no,a\n1,180,yes,b\n0,180,no,b\n" * 10


def certified(capsys: pytest.CaptureFixture[str]) -> tuple[str, ...]:
    Path("model.txt").write_text(MODEL)
    Path("people.csv").write_text(ROWS)
    rows = ("--model", "model.txt", "--data", "people.csv")
    words = ("--validity", "none", "--protected", "married", "--certificate", "c.json")
    run("audit", *rows, *words, code=1, capsys=capsys)
    return ("verify", "c.json", *rows)


def test_verify_states_the_claim_and_fails_if_another_is_expected(folder, capsys):
    verify = certified(capsys)
    same = ("--protected", "married", "--epsilon", "0.1", "--delta", "0.05",
                "--decision-threshold", "prediction", "--where", "pay > 0")  # fmt: skip
    out, _ = run(*verify, *same, code=0, capsys=capsys)
    first = out.splitlines()[:3]
    assert first[0].startswith("Verified. A complete search finds 3 violations")
    assert "40 rows, where 'pay > 0'" in first[1]
    for words, both in (
        (("--protected", "race"), ("'married'", "'race'")),
        (("--protected", "married: race == 'a'"), ("'married'", "derived")),
        (("--epsilon", "0.2"), ("0.1", "0.2")),
        (("--delta", "0"), ("0.05", "0.0")),
        (("--decision-threshold", "0.5"), ("the prediction of the model", "at least 0.5")),
        (("--association", "cramers-v"), ("normalized", "Cramer")),
        (("--weights", "pay"), ("none", "'pay'")),
    ):
        out, _ = run(*verify, *words, code=1, capsys=capsys)
        (line,) = [line for line in out.splitlines() if "but you expect" in line]
        certificate, _, expected = line.partition("but you expect")
        assert both[0] in certificate
        assert both[1] in expected
    _, err = run(*verify, "--decision-threshold", "much", code=2, capsys=capsys)
    assert "expected a number or 'prediction'" in err
    _, err = run(*verify, "--accept", "all", code=2, capsys=capsys)
    assert "renamed" in err


def test_verify_requires_a_signature(folder, capsys):
    verify = (*certified(capsys), "--signed-by", "ada.pub.pem")
    _, err = run(*verify, code=2, capsys=capsys)
    assert "ada.pub.pem does not exist" in err
    run("sign", "--new-key", "ada.pem", code=0, capsys=capsys)
    out, _ = run(*verify, code=1, capsys=capsys)
    assert out.startswith("NOT verified (signature).")
    run("sign", "c.json", "--key", "ada.pem", code=0, capsys=capsys)
    out, _ = run(*verify, "--json", code=0, capsys=capsys)
    assert json.loads(out)["claim"]["signed_by"]
