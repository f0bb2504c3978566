"""Certificates: the result of an audit as a claim that others can verify."""
