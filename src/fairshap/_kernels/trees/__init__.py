"""Shapley values of pairs of rows through the trees of an ensemble: without calls of the model."""
