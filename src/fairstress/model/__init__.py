"""The two models: embeddings, moments, fits, selection, predictors, counterfactuals, simulation."""
