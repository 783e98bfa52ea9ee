"""Classifiers as trials of a cross-validation, which share what they can in a fold."""

from collections.abc import Hashable
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from fairshap._crossval import CrossValidation, Trained, TrainingRows, Trial
from fairshap._crossval.trials import draw_seed, said_once
from fairshap._problem import Problem
from fairshap._problem.groups import known_values
from fairshap._problem.problem import find_columns
from fairshap.attribution import Explainer
from fairshap.attribution._explanation import make_explainer
from fairshap.estimators import FairSHAP
from fairshap.mitigation import (
    CounterfactualAugmenter,
    MitigatedClassifier,
    ParityWeigher,
    ProxyCorrection,
    ReductionClassifier,
    Reweigher,
    SensitiveRemover,
    SoftLabeler,
    ThresholdClassifier,
)
from fairshap.mitigation._parity import ParitySearch
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
    "soft labels",
    "formula",
    "thresholds by group",
)
_KINDS = {
    type(None): "baseline",
    SensitiveRemover: "column dropped",
    Reweigher: "reweighing",
    ParityWeigher: "weights",
    CounterfactualAugmenter: "counterfactual rows",
    SoftLabeler: "soft labels",
    FairSHAP: "cells",
}


def as_classifier(method: Any, estimator: Any) -> Any:
    """Return the classifier that is trained after a repair or a mitigation, or the method if it is one."""
    if isinstance(method, FairSHAP):
        return FairSHAPClassifier(method, estimator, weights=None, drop_sensitive=False)
    return method if hasattr(method, "predict") else MitigatedClassifier(method, estimator)


def with_positive(explainer: Any, positive: Any) -> Explainer:
    """Return a copy of an explainer, or the default one, that knows which label is positive."""
    made: Explainer = clone(make_explainer(explainer))
    if positive is not None:
        made.set_params(positive=positive)
    return made


def kind_of(model: Any) -> str:
    """Return what a classifier does, as one of the kinds; what is none of them is a formula."""
    if isinstance(model, FairSHAPClassifier):
        inner = kind_of(model.estimator) if isinstance(model.estimator, _RANDOMIZED) else "cells"
        if inner != "cells" or model.weights is None:
            return inner
        is_soft = isinstance(model.weights, SoftLabeler) or model.weights == "auto"
        return "soft labels" if is_soft else "cells and weights"
    if isinstance(model, ThresholdClassifier):
        return "thresholds by group"
    return _KINDS.get(type(model.method), "formula") if isinstance(model, MitigatedClassifier) else "formula"


_RANDOMIZED = (ReductionClassifier, ThresholdClassifier)


def needs_attribute(model: Any, problem: Problem) -> bool:
    """Say whether a classifier needs the sensitive columns of a table to predict; it may drop others."""
    if problem.added:
        return False
    dropped = {at for one in _blind_parts(model) for at in find_columns(one.sensitive, problem.own)}
    return not dropped.issuperset(problem.columns)


def _blind_parts(model: Any) -> list[Any]:
    """Return the parts of a classifier whose sensitive columns it predicts without."""
    if isinstance(model, ProxyCorrection):
        return [model]
    if isinstance(model, _RANDOMIZED):
        return [] if model.attribute_at_prediction else [model]
    if not isinstance(model, (FairSHAPClassifier, MitigatedClassifier)):
        return []
    if isinstance(model.estimator, _RANDOMIZED):
        return _blind_parts(model.estimator)
    method = model._repair() if isinstance(model, FairSHAPClassifier) else model.method
    is_dropping = model.drop_sensitive and hasattr(method, "sensitive")
    return [method] if is_dropping or isinstance(method, SensitiveRemover) else []


def trial_of(name: Any, model: Any, cv: CrossValidation) -> Trial:
    """Return the trial of a classifier on folds of a table; None is the baseline.

    It does what the classifier does by itself, but for what other trials have done before in the same fold.
    """
    if model is None:
        return Trial(name)
    _check_groups(model, cv)
    model = _in_parts(model, len(cv.problem.columns))
    is_blind = not needs_attribute(model, cv.problem)
    if isinstance(model, FairSHAPClassifier):
        return _trial_of_repair(name, model, cv, is_blind)
    train = _train
    if isinstance(model, ProxyCorrection):
        train = _train_correction
    elif isinstance(getattr(model, "method", None), ParityWeigher) and model.method.strengths is None:
        train = _train_weighed
    elif isinstance(getattr(model, "method", None), SoftLabeler):
        train = _train_soft
    return Trial(name, train=partial(train, model), is_blind=is_blind)


def _check_groups(model: Any, cv: CrossValidation) -> None:
    """Raise an error if a classifier is about groups that the whole table does not have."""
    params, known = model.get_params(), {repr((cv.template.sensitive, cv.problem.privileged))}
    for name, sensitive in () if cv.problem.added else params.items():
        privileged = params.get(f"{name.removesuffix('sensitive')}privileged")
        is_given = name.split("__")[-1] == "sensitive" and sensitive is not None and privileged is not None
        if not is_given or repr((sensitive, privileged)) in known:
            continue
        known.add(repr((sensitive, privileged)))
        with said_once():
            Problem.read(cv.problem.own.native, sensitive=sensitive, privileged=privileged, is_fitted=False)


