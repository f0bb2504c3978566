"""Short thresholds are shown, and exact ones on request, in every format."""

from __future__ import annotations

import json

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.cli.main import main
from proxyuse.report.document import document
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.notebook import audit_html
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text
from proxyuse.report.saved import as_text

EXACT, SHORT = "37.50000002507943", "x <= 37"
PROGRAM = pu.Program.parse(f"ite(x <= {EXACT}, 'no', ite(y == 1, 'yes', 'no'))")


def audited():
    rng = np.random.default_rng(0)
    x = rng.integers(30, 45, 400)
    data = {"x": x, "y": rng.integers(0, 2, 400), "z": x > 37}
    return pu.audit(PROGRAM, data, protected="z", variables=False)


@pytest.mark.parametrize(
    "render",
    [
        lambda audit: audit_text(document(audit)),
        lambda audit: audit_markdown(document(audit)),
        lambda audit: audit_junit(document(audit)),
        lambda audit: json.dumps(audit_sarif(document(audit))["runs"][0]["results"][0]["message"]),
        audit_html,
    ],
    ids=["text", "markdown", "junit", "sarif", "notebook"],
)
def test_every_format_shows_short_thresholds(render):
    text = render(audited()).replace("&lt;", "<").replace("&#60;", "<")
    assert SHORT in text
    assert EXACT not in text


def test_the_page_shows_short_thresholds_and_has_exact_ones():
    page = page_text(audited())
    points = json.loads(page.split('id="points">')[1].split("</script>")[0])
    assert SHORT in points["columns"]["term"]
    assert EXACT not in json.dumps(points)
    assert f'title="x &lt;= {EXACT}"' in page


def test_show_prints_exact_thresholds_on_request(tmp_path, capsys):
    saved = tmp_path / "audit.json"
    saved.write_text(as_text(document(audited())))
    main(["show", str(saved)])
    assert EXACT not in capsys.readouterr().out
    main(["show", str(saved), "--exact"])
    assert f"`x <= {EXACT}`" in capsys.readouterr().out
