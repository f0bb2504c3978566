"""Reading and writing files: CSV, Arrow, atomic writes."""
