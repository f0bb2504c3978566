"""An audit becomes a document: JSON, CSV, Markdown, text; two documents become a difference."""
