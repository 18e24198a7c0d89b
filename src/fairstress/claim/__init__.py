"""What is put to the test: Model A with a predictor and baselines, how it is built, and its evaluation at any P."""
