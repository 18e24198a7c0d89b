"""Predictors that trade accuracy against the worst case."""
