"""Mitigation methods, or more and more edits, side by side on the same folds."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from fairshap import mitigation
from fairshap._crossval import CrossValidation, Evaluation, Trial, judge, with_params
from fairshap._crossval.trials import check_two_labels, check_unfitted, draw_seed, warn_of_skipped
from fairshap._messages import check_choice, listing
from fairshap._models import default_estimator
from fairshap._names import METHODS
from fairshap._problem import Privileged, Problem
from fairshap._problem.target import reaches
from fairshap._typing import Native
from fairshap.edits import Budget, Threshold
from fairshap.edits._recipe import CounterfactualRows, Recipe
from fairshap.edits._selectors import make_constraints
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError
from fairshap.model_selection._trials import as_classifier, trial_of, with_positive
from fairshap.predictors import FairSHAPClassifier

# What is done to the sensitive column, also after a repair, cannot be done where it is beside the table.
_OF_COLUMN = ("rsa", "cr", "counterfactuals", "thresholds", "error-parity")
_DEFAULT = ("baseline", "rsa", "reweighing", "fairshap")

# The points of a curve by default, and the Shapley value at which it ends.
_POINTS, _END = 25, 0.01


def evaluate(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    positive: Any = None,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    n_folds: int | None = None,
    n_repeats: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> Evaluation:
    """Compare FairSHAP with other mitigation methods by cross-validation.

    "cr" transforms the rows to predict as well, each by its own attribute. Its DR is that of transformed rows
    whose attribute is switched, as in the paper. Switching the attribute in the recorded row moves the other
    columns too; ``raw_dr`` is the risk of that, and also the DR of "fairshap-cr".

    A method that cannot be trained is left out with a warning, for example "reweighing" with an estimator
    that takes no weights. If the baseline cannot be trained, its error is raised.

    Parameters
    ----------
    X, y : data frame or array, array-like
        The table and the label of each row, two values.
    estimator : classifier, optional
        The classifier that is trained after each method; by default scikit-learn's histogram gradient
        boosting.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X. The models that are compared are those that would
        be deployed: none of them sees the attribute, so their DR and flips are 0.
    positive : label, optional
        The positive label; by default the larger one.
    methods : sequence of str, or mapping of str to object
        Names of :data:`fairshap.model_selection.METHODS`, which says what they do; by default "baseline",
        "rsa", "reweighing" and "fairshap". Or a mapping of your own names to classifiers, objects of
        :mod:`fairshap.mitigation` or :class:`fairshap.FairSHAP`, None for the baseline.
    n_folds, n_repeats : int, optional
        The folds, stratified by label and group, and how often the rows are dealt into them. By default 5
        folds, 3 from 100,000 rows on, and, unless ``n_folds`` is given, up to four repeats for a small table.
    random_state : int, RandomState instance or None
        The seed of the folds, of the estimators and of the methods.
    n_jobs : int, default=None
        The number of processes that share the folds, -1 for one a core. None is this process: one fold after
        the other, matched and explained by all cores. The result does not depend on it.
    sensitive, privileged, verbose, **params
        See :class:`fairshap.FairSHAP`; ``params`` are others of it, such as ``threshold``.

    Returns
    -------
    Evaluation
        ``frame()`` has all measures with 95 % intervals, ``differences()`` those from the first method.

    Examples
    --------
    >>> from fairshap import datasets
    >>> from fairshap.model_selection import evaluate
    >>> d = datasets.make_biased(300, random_state=0)
    >>> evaluation = evaluate(d.X, d.y, sensitive=d.sensitive, privileged=d.privileged,
    ...                       methods=["baseline", "rsa"], n_folds=3, random_state=0)
    >>> evaluation.frame()["dr"].round(2).tolist()[1]
    0.0
    """
    seed = draw_seed(random_state)
    estimator = default_estimator(seed) if estimator is None else estimator
    who = {"sensitive": sensitive, "privileged": privileged}
    is_beside = sensitive_features is not None
    if methods is None:
        methods = [name for name in _DEFAULT if not (is_beside and _is_of_column(name))]
    if not isinstance(methods, Mapping):
        names = [methods] if isinstance(methods, str) else list(methods)
        own = {"estimator": estimator, "random_state": seed, "n_jobs": n_jobs, **params}
        if positive is not None:
            own["explainer"] = with_positive(own.get("explainer"), positive)
        methods = {name: _make_method(name, who, own, is_beside, positive) for name in names}
    if not methods:
        raise InputError(f"methods is empty; name at least one of {listing(METHODS)}.", parameter="methods")
    read_by = {name: params[name] for name in ("explainer", "min_group_size") if name in params}
    template = FairSHAP(estimator, **who, **read_by, random_state=seed)
    cv = CrossValidation.read("evaluate", template, X, y, positive, n_folds, n_repeats, sensitive_features)
    models = {
        name: None if method is None else as_classifier(method, estimator) for name, method in methods.items()
    }
    trials = [trial_of(name, model, cv) for name, model in models.items()]
    evaluation, failed, *_ = cv.run(trials, n_jobs=n_jobs, verbose=verbose, skip=True)
    warn_of_skipped(failed)
    if methods[evaluation.names[0]] is None:
        # After a repair, a risk as low as noise is what was wanted.
        evaluation.warn_if_noise(cv.problem.groups.name)
    return evaluation


def evaluate_fitted(
    model: Any,
    X: Native,
    y: Any,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    positive: Any = None,
) -> Evaluation:
    """Return the evaluation of a fitted model on all rows of a table.

    If the model was trained on some of them, it looks better than it is. It is not trained again, so there is
    no noise level to compare its DR with. A model that was fitted without the attribute beside the table
    (``sensitive_features``) has a DR of 0.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import ColumnEncoder, datasets
    >>> from sklearn.pipeline import make_pipeline
    >>> d = datasets.make_biased(200, random_state=0)
    >>> model = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(d.X, d.y)
    >>> evaluate_fitted(model, d.X, d.y, sensitive=d.sensitive, privileged=d.privileged)
    Evaluation('model')
    """
    who = {"sensitive": sensitive, "privileged": privileged, "sensitive_features": sensitive_features}
    problem = Problem.read(X, y, **who, positive=positive, is_quantity=False)
    check_two_labels(problem, "evaluate_fitted")
    how = "On the rows of the table; a model looks better than it is on rows that it was trained on."
    return Evaluation.of(["model"], [[judge(model, problem)]], problem.groups.names, how)


def budget_curve(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    positive: Any = None,
    budgets: Sequence[int] | None = None,
    counterfactuals: CounterfactualRows = None,
    n_folds: int = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> Evaluation:
    """Return every measure against the number of edited cells, by cross-validation.

    ``frame()`` has a line for each budget, and ``plot()`` draws curves. Parameters that are not listed are
    those of :func:`fairshap.evaluate`.

    Parameters
    ----------
    budgets : sequence of int, optional
        The numbers of edited cells; by default 25, from none to the number of Shapley values of at least
        0.01.
    counterfactuals : {None, "edited", "all"} or float, default=None
        Which rows get counterfactuals; see :class:`fairshap.FairSHAP`.

    Examples
    --------
    >>> from fairshap import datasets
    >>> from fairshap.model_selection import budget_curve
    >>> d = datasets.make_biased(300, random_state=0)
    >>> curve = budget_curve(d.X, d.y, sensitive=d.sensitive, privileged=d.privileged, budgets=[0, 30],
    ...                      n_folds=2, random_state=0)
    >>> curve.frame()["edits"].tolist()
    [0.0, 30.0]
    """
    seed = draw_seed(random_state)
    who = {"sensitive": sensitive, "privileged": privileged}
    sampler = FairSHAP(estimator, **who, random_state=seed, n_jobs=n_jobs, **params)
    check_unfitted(sampler.estimator, "budget_curve")
    cv = CrossValidation.read("budget_curve", sampler, X, y, positive, n_folds, n_repeats, sensitive_features)
    if budgets is None:
        explanation = with_params(cv.template)._explain(cv.problem, Recipe(Budget()))
        most = int(np.count_nonzero(reaches(explanation.values, _END, explanation.unit)))
        budgets = np.unique(np.linspace(0, most, _POINTS).round().astype(np.int64)).tolist()
    points = np.asarray(budgets)
    if points.ndim != 1 or not len(points) or points.dtype.kind not in "iu" or points.min() < 0:
        message = f"budgets={budgets!r} must be numbers of cells, whole ones from 0 on."
        raise InputError(message, parameter="budgets")
    trials = []
    for n in points.tolist():
        chosen = {"selector": Budget(n) if n else Threshold(np.inf), "threshold": None}
        edited = with_params(cv.template, **chosen, counterfactuals=counterfactuals)
        trials.append(Trial(n, edited) if n or counterfactuals is not None else Trial(n))
    how: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose, "has_noise": False}
    return cv.run(trials, title="Curve", by="budget", **how).evaluation


def _make_method(
    name: str, who: dict[str, Any], params: dict[str, Any], is_beside: bool, positive: Any
) -> Any:
    """Return the mitigation method or classifier that a name stands for, None for the baseline."""
    check_choice(name, "methods", list(METHODS))
    if is_beside and _is_of_column(name):
        raise InputError(
            f"methods names {name!r}, which needs the sensitive attribute as a column of X. With "
            "sensitive_features no model sees it.",
            parameter="methods",
        )
    estimator, seed = params["estimator"], params["random_state"]
    seeded = {**who, "positive": positive, "random_state": seed}
    match name:
        case "baseline":
            return None
        case "rsa":
            return mitigation.SensitiveRemover(**who)
        case "reweighing":
            return mitigation.Reweigher(**who)
        case "counterfactuals":
            return mitigation.CounterfactualAugmenter(**who)
        case "correction":
            return mitigation.ProxyCorrection(estimator, **seeded)
    if not name.startswith(("rsa-", "fairshap")):
        return _make_peer(name, estimator, who, seeded)
    if name.startswith("rsa-"):
        method = {
            "rsa-reweighing": mitigation.Reweigher(**who),
            "rsa-reweighing-squared": mitigation.Reweigher(**who, strength=2.0),
            "rsa-weights": mitigation.ParityWeigher(estimator, **seeded),
            "rsa-soft-labels": mitigation.SoftLabeler(estimator, **seeded),
        }[name]
        return mitigation.MitigatedClassifier(method, estimator, drop_sensitive=True)
    repair = FairSHAP(**who, **params)
    match name:
        case "fairshap-counterfactuals":
            return FairSHAP(**who, **{"counterfactuals": "edited", **params})
        case "fairshap":
            return repair
        case "fairshap-parity" | "fairshap-reweighing":
            limits = clone(make_constraints(repair.constraints)).set_params(direction="parity")
            weights = mitigation.Reweigher(**who) if name == "fairshap-reweighing" else None
            directed = with_params(repair, constraints=limits)
            return FairSHAPClassifier(directed, estimator, weights=weights, drop_sensitive=True)
    after = name.removeprefix("fairshap-")
    if after in ("thresholds", "error-parity"):
        return _make_peer(after, as_classifier(repair, estimator), who, seeded)
    peer = as_classifier(_make_peer(after, estimator, who, seeded), estimator)
    return FairSHAPClassifier(repair, peer, weights=None, drop_sensitive=False)


def _is_of_column(name: str) -> bool:
    return name.removeprefix("fairshap-") in _OF_COLUMN


def _make_peer(name: str, estimator: Any, who: dict[str, Any], seeded: dict[str, Any]) -> Any:
    """Return what another library does, by its name."""
    match name:
        case "cr":
            # The attribute stays, as in the paper: without it there would be no risk to measure.
            return mitigation.CorrelationRemover(**who, keep_sensitive=True)
        case "exponentiated-gradient":
            return mitigation.ReductionClassifier(estimator, **seeded)
        case "grid-search":
            return mitigation.ReductionClassifier(estimator, **seeded, method="grid_search")
        case "thresholds":
            return mitigation.ThresholdClassifier(estimator, **seeded)
    return mitigation.ThresholdClassifier(estimator, **seeded, method="error_parity")
