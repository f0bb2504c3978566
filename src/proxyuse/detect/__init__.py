"""Detection: from a program and its measures to witnesses of proxy use."""
