"""Estimators: the only place that strings the steps together."""

from fairshap.estimators._classifier import FairSHAPClassifier
from fairshap.estimators._regressor import FairSHAPRegressor
from fairshap.estimators._sampler import FairSHAP

__all__ = ["FairSHAP", "FairSHAPClassifier", "FairSHAPRegressor"]
