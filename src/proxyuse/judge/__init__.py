"""Judgments: policies and recorded decisions."""
