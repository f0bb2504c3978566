"""The report: one self-contained page for people, made from an audit.

`page` puts it together, `content` says what stands on it, `glossary` what its numbers mean,
`witness` tells one witness, `model_drawing` and `places` show where it stands in the model,
`repaired` tells a repair, `shown` makes strangers' text safe to look at. `points` has every
decomposition for the picture. What can be said without a script is HTML from the templates.
"""
