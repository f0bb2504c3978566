"""Signatures of files: who stands behind a certificate, a judgments file or a result.

A signature is a small JSON file next to the file, with Ed25519 (RFC 8032) from the library
`cryptography`. The signed message is a fixed prefix, the size and the SHA-256 of the file, so a
signature made for something else is never one of these. A signature names its key only by a
fingerprint. It does not say whom the key belongs to; the reader must know that.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from proxyuse.errors import DataError, FileError
from proxyuse.input_limits import SIGNATURE_BYTES
from proxyuse.io.json_files import DocumentFormat, json_text
from proxyuse.io.reading import open_binary, unreadable
from proxyuse.io.typed import InvalidValue, path_text, typed
from proxyuse.io.writing import check_writable, written

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

FORMAT = DocumentFormat(
    noun="a signature",
    marker="proxyuse signature",
    version=1,
    advice="sign the file again",
    limit=SIGNATURE_BYTES,
)
PREFIX = b"proxyuse signature 1\n"
"""Separates these signatures from those of other protocols that use the same key."""
_MAX_KEY = 1 << 16
_BLOCK = 1 << 20

_Digest = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]
_Signed = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{128}$"})]


class Signature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a signature file."""

    format: Literal["proxyuse signature"] = "proxyuse signature"
    version: Literal[1] = 1
    algorithm: Literal["Ed25519"] = "Ed25519"
    key: Annotated[
        _Digest, Meta(description="The fingerprint: SHA-256 of the 32 bytes of the public key.")
    ]
    size: Annotated[int, Meta(ge=0, description="The number of bytes of the file.")]
    sha256: Annotated[_Digest, Meta(description="The SHA-256 of the file.")]
    signature: Annotated[
        _Signed,
        Meta(
            description="The signature of: `proxyuse signature 1` and a line feed, the size as 8 "
            "bytes (big-endian), and the 32 bytes of the SHA-256."
        ),
    ]


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """Whether a file has a valid signature by a key.

    Attributes
    ----------
    valid : whether it does.
    message : the outcome in words.
    key : the fingerprint of the key.
    """

    valid: bool
    message: str
    key: str


def signature_path(path: str | Path) -> Path:
    """Return the default path of the signature of a file.

    Examples
    --------
    >>> signature_path("certificate.json").name
    'certificate.json.sig'
    """
    return Path(f"{os.fspath(path)}.sig")


def sign(
    path: str | Path, key: str | Path, passphrase: bytes | None = None, output: Path | None = None
) -> tuple[Path, Signature]:
    """Sign a file and write the signature next to it; return both.

    Parameters
    ----------
    path : the file.
    key : the private key, a PEM file.
    passphrase : the passphrase of the key, if it has one.
    output : the signature file. An existing file is replaced only if it is a signature.
    """
    target = signature_path(path) if output is None else output
    if target.exists():
        try:
            read_signature(target)
        except FileError:
            raise FileError(
                f"{target} exists and is not a signature, so it is not replaced; remove it"
            ) from None
    check_writable(target)
    private = private_key(key, passphrase)
    size, digest = _digest(path)
    signature = Signature(
        key=fingerprint(private.public_key()),
        size=size,
        sha256=digest.hex(),
        signature=private.sign(_message(size, digest)).hex(),
    )
    return written(target, json_text(msgspec.to_builtins(signature))), signature


def check(path: str | Path, key: str | Path, signature: Path | None = None) -> SignatureCheck:
    """Check the signature of a file.

    Parameters
    ----------
    path : the file.
    key : the public key that must have signed it, a PEM file.
    signature : the signature file; by default the name of the file with ``.sig`` added.

    Raises
    ------
    FileError
        If the file or the key cannot be read. A missing or damaged signature is a failed check.
    """
    public = public_key(key)
    from cryptography.exceptions import InvalidSignature

    own = fingerprint(public)
    size, digest = _digest(path)
    name = Path(path).name
    try:
        known = read_signature(signature_path(path) if signature is None else signature)
    except FileError as error:
        return SignatureCheck(False, f"no valid signature of {name}: {error}", own)
    if known.key != own:
        text = f"{name} was signed with key {known.key[:16]}, but you expect key {own[:16]}"
        return SignatureCheck(False, text, own)
    if (known.size, known.sha256) != (size, digest.hex()):
        return SignatureCheck(False, f"{name} was changed after it was signed", own)
    try:
        public.verify(bytes.fromhex(known.signature), _message(size, digest))
    except (InvalidSignature, ValueError):
        return SignatureCheck(False, f"the signature of {name} is forged or damaged", own)
    return SignatureCheck(True, f"{name} was signed with key {own[:16]}", own)


