"""Metrics: how unfair a model is, and to whom. How good it is, :mod:`sklearn.metrics` says."""

from typing import Any, Literal, TypeAlias, TypedDict, Unpack, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairshap._frames import Table, read_column
from fairshap._messages import check_choice, did_you_mean, listing
from fairshap._models import Risk, Scorer, sees_attribute
from fairshap._problem import (
    Comparison,
    Groups,
    Privileged,
    Problem,
    check_weights,
    is_continuous,
    read_attribute,
    read_target,
)
from fairshap._typing import Bools, Floats, Ints, Native
from fairshap.exceptions import GroupError, InputError, TargetError

__all__ = [
    "demographic_parity_difference",
    "discriminative_risk",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "false_positive_rate_difference",
    "group_frame",
    "mean_score_difference",
    "predictive_parity_difference",
]

# In these pairs of labels, 1 is the positive one.
_KNOWN_POSITIVE = ({0, 1}, {-1, 1})

#: The groups that a difference is taken between.
Between: TypeAlias = Literal["groups", "pooled"]


class _Options(TypedDict, total=False):
    """The options of all differences."""

    privileged: Privileged
    sample_weight: Any
    between: Between


# What rates are made of: all rows, those predicted positive, those that are positive, those that are both.
_ALL, _PREDICTED, _POSITIVE, _BOTH = np.eye(4)

#: Each rate as what is counted, and among what: combinations of the above, for a single row and sums alike.
RATES = {
    "base_rate": (_POSITIVE, _ALL),
    "positive_rate": (_PREDICTED, _ALL),
    "true_positive_rate": (_BOTH, _POSITIVE),
    "false_positive_rate": (_PREDICTED - _BOTH, _ALL - _POSITIVE),
    "precision": (_BOTH, _PREDICTED),
    "accuracy": (_ALL - _PREDICTED - _POSITIVE + 2 * _BOTH, _ALL),
}


def discriminative_risk(
    model: Any,
    X: Native,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    comparison: Comparison = "max",
    min_group_size: int | None = None,
    random_state: Any = None,
    reduce: Literal["mean"] | None = "mean",
) -> Any:
    """Return how much the model's output changes when nothing but the sensitive attribute does (DR).

    ``|f(x, A=0) - f(x, A=1)|`` for each row, where f is the probability of a class or a regressor's
    prediction. With more than two classes it is half the sum of these differences over the classes, the total
    variation. For a quantity such as age, a row's own value is compared with the median of the other group.

    An attribute that carries no information has a risk above 0 too, because a model finds some use for any
    column. :func:`fairshap.evaluate` shows this noise level next to the risk.

    Parameters
    ----------
    model : object
        A fitted regressor, or classifier with ``predict_proba`` or ``decision_function``.
    X : data frame or array
        The rows, as the model takes them.
    sensitive, privileged, min_group_size
        The sensitive attribute and its groups; see :class:`fairshap.FairSHAP`.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X. A model that was fitted with it sees it as a last
        column; a model that takes the columns of X alone has a risk of 0.
    comparison : {"max", "mean", "random"}, default="max"
        With more than two values: the largest or the mean difference between two of different groups, or
        that between the row's own value and a random one of the other group, as in the paper's code.
    random_state : int, RandomState instance or None
        The seed of the random comparison.
    reduce : {"mean"} or None, default="mean"
        The mean, a float; or with None the risk of each row, an array with NaN where a quantity is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0, 1.0], [1, 2.0], [0, 3.0], [1, 4.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> round(discriminative_risk(model, X, sensitive=0, privileged=1), 3)
    0.031
    """
    check_choice(reduce, "reduce", ("mean", None))
    who = {"sensitive": sensitive, "privileged": privileged, "sensitive_features": sensitive_features}
    how = {"comparison": comparison, "min_group_size": min_group_size, "random_state": random_state}
    problem = Problem.read(X, **who, **how)
    scorer, is_blind = Scorer(model), not sees_attribute(model, problem)
    risks = np.zeros(problem.own.n_rows) if is_blind else row_risks(Risk(scorer, problem))
    return float(np.nanmean(risks)) if reduce else risks


