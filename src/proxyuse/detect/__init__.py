"""Detection: measures the computations of a program and finds the witnesses of proxy use."""
