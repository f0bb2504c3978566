"""Fits the numbers of a repaired model again: leaf values and coefficients."""
