"""Upper bounds on association and influence."""
