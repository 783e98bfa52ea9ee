"""Classifiers as trials of a cross-validation, which share what they can in a fold."""

from functools import partial
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import clone

from fairshap._crossval import CrossValidation, Trained, TrainingRows, Trial
from fairshap._crossval.trials import draw_seed
from fairshap._problem import Problem
from fairshap._problem.groups import known_values
from fairshap.estimators import FairSHAP
from fairshap.mitigation import (
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

#: What a classifier does, from the simplest on.
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
_KINDS = {
    type(None): "baseline",
    SensitiveRemover: "column dropped",
    Reweigher: "reweighing",
    ParityWeigher: "weights",
    CounterfactualAugmenter: "counterfactual rows",
    FairSHAP: "cells",
}


def as_classifier(method: Any, estimator: Any) -> Any:
    """Return the classifier that is trained after a repair or a mitigation, or the method if it is one."""
    if isinstance(method, FairSHAP):
        return FairSHAPClassifier(method, estimator, weights=None, drop_sensitive=False)
    return method if hasattr(method, "predict") else MitigatedClassifier(method, estimator)


def kind_of(model: Any) -> str:
    """Return what a classifier does, as one of the kinds; what is none of them is a formula."""
    if isinstance(model, FairSHAPClassifier):
        inner = kind_of(model.estimator) if isinstance(model.estimator, _RANDOMIZED) else "cells"
        return "cells and weights" if inner == "cells" and model.weights is not None else inner
    if isinstance(model, ThresholdClassifier):
        return "thresholds by group"
    return _KINDS.get(type(model.method), "formula") if isinstance(model, MitigatedClassifier) else "formula"


_RANDOMIZED = (ReductionClassifier, ThresholdClassifier)


def needs_attribute(model: Any) -> bool:
    """Say whether a classifier needs the sensitive column to predict."""
    if isinstance(model, ProxyCorrection):
        return False
    if isinstance(model, _RANDOMIZED):
        return model.attribute_at_prediction
    inner = model.estimator if isinstance(model, (FairSHAPClassifier, MitigatedClassifier)) else None
    if isinstance(inner, _RANDOMIZED):
        return needs_attribute(inner)
    if isinstance(getattr(model, "method", None), SensitiveRemover):
        return False
    return not getattr(model, "drop_sensitive", False)


def trial_of(name: Any, model: Any, cv: CrossValidation) -> Trial:
    """Return the trial of a classifier on folds of a table; None is the baseline.

    It does what the classifier does by itself, but for what other trials have done before in the same fold.
    """
    if model is None:
        return Trial(name)
    model = _in_parts(model, len(cv.problem.columns))
    is_blind = not needs_attribute(model)
    if isinstance(model, FairSHAPClassifier) and not _searches(model):
        return Trial(name, _sampler(model, cv), _after_repair(model, cv), is_blind)
    train = _train
    if isinstance(model, ProxyCorrection):
        train = _train_correction
    elif isinstance(getattr(model, "method", None), ParityWeigher) and model.method.strengths is None:
        train = _train_weighed
    return Trial(name, train=partial(train, model), is_blind=is_blind)


def _searches(model: FairSHAPClassifier) -> bool:
    """Say whether a classifier searches its weights, which takes the rows before and after the repair."""
    weights = model.weights
    return weights == "auto" or (isinstance(weights, ParityWeigher) and weights.strengths is None)


def _sampler(model: FairSHAPClassifier, cv: CrossValidation) -> FairSHAP:
    """Return the repair of a classifier, which explains the very estimator of the baseline if it can."""
    given: Any = model.repair
    repair, base = FairSHAP(**given.get_params(deep=False)), cv.template.estimator
    if repair.estimator is None:
        repair.estimator = base if model.estimator is None or model.estimator is base else model._estimator()
    return repair


def _after_repair(model: FairSHAPClassifier, cv: CrossValidation) -> Any:
    """Return what trains a classifier on the repaired rows; None for the baseline's own estimator."""
    repair, inner = model._repair(), model._estimator()
    weigher = model._weigher(repair, inner)
    drops = model.drop_sensitive and not cv.problem.added
    if weigher is not None:
        return partial(_train, MitigatedClassifier(weigher, inner, drop_sensitive=drops))
    if drops:
        who = {"sensitive": repair.sensitive, "privileged": repair.privileged}
        return partial(_train, MitigatedClassifier(SensitiveRemover(**who), inner))
    if model.estimator is None or model.estimator is cv.template.estimator:
        return None
    return partial(_train, as_classifier(inner if isinstance(inner, _RANDOMIZED) else None, inner))


def _in_parts(model: Any, n_columns: int) -> Any:
    """Return a copy that knows what is privileged in folds, which may lack some of the values."""
    if isinstance(model, FairSHAPClassifier) and not _searches(model):
        # The very same estimator says that an explanation can be shared.
        made = FairSHAPClassifier(**model.get_params(deep=False))
        repair = FairSHAP() if model.repair is None else model.repair
        own = {**repair.get_params(deep=False), "privileged": known_values(repair.privileged, n_columns)}
        return made.set_params(repair=FairSHAP(**own))
    made = clone(model)
    for name, value in model.get_params().items():
        if name.split("__")[-1] == "privileged" and value is not None:
            made.set_params(**{name: known_values(value, n_columns)})
    return made


def _train(model: Any, rows: TrainingRows) -> Trained:
    """Train a classifier by itself."""
    fit = clone(model).fit
    taken = signature(fit).parameters
    fitted = fit(rows.X, rows.y, **{name: value for name, value in rows.params.items() if name in taken})
    method = getattr(fitted, "method_", None)
    # The risk is measured on transformed rows if they still hold the attribute.
    keeps = getattr(method, "keep_sensitive", not isinstance(method, SensitiveRemover))
    is_transforming = getattr(method, "transforms_test_rows", False) and keeps
    edits = getattr(getattr(fitted, "repair_", method), "edits_", ())
    return Trained(fitted, len(edits), is_transforming)


def _posteriors(search: Any, rows: TrainingRows) -> tuple[Problem, Any, Any]:
    """Return a table as a search for strengths reads it, its learner, and posteriors that searches share."""
    problem = search._read(rows.X, rows.y, rows.beside, rows.sample_weight)
    learner, seed = search._learner(problem), draw_seed(search.random_state)
    key = ("posteriors", search.n_folds, seed, repr(search.estimator), search.positive)
    return problem, learner, rows.share(key, lambda: learner.cross_fit(search.n_folds, seed))


def _train_correction(model: ProxyCorrection, rows: TrainingRows) -> Trained:
    """Train a correction from posteriors and models that corrections have in common."""
    model = clone(model)
    problem, learner, found = _posteriors(model, rows)
    everyone = np.arange(problem.own.n_rows)
    key = ("joint model", repr(model.estimator), model.positive)
    known: Any = SimpleNamespace(
        table=learner.table,
        remover=learner.remover,
        target=learner.target,
        fit=lambda _: rows.share(key, lambda: learner.fit(everyone)),
    )
    return Trained(model._finish(known, *found))


def _train_weighed(model: MitigatedClassifier, rows: TrainingRows) -> Trained:
    """Train with weights whose strengths are searched on posteriors that searches share."""
    weigher = clone(model.method)
    problem, learner, found = _posteriors(weigher, rows)
    how = {"n_folds": weigher.n_folds, "seed": draw_seed(weigher.random_state)}
    weigher._weigh(problem, found[0], partial(learner.retrain, **how))
    return _train(clone(model).set_params(method__strengths=weigher.strengths_), rows)
