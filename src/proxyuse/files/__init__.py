"""Data and model files, read as data and never as code."""
