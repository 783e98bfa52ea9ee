"""Evaluation: what a repair does to a model, on rows that it was not trained on."""
