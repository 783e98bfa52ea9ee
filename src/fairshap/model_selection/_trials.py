"""Estimators and mitigation methods as trials of a cross-validation, which share what they can in a fold."""

from functools import partial
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import clone

from fairshap._crossval import CrossValidation, Trained, TrainingRows, Trial
from fairshap._crossval.trials import draw_seed
from fairshap._models import copy_estimator
from fairshap._problem.groups import known_values
from fairshap.estimators import FairSHAP
from fairshap.mitigation import (
    CorrelationRemover,
    CounterfactualAugmenter,
    MitigatedClassifier,
    ParityWeigher,
    ProxyCorrection,
    ReductionClassifier,
    Reweigher,
    SensitiveRemover,
    ThresholdClassifier,
)
from fairshap.predictors import FairSHAPClassifier

#: What candidates do, from the simplest on.
KINDS = (
    "baseline",
    "column dropped",
    "reweighing",
    "weights",
    "counterfactual rows",
    "cells",
    "cells and weights",
    "formula",
    "thresholds by group",
)


def as_estimator(method: Any, estimator: Any) -> Any:
    """Return the classifier that a method is a part of: trained after a repair or a mitigation, or itself."""
    if isinstance(method, FairSHAP):
        return FairSHAPClassifier(method, estimator, drop_sensitive=False, weights=None)
    return method if hasattr(method, "predict") else MitigatedClassifier(method, estimator)


def kind_of(model: Any) -> str:
    """Return what a classifier does, as one of the kinds; of others, a formula."""
    method = getattr(model, "method", None)
    if isinstance(model, FairSHAPClassifier):
        return "cells" if model.weights is None else "cells and weights"
    if isinstance(model, ThresholdClassifier):
        return "thresholds by group"
    if not isinstance(model, MitigatedClassifier):
        return "formula"
    kinds = {
        type(None): "baseline",
        SensitiveRemover: "column dropped",
        Reweigher: "reweighing",
        ParityWeigher: "weights",
        CounterfactualAugmenter: "counterfactual rows",
    }
    return kinds.get(type(method), "formula")


def needs_attribute(model: Any) -> bool:
    """Say whether a classifier needs the sensitive attribute to predict, if that is a column of the table."""
    if isinstance(model, ProxyCorrection):
        return False
    if isinstance(model, (ReductionClassifier, ThresholdClassifier)):
        return model.attribute_at_prediction
    if isinstance(model, FairSHAPClassifier) and isinstance(model.estimator, ReductionClassifier):
        return False
    if isinstance(getattr(model, "method", None), SensitiveRemover):
        return False
    return not getattr(model, "drop_sensitive", False)


def trial_of(name: Any, model: Any, cv: CrossValidation) -> Trial:
    """Return the trial of a classifier on folds of a table; None is the baseline.

    What it would do by itself it does here too, but for what other trials have done already in the same fold.
    """
    if model is None:
        return Trial(name)
    base = cv.template._estimator()
    model = _in_parts(model, len(cv.problem.columns))
    is_blind = not needs_attribute(model)
    if isinstance(model, FairSHAPClassifier):
        sampler = model._repair()
        inner = model._estimator()
        weigher = model._weigher(sampler, inner)
        who = {"sensitive": sampler.sensitive, "privileged": sampler.privileged}
        drops = model.drop_sensitive and not cv.problem.added
        train = None
        if weigher is not None or drops:
            method = SensitiveRemover(**who) if weigher is None else weigher
            rest = {"drop_sensitive": True} if weigher is not None and drops else {}
            train = partial(_train, MitigatedClassifier(method, inner, **rest))
        elif inner is not base:
            train = partial(_train, as_estimator(inner, inner) if _is_whole(inner) else MitigatedClassifier(None, inner))
        return Trial(name, sampler, train, is_blind)
    if isinstance(model, ProxyCorrection):
        return Trial(name, train=partial(_train_correction, model), is_blind=True)
    if isinstance(getattr(model, "method", None), ParityWeigher) and model.method.strengths is None:
        return Trial(name, train=partial(_train_weigher, model), is_blind=is_blind)
    return Trial(name, train=partial(_train, model), is_blind=is_blind)
