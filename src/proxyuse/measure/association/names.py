"""What measures of association are called where one is asked for by name; nothing is imported."""

ASSOCIATIONS = (
    "normalized-mutual-information",
    "adjusted-mutual-information",
    "cramers-v",
    "squared-correlation",
)
