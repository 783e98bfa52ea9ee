"""Datasets: the five tables of the paper, and a synthetic one whose answer is known."""

from fairshap.datasets._dataset import Dataset
from fairshap.datasets._load import load, names
from fairshap.datasets._synthetic import make_biased

__all__ = ["Dataset", "load", "make_biased", "names"]
