"""What an audit costs, measured against predicting. Run it with ``make bench``."""
