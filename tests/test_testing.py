"""A test of the user's own fails where a model uses a proxy, and says through what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.saved import as_text

RNG = np.random.default_rng(0)
Z = RNG.integers(0, 2, 200)
DATA = {
    "proxy": Z,
    "other": np.where(RNG.random(200) < 0.9, Z, 1 - Z),
    "x": RNG.integers(0, 5, 200),
}
PROXY = pu.Program.parse("ite(proxy == 1, 'a', 'b')")
OTHER = pu.Program.parse("ite(other == 1, 'a', 'b')")
BOTH = pu.Program.parse("ite(proxy == 1, 'a', ite(other == 1, 'b', 'c'))")
CLEAN = pu.Program.parse("ite(x <= 2, 'a', 'b')")


def test_a_clean_model_passes():
    assert pu.assert_no_proxy_use(CLEAN, DATA, {"z": Z}).complete


def test_a_proxy_fails_in_words_and_says_what_to_do():
    with pytest.raises(AssertionError, match=r"The model uses a proxy for z[\s\S]*reads `proxy`"):
        pu.assert_no_proxy_use(PROXY, DATA, {"z": Z})
    with pytest.raises(AssertionError, match="replace them with `proxyuse repair`"):
        pu.assert_no_proxy_use(PROXY, DATA, {"z": Z})


def test_what_is_only_possible_fails_if_it_should():
    options: dict[str, Any] = {"epsilon": 0.2, "protected": {"z": Z}}
    assert pu.assert_no_proxy_use(OTHER, DATA, **options).witnesses
    with pytest.raises(AssertionError, match="No proxy use of z was confirmed"):
        pu.assert_no_proxy_use(OTHER, DATA, fail_on="possible", **options)
    with pytest.raises(AssertionError, match="Possible proxy use of z"):
        pu.assert_no_proxy_use(OTHER, DATA, validity=None, **options)
    with pytest.raises(pu.DataError, match='fail_on="confirmed" needs validity'):
        pu.assert_no_proxy_use(OTHER, DATA, validity=None, fail_on="confirmed", **options)


def test_what_cannot_be_decided_fails_and_says_what_to_do():
    with pytest.raises(AssertionError, match="To decide: Audit rows with several values of c"):
        pu.assert_no_proxy_use(CLEAN, DATA, {"z": Z, "c": [1] * 200})


def test_what_is_known_passes_and_what_is_new_fails(tmp_path):
    known = tmp_path / "released.json"
    known.write_text(as_text(document(pu.audit(PROXY, DATA, {"z": Z}))))
    pu.assert_no_proxy_use(PROXY, DATA, {"z": Z}, known=known)
    with pytest.raises(AssertionError, match="new confirmed witness"):
        pu.assert_no_proxy_use(BOTH, DATA, {"z": Z}, delta=0.0, epsilon=0.01, known=known)


def test_what_is_judged_appropriate_passes():
    def oracle(witness):
        return pu.Judgment(True, "it is what is sold")

    assert pu.assert_no_proxy_use(PROXY, DATA, {"z": Z}, oracle=oracle).witnesses


def test_what_could_not_be_settled_fails():
    with pytest.raises(AssertionError, match="The search is incomplete"):
        pu.assert_no_proxy_use(CLEAN, DATA, {"z": Z}, variables=False)


def test_partial_sums_that_were_searched_fail_only_if_that_is_strict():
    data = {f"x{i}": RNG.normal(size=300).round(2) for i in range(16)}
    program = pu.Program.parse(f"ite({' + '.join(data)} > 0, 1, 0)")
    found = pu.assert_no_proxy_use(program, data, {"z": [0, 1] * 150}, epsilon=0.4)
    assert len(found.searched) == 1
    with pytest.raises(AssertionError, match="turn strict mode off"):
        pu.assert_no_proxy_use(program, data, {"z": [0, 1] * 150}, epsilon=0.4, strict=True)