def read_signature(path: Path) -> Signature:
    """Read a signature file; raise a `FileError` for any other file."""
    content = FORMAT.read(path)
    try:
        return typed(content, Signature, every_key=True)
    except InvalidValue as error:
        where = path_text(error.path, first=0)
        reason = FORMAT.mismatch(f"{where}: {error}" if where else str(error))
        raise FileError(f"{path}: {reason}") from None


# Keys


def new_key(path: Path, passphrase: bytes | None = None) -> tuple[Path, str]:
    """Create a private key and its public key; return the path and fingerprint of the latter.

    Only the owner can read the private key. No file is replaced.

    Parameters
    ----------
    path : the private key, such as ``ada.pem``. The public key is then ``ada.pub.pem``.
    passphrase : encrypts the private key; without it, the file alone can sign.
    """
    _require_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    public_path = path.with_name(f"{path.stem}.pub{path.suffix}")
    for each in (path, public_path):
        if os.path.lexists(each):
            raise FileError(f"{each} exists and is not replaced; choose another name")
        check_writable(each)
    private = ed25519.Ed25519PrivateKey.generate()
    encryption: serialization.KeySerializationEncryption = (
        serialization.BestAvailableEncryption(passphrase)
        if passphrase
        else serialization.NoEncryption()
    )
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    public = private.public_key()
    public_pem = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _create(path, pem, 0o600)
    try:
        _create(public_path, public_pem, 0o644)
    except BaseException:  # Ctrl-C as well; nobody has used the key yet
        path.unlink()
        raise
    return public_path, fingerprint(public)


def private_key(path: str | Path, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Read a private key (PEM, PKCS 8, also one that OpenSSL wrote)."""
    _require_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    raw = _key_file(path)
    if passphrase and b"ENCRYPTED" not in raw:
        raise FileError(f"{path}: the key has no passphrase; do not pass one")
    try:
        key = serialization.load_pem_private_key(raw, passphrase)
    except TypeError:
        raise NeedsPassphrase(
            f"{path}: the key has a passphrase; pass --passphrase-file, or run the command on a "
            "terminal"
        ) from None
    except ValueError:
        reason = "the passphrase is wrong" if passphrase else "not a private key in PEM format"
        raise FileError(f"{path}: {reason}; check the file") from None
    except Exception as error:  # cryptography.exceptions.UnsupportedAlgorithm
        raise FileError(f"{path}: this key cannot be used ({type(error).__name__})") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _other_algorithm(path)
    return key


def public_key(path: str | Path) -> Ed25519PublicKey:
    """Read a public key (PEM)."""
    _require_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    raw = _key_file(path)
    if b"PRIVATE KEY" in raw:
        raise FileError(f"{path} is a private key; pass the public key (.pub.pem)")
    try:
        key = serialization.load_pem_public_key(raw)
    except Exception as error:  # ValueError, UnsupportedAlgorithm
        raise FileError(
            f"{path}: not a public key in PEM format ({type(error).__name__}); check the file"
        ) from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _other_algorithm(path)
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of the 32 bytes of a public key."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


class NeedsPassphrase(FileError):
    """The private key is encrypted and no passphrase was passed."""


def _require_library() -> None:
    try:
        import cryptography.hazmat.primitives.asymmetric.ed25519  # noqa: F401
    except ImportError:
        raise DataError(
            "signatures need cryptography, which is not installed: pip install 'proxyuse[sign]'"
        ) from None


def _other_algorithm(path: str | Path) -> FileError:
    return FileError(f"{path}: expected an Ed25519 key, got another kind; create one for signing")


def _key_file(path: str | Path) -> bytes:
    try:
        with open_binary(Path(path)) as file:
            raw: bytes = file.read(_MAX_KEY + 1)
    except OSError as error:
        raise unreadable(Path(path), error) from None
    if len(raw) > _MAX_KEY:
        raise FileError(f"{path}: too large for a key; check the path")
    return raw


def _digest(path: str | Path) -> tuple[int, bytes]:
    """Return the size and the SHA-256 of a file."""
    hasher, size = hashlib.sha256(), 0
    try:
        with open_binary(Path(path)) as file:
            while block := file.read(_BLOCK):
                hasher.update(block)
                size += len(block)
    except OSError as error:
        raise unreadable(Path(path), error) from None
    return size, hasher.digest()


def _message(size: int, digest: bytes) -> bytes:
    return PREFIX + size.to_bytes(8, "big") + digest


def _create(path: Path, raw: bytes, mode: int) -> None:
    """Create a file that did not exist, with these permissions from the start."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise FileError(f"{path} exists and is not replaced; choose another name") from None
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}; choose another") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
