"""Exact nearest neighbors of rows of numbers and categories."""
