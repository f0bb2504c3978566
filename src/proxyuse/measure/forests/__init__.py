"""Trees and sums of trees, measured on packed columns."""
