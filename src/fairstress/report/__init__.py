"""How results are shown. Computes nothing."""