def row_risks(risk: Risk, rows: Ints | None = None) -> Floats:
    """Return the risk of rows, by default of all, NaN where a quantity is missing."""
    rows = np.arange(risk.problem.table.n_rows) if rows is None else rows
    risks = risk.of_rows(rows)
    if risk.problem.groups.by_row:
        risks[risk.problem.groups.side[rows] < 0] = np.nan
    return risks


def demographic_parity_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged = None,
    positive: Any = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the difference in the rate of positive predictions (DP).

    The largest difference between two groups, ``max P(f = 1 | A = a) - min P(f = 1 | A = b)``. A rate of
    nothing, as that of a group whose rows all weigh nothing, is 0.

    Parameters
    ----------
    y_true, y_pred : array-like
        The true labels, which are not used here (all metrics are called alike), and the predicted ones.
    sensitive_features : array-like
        The sensitive attribute of each row. Rows where it is missing are left out.
    privileged : value, list of values, pandas.Interval or function, optional
        The privileged values. A quantity such as age needs it, and so does "pooled".
    positive : label, optional
        The positive label, by default the larger of two; all others count as one.
    sample_weight : array-like, optional
        The weights of the rows.
    between : {"groups", "pooled"}, default="groups"
        "groups" compares each value of the attribute with each other one, "pooled" the privileged rows with
        all others as one, as in the paper, which can hide differences among these.

    Examples
    --------
    >>> demographic_parity_difference([0, 1, 0, 1], [1, 1, 0, 1], sensitive_features=list("mmff"))
    0.5
    """
    options: _Options = {"privileged": privileged, "sample_weight": sample_weight, "between": between}
    return _difference("positive_rate", y_true, y_pred, sensitive_features, positive, **options)


def equal_opportunity_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, positive: Any = None, **options: Unpack[_Options]
) -> float:
    """Return the difference in the true positive rate (EO).

    The rate is ``P(f = 1 | y = 1, A = a)``; otherwise as :func:`demographic_parity_difference`.

    Examples
    --------
    >>> equal_opportunity_difference([1, 1, 1, 1], [1, 1, 0, 1], sensitive_features=list("mmff"))
    0.5
    """
    return _difference("true_positive_rate", y_true, y_pred, sensitive_features, positive, **options)


def false_positive_rate_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, positive: Any = None, **options: Unpack[_Options]
) -> float:
    """Return the difference in the false positive rate (predictive equality).

    The rate is ``P(f = 1 | y = 0, A = a)``; otherwise as :func:`demographic_parity_difference`.

    Examples
    --------
    >>> false_positive_rate_difference([0, 0, 0, 0], [1, 1, 0, 1], sensitive_features=list("mmff"))
    0.5
    """
    return _difference("false_positive_rate", y_true, y_pred, sensitive_features, positive, **options)


def equalized_odds_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, positive: Any = None, **options: Unpack[_Options]
) -> float:
    """Return the larger of the differences in the true and in the false positive rate.

    The parameters are those of :func:`demographic_parity_difference`.

    Examples
    --------
    >>> equalized_odds_difference([1, 0, 1, 0], [1, 1, 1, 0], sensitive_features=list("mmff"))
    1.0
    """
    both = ("true_positive_rate", "false_positive_rate")
    return max(_difference(rate, y_true, y_pred, sensitive_features, positive, **options) for rate in both)


def predictive_parity_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, positive: Any = None, **options: Unpack[_Options]
) -> float:
    """Return the difference in precision (the paper's PQP).

    The rate is ``P(y = 1 | f = 1, A = a)``; otherwise as :func:`demographic_parity_difference`.

    Examples
    --------
    >>> predictive_parity_difference([1, 1, 0, 1], [1, 1, 1, 1], sensitive_features=list("mmff"))
    0.5
    """
    return _difference("precision", y_true, y_pred, sensitive_features, positive, **options)


def mean_score_difference(
    y_true: Any, y_score: Any, *, sensitive_features: Any, **options: Unpack[_Options]
) -> float:
    """Return the difference in the mean score: demographic parity without a cut-off.

    As :func:`demographic_parity_difference`, with scores instead of labels: probabilities, or a regressor's
    predictions.

    Examples
    --------
    >>> mean_score_difference(None, [0.5, 1.0, 0.0, 0.5], sensitive_features=list("mmff"))
    0.5
    """
    scores = _scores(y_score, None if y_true is None else len(y_true))
    return _widest(scores, np.ones(len(scores)), sensitive_features, **options)


def group_frame(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, y_score: Any = None, positive: Any = None
) -> pd.DataFrame:
    """Return one line for each value of the sensitive attribute, the most frequent first.

    The columns are ``rows``, ``base_rate`` (the share of positive labels), ``positive_rate`` (of positive
    predictions), ``true_positive_rate``, ``false_positive_rate``, ``precision`` and ``accuracy``. A rate of
    nothing is NaN.

    Parameters
    ----------
    y_true, y_pred : array-like
        The true and the predicted labels.
    sensitive_features : array-like
        The sensitive attribute of each row. Rows where it is missing have a line of their own.
    y_score : array-like, optional
        Scores such as probabilities or a regressor's predictions, for one more column, ``mean_score``.
    positive : label, optional
        The positive label; by default the larger of two. With more than two labels it must be given.

    Examples
    --------
    >>> group_frame([1, 0, 1], [1, 0, 0], sensitive_features=["m", "m", "f"])["accuracy"].tolist()
    [1.0, 0.0]
    """
    true, predicted = _positives(y_true, y_pred, positive)
    table = _attributes(sensitive_features, len(true))
    cells, values, _ = read_attribute(table, range(len(table.names)), most_numbers=len(true))
    codes = np.where(cells < 0, len(values), cells)
    counts = count_by_group(parts_of(true, predicted), codes, len(values) + 1)
    data: dict[str, Any] = {"rows": counts[:, 0].astype(np.int64)} | rates_of(counts)
    # With more than two labels, the accuracy is that of all of them.
    right = np.equal(*_both_labels(y_true, y_pred))
    data["accuracy"] = rates(np.bincount(codes, right, len(counts)), counts[:, 0])
    if y_score is not None:
        scores = _scores(y_score, len(true))
        data["mean_score"] = rates(np.bincount(codes, scores, len(counts)), counts[:, 0])
    name = table.names[0] if len(table.names) == 1 else table.names
    index = pd.Index([*values, None], name=name, tupleize_cols=False)
    order = np.argsort(-counts[:, 0], kind="stable")
    frame: pd.DataFrame = pd.DataFrame(data, index=index).iloc[order[counts[order, 0] > 0]]
    return frame


def rates(counted: NDArray[Any], among: NDArray[Any]) -> Floats:
    """Return the rate of each group, NaN where there is nothing to take the rate of."""
    return np.asarray(np.divide(counted, among, out=np.full(counted.shape, np.nan), where=among > 0))


def parts_of(true: NDArray[Any], predicted: NDArray[Any]) -> Floats:
    """Return for each row what rates are made of, shape (rows, 4)."""
    return np.column_stack([np.ones(len(true)), predicted, true, true * predicted])


def count_by_group(parts: Floats, codes: Ints, n_groups: int) -> Floats:
    """Return for each group what rates are made of, shape (groups, 4)."""
    return np.column_stack([np.bincount(codes, part, n_groups) for part in parts.T])


def rates_of(counts: Floats) -> dict[str, Floats]:
    """Return all rates of each group."""
    return {name: rates(counts @ counted, counts @ among) for name, (counted, among) in RATES.items()}


def _difference(
    rate: str, y_true: Any, y_pred: Any, groups: Any, positive: Any, **options: Unpack[_Options]
) -> float:
    """Return the largest difference in a rate between two groups."""
    parts = parts_of(*_positives(y_true, y_pred, positive))
    counted, among = RATES[rate]
    return _widest(parts @ counted, parts @ among, groups, **options)


def _widest(
    counted: Floats,
    among: Floats,
    groups: Any,
    privileged: Privileged = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the largest difference between two groups in the weighted share of what is counted."""
    codes = _codes(groups, privileged, between, len(counted))
    weights, known = check_weights(sample_weight, len(counted)), codes >= 0
    parts = (part if weights is None else part * weights for part in (counted, among))
    sums = (np.bincount(codes[known], part[known]) for part in parts)
    # Nothing to take a rate of is a rate of 0, as in fairlearn.
    return float(np.ptp(np.nan_to_num(rates(*sums))))


def _codes(sensitive_features: Any, privileged: Privileged, between: Between, n_rows: int) -> Ints:
    """Return the number of each row's group among those that are compared, -1 where it is missing."""
    check_choice(between, "between", get_args(Between))
    table = _attributes(sensitive_features, n_rows)
    columns = range(len(table.names))
    if privileged is not None or between == "pooled":
        groups = Groups.read(table, columns, privileged, min_group_size=1)
        return groups.side.astype(np.int64) if between == "pooled" else groups.code
    codes, values, _ = read_attribute(table, columns)
    if len(values) < 2:
        message = f"holds {listing(values)} in all {n_rows} rows; a difference needs two groups."
        raise GroupError(f"sensitive_features {message}", parameter="sensitive_features")
    return codes


def _attributes(sensitive_features: Any, n_rows: int) -> Table:
    """Return the attribute, or several, as a table."""
    name = "sensitive_features"
    if sensitive_features is None:
        raise GroupError(f"{name} is not given; give the attribute of each row.", parameter=name)
    frame = read_column(sensitive_features, name)
    if len(frame) != n_rows or not frame.shape[1]:
        message = f"{name} has shape {frame.shape}; one value for each of {n_rows} rows is needed."
        raise InputError(message, parameter=name)
    return Table.read(frame)


def _positives(y_true: Any, y_pred: Any, positive: Any) -> tuple[Bools, Bools]:
    """Return which rows are positive, and which are predicted to be."""
    true, predicted = _both_labels(y_true, y_pred)
    known = set(true.tolist()) | set(predicted.tolist())
    labels = sorted(known, key=str)
    if positive is None:
        if len(known) > 2:
            raise TargetError(
                f"y_true and y_pred hold {len(known)} labels, {listing(labels)}; say which is positive, such "
                f"as positive={max(known)!r}. All others then count as one."
            )
        is_known = any(known <= pair for pair in _KNOWN_POSITIVE)
        if len(known) < 2 and not is_known:
            message = f"only the label {listing(labels)} occurs"
            raise TargetError(f"{message}; say which label is positive, positive=...")
        positive = 1 if is_known else max(known)
    elif positive not in known and (len(known) >= 2 or did_you_mean(positive, labels)):
        # A single label may be the negative one, unless it looks like the positive one misspelled.
        message = f"positive={positive!r} does not occur; the labels are {listing(labels)}."
        raise TargetError(f"{message}{did_you_mean(positive, labels)}", parameter="positive")
    return true == positive, predicted == positive


def _scores(y_score: Any, n_rows: int | None) -> Floats:
    scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim != 1 or n_rows not in (None, len(scores)):
        example = "for example model.predict_proba(X)[:, 1]"
        raise InputError(f"y_score has shape {scores.shape}; give one score for each row, {example}.")
    return scores


def _both_labels(y_true: Any, y_pred: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the true and the predicted labels, which must be of one kind and no quantities."""
    true, predicted = (read_target(labels, len(labels)) for labels in (y_true, y_pred))
    if (true.dtype.kind in "US") != (predicted.dtype.kind in "US"):
        kinds = f"y_true {true.dtype}, y_pred {predicted.dtype}"
        raise TargetError(f"text and numbers are never the same label; the types are: {kinds}.")
    if len(true) != len(predicted):
        lengths = f"y_true {len(true)}, y_pred {len(predicted)}"
        raise InputError(f"all must have one value for each row; the lengths are: {lengths}.")
    for name, values in (("y_true", true), ("y_pred", predicted)):
        if is_continuous(np.unique(values)):
            raise TargetError(
                f"{name} holds quantities, such as {values[0]:.6g}, where labels are needed. If they are "
                "probabilities, give predicted labels. For a regressor, mean_score_difference is the "
                "difference in the mean prediction, discriminative_risk what the attribute alone changes, "
                "and sklearn.metrics has the errors."
            )
    return true, predicted
