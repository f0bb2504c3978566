"""Only the file that was signed, and only the key that signed it, pass."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.errors import FileError
from proxyuse.signing import (
    NeedsPassphrase,
    check,
    new_key,
    private_key,
    public_key,
    sign,
    signature_path,
)
from proxyuse.verification.verify import verify
from tests.certified import CERTIFICATE, DATA, PROGRAM, all_allowed
from tests.documents import schema


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    new_key(Path("ada.pem"))
    Path("file").write_bytes(b"content")
    return tmp_path


def test_a_signed_file_is_valid(folder):
    path, signature = sign("file", "ada.pem")
    assert path == signature_path("file") == Path("file.sig")
    jsonschema.validate(json.loads(path.read_text()), schema("signature"))
    found = check("file", "ada.pub.pem")
    assert found.valid, found.message
    assert found.key == signature.key
    assert sign("file", "ada.pem")[1] == signature  # a signature is replaced


@pytest.mark.parametrize("content", [b"", b"Content", b"content\n", b"conten"])
def test_a_changed_file_is_not_valid(content, folder):
    sign("file", "ada.pem")
    Path("file").write_bytes(content)
    found = check("file", "ada.pub.pem")
    assert not found.valid
    assert "changed" in found.message


def test_another_key_is_not_valid(folder):
    new_key(Path("eve.pem"))
    sign("file", "eve.pem")
    found = check("file", "ada.pub.pem")
    assert not found.valid
    assert "but you expect key" in found.message
    content = json.loads(Path("file.sig").read_text())
    Path("file.sig").write_text(json.dumps({**content, "key": found.key}))
    found = check("file", "ada.pub.pem")
    assert not found.valid
    assert "forged" in found.message


def test_a_signature_of_another_file_is_not_valid(folder):
    Path("other").write_bytes(b"another")
    sign("other", "ada.pem")
    own, _ = sign("file", "ada.pem")
    assert not check("file", "ada.pub.pem", Path("other.sig")).valid
    one, other = (json.loads(p.read_text()) for p in (own, Path("other.sig")))
    own.write_text(json.dumps({**one, "signature": other["signature"]}))
    assert not check("file", "ada.pub.pem").valid


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"format": "proxyuse signature", "version": 1}', "\x1b[31m", "[" * 70_000,
     '{"format": "proxyuse signature", "version": 2}'],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_a_damaged_signature_is_not_valid(text, folder):
    found = check("file", "ada.pub.pem")
    assert (found.valid, "does not exist" in found.message) == (False, True)
    Path("file.sig").write_text(text)
    assert not check("file", "ada.pub.pem").valid
    with pytest.raises(FileError):
        sign("file", "ada.pem")  # only a signature is replaced
    assert Path("file.sig").read_text() == text


@given(data=st.data())
def test_no_change_of_a_signature_file_is_valid(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("changed")
    new_key(folder / "ada.pem")
    file = folder / "file"
    file.write_bytes(b"content")
    path, _ = sign(file, folder / "ada.pem")
    content = json.loads(path.read_text())
    name = data.draw(st.sampled_from(sorted(content)))
    value = content[name]
    if isinstance(value, int):
        content[name] = value + data.draw(st.integers(1, 9))
    else:
        index = data.draw(st.integers(0, len(value) - 1))
        letter = data.draw(
            st.sampled_from("0123456789abcdefX ").filter(lambda c: c != value[index])
        )
        content[name] = value[:index] + letter + value[index + 1 :]
    path.write_text(json.dumps(content))
    assert not check(file, folder / "ada.pub.pem").valid


# Keys


def test_a_new_key_is_readable_by_its_owner_only_and_replaces_nothing(folder):
    assert Path("ada.pem").stat().st_mode & 0o777 == 0o600
    before = Path("ada.pem").read_bytes()
    for name in ("ada.pem", "ada.pub.pem"):
        with pytest.raises(FileError, match="is not replaced"):
            new_key(Path(name.replace(".pub", "")))
    Path("bob.pub.pem").write_text("mine")
    with pytest.raises(FileError, match=r"bob\.pub\.pem exists"):
        new_key(Path("bob.pem"))
    assert not Path("bob.pem").exists()
    assert Path("ada.pem").read_bytes() == before


def test_a_passphrase_is_needed(folder):
    new_key(Path("eve.pem"), b"secret")
    assert b"ENCRYPTED" in Path("eve.pem").read_bytes()
    with pytest.raises(NeedsPassphrase):
        sign("file", "eve.pem")
    with pytest.raises(FileError, match="passphrase is wrong"):
        sign("file", "eve.pem", b"guess")
    sign("file", "eve.pem", b"secret")
    assert check("file", "eve.pub.pem").valid
    with pytest.raises(FileError, match="has no passphrase"):
        sign("file", "ada.pem", b"secret")


def test_the_signed_message_is_the_documented_one(folder):
    _, signature = sign("file", "ada.pem")
    digest = hashlib.sha256(b"content").digest()
    message = b"proxyuse signature 1\n" + (7).to_bytes(8, "big") + digest
    public_key("ada.pub.pem").verify(bytes.fromhex(signature.signature), message)


def test_what_is_not_such_a_key_is_an_error(folder):
    with pytest.raises(FileError, match="is a private key"):
        public_key("ada.pem")
    for name in ("ada.pub.pem", "file"):
        with pytest.raises(FileError, match="not a private key"):
            private_key(name)
    with pytest.raises(FileError, match="not a public key"):
        public_key("file")
    for other in (ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)):
        pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        Path("other.pem").write_bytes(pem)
        public = other.public_key()
        Path("other.pub.pem").write_bytes(
            public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        with pytest.raises(FileError, match="expected an Ed25519 key"):
            private_key("other.pem")
        with pytest.raises(FileError, match="expected an Ed25519 key"):
            public_key("other.pub.pem")


# Certificates


def test_verification_requires_the_signature(folder):
    CERTIFICATE.save("c.json")
    options: dict[str, Any] = {"oracle": all_allowed, "signed_by": "ada.pub.pem"}
    result = verify("c.json", PROGRAM, DATA, **options)
    assert [check.name for check in result.checks if not check.ok] == ["signature"]
    _, signature = sign("c.json", "ada.pem")
    result = verify("c.json", PROGRAM, DATA, **options)
    assert result.ok
    assert result.document.claim is not None
    assert result.document.claim.signed_by == signature.key
    assert "Stated by the owner of the key" in str(result).splitlines()[2]
    Path("c.json").write_text(Path("c.json").read_text() + "\n")
    assert not verify("c.json", PROGRAM, DATA, **options).ok
    with pytest.raises(pu.DataError, match="pass the path"):
        verify(CERTIFICATE, PROGRAM, DATA, **options)
