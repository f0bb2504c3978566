"""The settings of an audit in a certificate: written, read back and checked.

A certificate can come from a stranger, and `verify` repeats the audit with these settings. So there
are limits to what they can cost.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import msgspec

from proxyuse.errors import DataError
from proxyuse.lang.build import const
from proxyuse.options import Option, from_table, options_of, refuse_unknown
from proxyuse.settings import Decision, Settings

MAX_BUDGET = 1 << 24
MAX_BINS = 1 << 20
MIN_ALPHA, MIN_BETA = 2e-4, 1e-30  # of sampling: about 900 million pairs


def recorded(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON values.

    Examples
    --------
    >>> settings_from(recorded(Settings(bins=8))) == Settings(bins=8)
    True
    """
    values: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=_label)
    return values


def _label(label: Any) -> Any:
    """Return a number or label of NumPy as a JSON value."""
    return int(label) if isinstance(label, numbers.Integral) else const(label).value


def settings_from(table: object) -> Settings:
    """Read the settings of a certificate; raise an error if they are wrong or too costly."""
    try:
        settings = _read(table)
        _check_cost(settings)
    except DataError as error:
        raise DataError(f"settings: {error}") from None
    return settings


def _read(table: object) -> Settings:
    if not isinstance(table, Mapping):
        raise DataError("expected an object")
    names = [option.key for option in options_of(Settings)]
    refuse_unknown(table, names)
    missing = [name for name in names if name not in table]
    if missing:
        raise DataError(f"missing option '{missing[0]}'")
    plain = [o for o in options_of(Settings) if o.name != "decision" and not _is_null(o, table)]
    values = from_table(plain, {option.key: table[option.key] for option in plain})
    nulls: dict[str, Any] = dict.fromkeys(name for name in names if name not in values)
    return Settings(**nulls | values | {"decision": _decision(table["decision"])})


def _is_null(option: Option, table: Mapping[str, Any]) -> bool:
    return bool(option.optional and table[option.key] is None)


def _decision(value: object) -> Decision | None:
    try:
        return msgspec.convert(value, Decision | None)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        raise DataError(f"decision: {error}") from None


def _check_cost(settings: Settings) -> None:
    for name, value in msgspec.structs.asdict(settings.budget).items():
        if value > MAX_BUDGET:
            raise DataError(f"budget: {name}: expected at most {MAX_BUDGET:,}, got {value:,}")
    if settings.bins is not None and settings.bins > MAX_BINS:
        raise DataError(f"bins: expected at most {MAX_BINS:,}, got {settings.bins:,}")
    sampling = settings.sampling
    if sampling is None:
        return
    for name, value, least in (
        ("alpha", sampling.alpha, MIN_ALPHA),
        ("beta", sampling.beta, MIN_BETA),
    ):
        if value < least:
            raise DataError(f"sampling: {name}: expected at least {least:g}, got {value:g}")
