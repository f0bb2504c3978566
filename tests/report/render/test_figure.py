"""The figure of an audit shows what was measured, and names it without harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.render.figure import MOST_LABELS, MOST_VECTORS, save_figure
from proxyuse.report.render.figure_labels import cut_lines, drawable
from tests.constant_repairs import by_constants

mpl.use("Agg")

PROGRAM = "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(age <= 30, 'b', 'a'))"
RANDOM = np.random.default_rng(0)
DATA = {
    "vitamins": [1, 1, 0, 0] * 100,
    "engaged": [1, 0, 1, 0] * 100,
    "age": RANDOM.integers(18, 60, 400).tolist(),
    "pregnant": [1, 1, 0, 0] * 99 + [0, 1, 1, 0],
    "promised": [1, 0, 1, 0] * 100,
}


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure(figsize=(6.8, 4.6), layout="constrained").subplots()


def audited(protected="pregnant", validity=None, **options):
    return pu.audit(pu.Program.parse(PROGRAM), DATA, protected, validity=validity, **options)


def clouds(ax):
    """The points of a figure by what the legend calls them."""
    return {c.get_label(): c.get_offsets() for c in ax.collections if len(c.get_offsets())}


def labels(ax):
    texts = [text for text in ax.texts if text.get_text() and "proxy use:" not in text.get_text()]
    return {text.get_text().replace("\n", " "): text for text in texts}


def test_every_computation_is_a_point_at_its_measures(ax):
    audit = audited()
    drawn = clouds(audit.plot(ax=ax))
    assert len(drawn["witness"]) == len(audit.witnesses) > 0
    assert len(drawn["computation"]) + len(audit.witnesses) == len(audit.decompositions)
    places = [(w.association, w.influence) for w in document(audit).witnesses]
    assert np.allclose(np.asarray(drawn["witness"]), places, atol=1e-4)


def test_a_larger_computation_has_a_larger_marker(ax):
    audit = audited()
    audit.plot(ax=ax)
    (marks,) = [c for c in ax.collections if c.get_label() == "witness"]
    sizes = dict(zip([w.size for w in audit.witnesses], marks.get_sizes(), strict=True))
    ordered = [sizes[size] for size in sorted(sizes)]
    assert ordered == sorted(set(ordered))


def test_the_region_begins_at_the_thresholds(ax):
    audit = audited(epsilon=0.3, delta=0.04)
    audit.plot(ax=ax)
    (region,) = ax.patches
    assert region.get_xy() == (0.3, 0.04)
    assert any("≥ 0.3, influence > 0.04" in text.get_text() for text in ax.texts)


def test_points_near_a_threshold_are_drawn_once(ax):
    audit = audited()
    for epsilon in {w.association for w in audit.witnesses}:
        edge = audited(epsilon=float(np.nextafter(epsilon, 2)) if epsilon < 1 else 1.0)
        drawn = clouds(edge.plot(ax=Figure().subplots()))
        assert sum(map(len, drawn.values())) == len(edge.decompositions)


def test_the_strongest_are_named_in_words_and_apart(ax):
    audit = audited()
    texts = labels(audit.plot(ax=ax))
    assert "vitamins" in texts
    assert 1 <= len(texts) <= MOST_LABELS
    boxes = [text.get_window_extent() for text in texts.values()]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_without_witnesses_there_is_a_figure_too(ax):
    audit = audited(epsilon=1, delta=0.9)
    assert set(clouds(audit.plot(ax=ax))) == {"computation"}
    assert labels(ax) == {}
    assert ax.get_xlim()[1] > 1
    assert ax.get_ylim()[1] > 0.9


def test_influence_that_was_not_needed_is_left_out(ax):
    audit = audited(budget=pu.Budget(positions=0))
    drawn = clouds(audit.plot(ax=ax))
    known = int(np.count_nonzero(~np.isnan(audit.decompositions.influences)))
    assert sum(map(len, drawn.values())) == known < len(audit.decompositions)


def test_the_attribute_is_the_one_with_the_finding_or_the_one_that_is_named():
    audit = audited(["pregnant", "promised"])
    names = [audit.plot(name, ax=Figure().subplots()).get_xlabel() for name in (None, "pregnant")]
    assert audit.witnesses[0].protected == "promised"
    assert names == ["association with promised", "association with pregnant"]
    with pytest.raises(pu.DataError, match="pass one of pregnant, promised"):
        audit.plot("age")


def test_bounds_are_drawn_and_what_is_not_confirmed_is_hollow(ax):
    audit = audited(validity="confirm")
    drawn = clouds(audit.plot(ax=ax))
    verdicts = [w.validity.confirmed for w in audit.witnesses]
    assert len(drawn["witness, confirmed"]) == sum(verdicts)
    bounds = [line for line in ax.lines if line.get_marker() in ("|", "_")]
    first = min(document(audit).witnesses, key=lambda w: w.size).validity
    spans = [tuple(line.get_xdata()) for line in bounds if line.get_marker() == "|"]
    assert first is not None
    low, high = first.association_low, first.association_high
    assert any(abs(a - low) < 2e-4 and abs(b - high) < 2e-4 for a, b in spans)
    few = {name: values[:16] for name, values in DATA.items()}
    weak = pu.audit(pu.Program.parse(PROGRAM), few, "pregnant", validity="confirm")
    assert "witness, not confirmed" in clouds(weak.plot(ax=Figure().subplots()))


def test_before_and_after_a_repair(ax):
    done = by_constants(pu.Program.parse(PROGRAM), DATA, protected="pregnant", unconfirmed=True)
    drawn = clouds(done.plot(ax=ax))
    assert len(drawn["after the repair"]) == len(done.after.decompositions)
    left = {d.expression.digest for d in done.after.decompositions}
    whole = done.before.program.term.digest
    gone = [w for w in done.before.witnesses if w.expression.digest not in {*left, whole}]
    assert len(drawn.get("removed by the repair", ())) == len(gone) > 0
    arrows = [text for text in ax.texts if text.get_text() == ""]
    assert len(arrows) == len(done.before.witnesses) - len(gone)


def test_a_repair_of_another_attribute_is_refused():
    with pytest.raises(pu.DataError, match="has no 'pregnant'"):
        audited().plot(repaired=audited("promised"))


def test_new_axes_are_made_if_none_are_given():
    first, second = audited().plot(), audited().plot()
    assert first.figure is not second.figure


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_audit_gives_the_same_bytes(ending, tmp_path: Path):
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path in paths:
        assert save_figure(audited().plot(), path) == path
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert b"<dc:date>" not in paths[0].read_bytes()


def test_an_unknown_format_is_told(ax, tmp_path: Path):
    with pytest.raises(pu.DataError, match="png"):
        save_figure(audited().plot(ax=ax), tmp_path / "figure.docx")


def test_a_subfigure_is_written_with_its_figure(tmp_path: Path):
    left, right = Figure(layout="constrained").subfigures(1, 2)  # type: ignore[misc]
    audited().plot(ax=left.subplots())
    save_figure(audited("promised").plot(ax=right.subplots()), tmp_path / "both.png", dpi=50)
    assert (tmp_path / "both.png").stat().st_size > 1000


def large(leaves):
    """A tree of many nodes over random data."""
    from sklearn.tree import DecisionTreeClassifier

    numbers = RANDOM.normal(size=(8 * leaves, 6))
    model = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    model.fit(numbers, RANDOM.integers(0, 2, len(numbers)))
    return pu.audit(model, numbers, {"z": (numbers[:, 0] > 0).tolist()}, measure="all")


@pytest.mark.slow
def test_of_many_points_the_svg_stays_small(ax, tmp_path: Path):
    found = large(1_200)
    assert len(found.decompositions) > MOST_VECTORS
    save_figure(found.plot(ax=ax), tmp_path / "large.svg")
    assert (tmp_path / "large.svg").stat().st_size < 500_000


@pytest.mark.parametrize(
    "name",
    ["$\\frac{", "<script>", "😀 年齢", "\u202eevil\x07", "a\nb", "n" * 10**4, "\ud800", "100 %"],
    ids=["formula", "markup", "glyphs", "control", "lines", "long", "half", "percent"],
)
def test_names_of_strangers_are_only_text(name, ax, tmp_path: Path):
    values = [0, 1] * 30
    quoted = name.replace("\\", "\\\\").replace("`", "\\`").replace("\n", "\\n")
    program = pu.Program.parse(f"ite(`{quoted}` == 1, 'a', 'b')") if name.isprintable() else None
    program = program or pu.Program.parse("ite(x == 1, 'a', 'b')")
    data = {program.inputs[0]: values}
    audit = pu.audit(program, data, {name: values})
    save_figure(audit.plot(ax=ax), tmp_path / "a.svg")  # a missing glyph would be a warning
    assert len(ax.get_xlabel()) < 70
    assert "<script>" not in (tmp_path / "a.svg").read_text()


def test_characters_without_a_glyph_are_question_marks(ax):
    assert drawable("añ 😀\n年\U0001fae0", ax) == "añ 😀\n??"


def test_long_words_are_cut():
    assert cut_lines("n" * 500, 20, 2).count("\n") <= 1
    assert cut_lines("the value of age", 34, 2) == "the value of age"


def test_without_matplotlib_it_is_told_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import proxyuse as pu\n"
        "found = pu.audit(pu.Program.parse('ite(x == 1, 0, 1)'), {'x': [0, 1] * 5}, 'x')\n"
        "try:\n    found.plot()\n"
        "except pu.DataError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'proxyuse[plot]'" in done.stdout


def test_importing_the_module_loads_no_matplotlib():
    code = "import sys, proxyuse.report.render.figure; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
