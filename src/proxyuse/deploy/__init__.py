"""A repaired program becomes a model again."""
