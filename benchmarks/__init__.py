"""What audits of deployed models cost, compared with predicting. Run it with ``make bench``."""
