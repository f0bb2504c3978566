"""Permutation tests: how often chance alone produces an association this high."""
