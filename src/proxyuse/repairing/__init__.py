"""Repair: constants in place of what violates use privacy."""
