"""How strong is that? Observed variables that play the hidden cause."""
