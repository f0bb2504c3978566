"""LightGBM: translate, load and write back."""
