"""Measures of programs on populations: association, influence, and engines that compute them."""
