"""Permutation tests: how often chance alone gives such an association."""
