"""Sets of correlations, and how the extremes of a functional over them are found."""
