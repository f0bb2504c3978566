"""``proxyuse sign``: sign a file, check a signature, or create a key."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from proxyuse.cli.printing import print_json, print_text
from proxyuse.errors import FileError
from proxyuse.io.reading import open_binary, unreadable
from proxyuse.signing import NeedsPassphrase, check, new_key, private_key, sign, signature_path

INVALID = 1
_MAX_PASSPHRASE = 1 << 12


class SignResult(Struct, frozen=True, kw_only=True):
    """The output of proxyuse sign --json."""

    action: Literal["signed", "checked", "created"]
    file: Annotated[str | None, Meta(description="The file; null for a new key.")]
    signature: Annotated[str | None, Meta(description="Its signature file; null for a new key.")]
    valid: Annotated[
        bool | None, Meta(description="Whether the signature is valid; null unless checked.")
    ]
    message: str
    key: Annotated[str, Meta(description="The fingerprint of the public key.")]
    public_key: Annotated[str | None, Meta(description="The file of a new public key.")]


def run(options: argparse.Namespace) -> int:
    """Sign, check or create; the exit code is 1 if a signature is not valid."""
    result = _result(options)
    if options.json:
        print_json(result)
    else:
        print_text(f"{result.message}\nfingerprint of the key {result.key}")
    return INVALID if result.valid is False else 0


def _result(options: argparse.Namespace) -> SignResult:
    if options.new_key is not None:
        return _created(options)
    if options.file is None or options.key is None:
        raise FileError("expected a file and --key, or --new-key; see proxyuse sign --help")
    target = options.signature or signature_path(options.file)
    common = {"file": str(options.file), "signature": str(target), "public_key": None}
    if options.check:
        if options.passphrase_file is not None:
            raise FileError("--passphrase-file belongs to a private key; checking needs none")
        found = check(options.file, options.key, target)
        answer = "Valid" if found.valid else "NOT valid"
        message = f"{answer}: {found.message}."
        return SignResult(
            action="checked", valid=found.valid, message=message, key=found.key, **common
        )
    passphrase = _passphrase(options.passphrase_file)
    try:
        private_key(options.key, passphrase)
    except NeedsPassphrase:
        if not sys.stdin.isatty():
            raise
        passphrase = getpass.getpass(f"Passphrase of {options.key}: ").encode()
    path, signature = sign(options.file, options.key, passphrase, target)
    message = f"Signed {options.file}. Pass on {path} with it."
    return SignResult(action="signed", valid=None, message=message, key=signature.key, **common)


def _created(options: argparse.Namespace) -> SignResult:
    other = {"--key": options.key, "--signature": options.signature, options.file: options.file}
    for name, value in other.items():
        if value is not None:
            raise FileError(f"--new-key creates a key and nothing else; remove {name}")
    passphrase = _passphrase(options.passphrase_file)
    public, key = new_key(options.new_key, passphrase)
    secret = "" if passphrase else ", which has no passphrase,"
    return SignResult(
        action="created",
        file=None,
        signature=None,
        valid=None,
        message=f"Created {public}. Give it to those who check your signatures, and tell them the "
        f"fingerprint through another channel. Keep {options.new_key}{secret} to yourself.",
        key=key,
        public_key=str(public),
    )


def _passphrase(path: Path | None) -> bytes | None:
    """Return the first line of a file."""
    if path is None:
        return None
    with open_binary(path) as file:
        try:
            line = file.readline(_MAX_PASSPHRASE).rstrip(b"\r\n")
        except OSError as error:
            raise unreadable(path, error) from None
    if not line:
        raise FileError(f"{path}: the first line is empty; write the passphrase there")
    return bytes(line)