def _trial_of_repair(name: Any, model: FairSHAPClassifier, cv: CrossValidation, is_blind: bool) -> Trial:
    """Return the trial of a repair and what is trained after it, which explains the baseline if it can."""
    base, repair = cv.template.estimator, model._repair()
    inner = base if model.estimator is base else model._estimator()
    weigher = model._weigher(repair, inner)
    drops = model.drop_sensitive and not cv.problem.added
    is_plain = weigher is None and not drops and inner is base
    # A search for weights takes the rows before and after the repair. What counterfactuals weigh, or how
    # often rows are repeated instead, only the classifier itself knows.
    if _searches(model) or (repair.counterfactuals is not None and not is_plain):
        return Trial(name, train=partial(_train, model), is_blind=is_blind)
    given = FairSHAP() if model.repair is None else model.repair
    sampler = FairSHAP(**given.get_params(deep=False))
    if sampler.estimator is None:
        sampler.estimator = inner
    if is_plain:
        return Trial(name, sampler, is_blind=is_blind)
    who = {"sensitive": repair.sensitive, "privileged": repair.privileged}
    if weigher is not None:
        after: Any = MitigatedClassifier(weigher, inner, drop_sensitive=drops)
    elif drops:
        after = MitigatedClassifier(SensitiveRemover(**who), inner)
    else:
        after = as_classifier(inner if isinstance(inner, _RANDOMIZED) else None, inner)
    return Trial(name, sampler, partial(_train, after), is_blind)


def _searches(model: FairSHAPClassifier) -> bool:
    """Say whether a classifier finds its weights on folds."""
    weights = model.weights
    is_given = isinstance(weights, ParityWeigher) and weights.strengths is not None
    return weights == "auto" or (isinstance(weights, ParitySearch) and not is_given)


def _in_parts(model: Any, n_columns: int) -> Any:
    """Return a copy that knows what is privileged in folds, which may lack some of the values.

    What says nothing of that stays the very same object: by their identity estimators are shared.
    """
    params, named = model.get_params(), {}
    for name, value in params.items():
        if name.split("__")[-1] == "privileged" and value is not None:
            # A method may be about another attribute, of more columns or fewer.
            sensitive = params.get(f"{name.removesuffix('privileged')}sensitive")
            width = (
                len(sensitive)
                if isinstance(sensitive, list)
                else 1
                if isinstance(sensitive, str)
                else n_columns
            )
            named[name] = known_values(value, width)
    if not named:
        return model
    own = model.get_params(deep=False)
    if not all(name.partition("__")[0] in own for name in named):
        return clone(model).set_params(**named)
    parts = {name.partition("__")[0] for name in named if "__" in name}
    own |= {name: value for name, value in named.items() if "__" not in name}
    return type(model)(**own | {name: _in_parts(own[name], n_columns) for name in parts})


def _train(model: Any, rows: TrainingRows) -> Trained:
    """Train a classifier by itself."""
    fit = clone(model).fit
    taken = signature(fit).parameters
    fitted = fit(rows.X, rows.y, **{name: value for name, value in rows.params.items() if name in taken})
    method = getattr(fitted, "method_", None)
    # The risk is measured on transformed rows if they still hold the attribute.
    keeps = getattr(method, "keep_sensitive", not isinstance(method, SensitiveRemover))
    is_transforming = getattr(method, "transforms_test_rows", False) and keeps
    # Thresholds are set on what is trained after a repair.
    repaired = fitted if hasattr(fitted, "repair_") else getattr(fitted, "estimator_", None)
    edits = getattr(getattr(repaired, "repair_", method), "edits_", ())
    return Trained(fitted, len(edits), is_transforming)


class _Searched(NamedTuple):
    """A search for strengths: its table, its learner, the seed of its folds, and a key of all that."""

    search: Any
    problem: Problem
    learner: Any
    seed: int
    key: tuple[Hashable, ...]

    @classmethod
    def of(cls, given: Any, rows: TrainingRows) -> "_Searched":
        search = clone(given)
        problem = search._read(rows.X, rows.y, rows.beside, rows.sample_weight)
        seed = draw_seed(search.random_state)
        # The shortened repr of an estimator may be that of another.
        key = (id(given.estimator), seed, *map(repr, (search.sensitive, search.privileged, search.positive)))
        return cls(search, problem, search._learner(problem), seed, key)

    def posteriors(self, rows: TrainingRows) -> Any:
        """Return posteriors and calibration, which searches share."""
        n_folds = self.search.n_folds
        key = ("posteriors", n_folds, *self.key)
        return rows.share(key, lambda: self.learner.cross_fit(n_folds, self.seed))


def _train_correction(model: ProxyCorrection, rows: TrainingRows) -> Trained:
    """Train a correction from posteriors and models that corrections have in common."""
    one = _Searched.of(model, rows)
    fit_all = partial(one.learner.fit, np.arange(one.problem.own.n_rows))
    shared = partial(rows.share, ("joint model", *one.key), fit_all)
    return Trained(one.search._finish(one.learner, shared, *one.posteriors(rows)))


def _train_weighed(model: MitigatedClassifier, rows: TrainingRows) -> Trained:
    """Train with weights whose strengths are searched on posteriors that searches share."""
    one = _Searched.of(model.method, rows)
    how = {"n_folds": one.search.n_folds, "seed": one.seed}
    one.search._weigh(one.problem, one.posteriors(rows)[0], partial(one.learner.retrain, **how))
    return _train(clone(model).set_params(method__strengths=one.search.strengths_), rows)


def _train_soft(model: MitigatedClassifier, rows: TrainingRows) -> Trained:
    """Train on soft labels by posteriors that searches share."""
    one = _Searched.of(model.method, rows)
    X, y = one.search._label(one.problem, rows.y, one.posteriors(rows)[0])
    known = one.search, (X, y, one.search.sample_weight_)
    return Trained(clone(model)._fit(rows.X, rows.y, **rows.params, known=known))
