"""The loop over folds and methods."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from warnings import catch_warnings

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from fairshap._frames import open_store
from fairshap._models import Weighing, default_estimator, is_frozen
from fairshap._problem import Labels, Privileged, Setting, warn_of_copies
from fairshap._progress import Progress
from fairshap._typing import Native
from fairshap.comparing._comparison import Comparison
from fairshap.comparing._methods import read_methods
from fairshap.exceptions import (
    CopiedAttributeWarning,
    InputError,
    MissingExtraError,
    PooledGroupsWarning,
    TargetError,
    WeightsWarning,
)
from fairshap.mitigation import BaselineClassifier, SensitiveRemover
from fairshap.model_selection import (
    Judgement,
    Measured,
    judge,
    make_folds,
    shuffled_risk,
    warn_if_noise,
    warn_of_skipped,
)

# Parameters of the methods that also say how the rows are compared when judging.
_COMPARED = ("comparison", "min_group_size")


def evaluate(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    positive: Any = None,
    methods: Iterable[str] | Mapping[str, Any] = ("baseline", "rsa", "reweighing", "fairshap"),
    n_folds: int | None = None,
    n_repeats: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> Comparison:
    """Compare FairSHAP with what people would use instead, on rows that were not trained on.

    "cr" and "dir" transform the rows to predict too, each by its own attribute. Their risk is that of
    transformed rows whose attribute is switched, as in the paper. Switching it before, in the row as it was
    recorded, moves the other columns too: what that does is ``raw_dr``.

    A method that cannot be trained is left out, with a warning: "reweighing", for example, with an estimator
    that takes no weights. If the model as it is cannot be trained, its error is raised.

    Parameters
    ----------
    X : data frame or array
        The table, which holds the sensitive attribute.
    y : array-like
        The label of each row, two values.
    estimator : classifier, optional
        The classifier that is trained after each method; by default scikit-learn's histogram gradient
        boosting.
    sensitive, privileged, positive
        See :class:`fairshap.FairSHAP`.
    methods : sequence of str, or mapping of str to object
        "baseline" (the model as it is), "rsa" (the sensitive column dropped), "cr" (correlation removed),
        "dir" (disparate impact removed), "reweighing", "twins", "fairshap" or "fairshap-twins". Or objects of
        :mod:`fairshap.mitigation` by names of your own, None for the model as it is.
    n_folds, n_repeats : int, optional
        The folds, in each of which each label of each side has its share, and how often the rows are dealt
        into them. By default 5 folds, 3 from 100,000 rows on, repeated up to four times for a small table;
        :func:`fairshap.tune` and the report have the same ones. With ``n_folds`` alone there are no repeats.
    random_state : int, RandomState instance or None
        The source of the folds, and of whatever the methods draw.
    n_jobs, verbose
        See :class:`fairshap.FairSHAP`.
    **params
        Other parameters of :class:`fairshap.FairSHAP` for the methods of that name, such as ``threshold``.

    Returns
    -------
    Comparison
        ``frame()``: all methods with 95 % intervals; ``changes()``: how far they are from the first.

    Examples
    --------
    >>> from fairshap import datasets, evaluate
    >>> d = datasets.make_biased(300, random_state=0)
    >>> comparison = evaluate(d.X, d.y, sensitive=d.sensitive, privileged=d.privileged,
    ...                       methods=["baseline", "rsa"], n_folds=3, random_state=0)
    >>> comparison.frame()[["method", "dr"]].round(2)["dr"].tolist()[1]
    0.0
    """
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    estimator = default_estimator(seed) if estimator is None else estimator
    who = {"sensitive": sensitive, "privileged": privileged}
    made = read_methods(methods, estimator=estimator, random_state=seed, n_jobs=n_jobs, **who, **params)
    X = open_store(X).native
    compared: dict[str, Any] = {name: params[name] for name in _COMPARED if name in params}
    compared["random_state"] = seed
    setting = Setting.read(X, sensitive, privileged, **compared)
    warn_of_copies(setting)
    made = {name: _for_folds(method, X) for name, method in made.items()}
    privileged = setting.privileged_in_parts
    n_rows = setting.table.n_rows
    labels = Labels.read(y, n_rows, positive, is_quantity=False)
    if labels.classes is None or len(labels.classes) != 2:
        raise TargetError(
            "evaluate takes a target of two labels; DP, EO and PQP are measures of those.", parameter="y"
        )
    folds = make_folds(labels, setting.groups.side, n_folds, n_repeats, seed)
    judged: dict[str, list[Judgement]] = {name: [] for name in made}
    edits, share, raw_dr, n_risks = np.zeros((4, len(made)))
    noise: list[float] = []
    if any(_weighs_twins(method) for method in made.values()):
        Weighing.of(estimator, X, labels.values).warn_of_repeats()
    failed: dict[str, Exception] = {}
    with (
        # What is to be said of the weights, and of the whole table, has been said once for all folds.
        catch_warnings(action="ignore", category=WeightsWarning),
        catch_warnings(action="ignore", category=CopiedAttributeWarning),
        Progress("Evaluating", len(folds) * len(made), verbose) as progress,
    ):
        for train, test in folds:
            X_train, y_train = _safe_indexing(X, train), _safe_indexing(y, train)
            for k, (name, method) in enumerate(made.items()):
                model = None if name in failed else _train(name, method, estimator, X_train, y_train, failed)
                if model is None:
                    progress.advance(len(test), 1)
                    continue
                one = judge(model, setting, labels, labels.positive_value, test)
                # Each row counts the same, whatever the size of its fold.
                raw_dr[k] += np.nansum(one.risk)
                n_risks[k] += np.count_nonzero(~np.isnan(one.risk))
                if _keeps_attribute(model.baseline_):
                    rows = model.prepare_rows(_safe_indexing(X, test))
                    moved = Setting.read(rows, sensitive, privileged, **compared)
                    after = judge(model.estimator_, moved, labels.of_rows(test), labels.positive_value)
                    one = replace(after, rows=test, group=one.group)
                judged[name].append(one)
                n_edits = len(getattr(model.baseline_, "edits_", ()))
                edits[k] += n_edits / len(folds)
                share[k] += n_edits / (len(train) * len(setting.own.names)) / len(folds)
                progress.advance(len(test), 1)
            if not is_frozen(estimator):
                fit = partial(BaselineClassifier(None, estimator).fit, y=y_train)
                noise.append(shuffled_risk(setting, train, fit, setting, test, seed + len(noise)))
    kept = [k for k, name in enumerate(made) if name not in failed]
    if not kept:
        raise next(iter(failed.values()))
    warn_of_skipped(failed)
    judged = {name: parts for name, parts in judged.items() if name not in failed}
    measured = Measured.of(list(judged.values()), setting.groups.names)
    if made[next(iter(judged))] is None:
        # Of what is repaired already, a risk as low as noise is what was wanted.
        warn_if_noise(measured, np.array(noise) if noise else None, setting.groups.name)
    return Comparison(
        methods=tuple(judged),
        measured=measured,
        edits=edits[kept],
        share=share[kept],
        raw_dr=raw_dr[kept] / n_risks[kept],
        noise=np.array(noise) if noise else None,
        folds=folds,
    )


def _train(
    name: str, method: Any, estimator: Any, X: Native, y: Any, failed: dict[str, Exception]
) -> BaselineClassifier | None:
    """Return the classifier trained after a method; None if that fails, with the reason among the failed.

    The model as it is has to be trained, and what was asked for in a wrong way is an error.
    """
    fresh = None if method is None else clone(method)
    try:
        return BaselineClassifier(fresh, estimator).fit(X, y)
    except Exception as error:
        if method is None or isinstance(error, (InputError, MissingExtraError, Warning)):
            raise
        failed[name] = error
        return None


def _weighs_twins(method: Any) -> bool:
    """Say whether rows weigh differently after a method because only some of them have twins."""
    return getattr(method, "augment", None) not in (None, "auto", "all")


def _for_folds(method: Any, X: Native) -> Any:
    """Return a method, or a copy that takes folds which lack some of the privileged values of the table."""
    if method is None or not {"sensitive", "privileged"} <= set(method.get_params(deep=False)):
        return method
    with catch_warnings(action="ignore", category=PooledGroupsWarning):
        known = Setting.read(X, method.sensitive, method.privileged).privileged_in_parts
    return clone(method).set_params(privileged=known)


def _keeps_attribute(baseline: Any) -> bool:
    """Say whether rows are transformed before they are predicted, with their attribute still beside them."""
    transforms = getattr(baseline, "transforms_test_rows", False)
    return (
        transforms
        and not isinstance(baseline, SensitiveRemover)
        and getattr(baseline, "keep_sensitive", True)
    )
