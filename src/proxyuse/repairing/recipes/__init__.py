"""Recipes: train a model of the same kind again, so that it uses less of what it must not use."""
