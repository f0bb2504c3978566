"""The HTML report: one self-contained page.

`page` assembles it. `content` and `witness` prepare the values that the templates show, `location`
and `model_drawing` show where a computation is in the model, and `repair_section` shows a repair.
`points` and `cells` feed the chart. `untrusted_text` makes text from the data safe to display.
Everything that needs no script is HTML from the templates; its sentences are in `report.findings`.
"""
