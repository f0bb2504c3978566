"""Certificates: what an audit found, as a claim that someone else can check again."""
