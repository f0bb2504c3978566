"""Rows: typed columns, tables, populations."""
