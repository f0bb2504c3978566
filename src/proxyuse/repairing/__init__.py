"""Repair: replaces computations that violate use privacy with constants."""
