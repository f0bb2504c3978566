"""Typed columns, tables and populations."""
