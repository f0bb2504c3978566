"""Association between a computation and a protected attribute."""
