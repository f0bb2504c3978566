"""One module per format. Each renders the sentences of `report.findings`."""
