"""Metrics of labels: accuracy, the differences between groups, and a frame by group."""

from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairshap._frames import Table, read_column
from fairshap._messages import did_you_mean, listing
from fairshap._problem import Groups, Privileged, check_weights, is_continuous, read_attribute, read_target
from fairshap._typing import Bools, Floats, Ints
from fairshap.exceptions import GroupError, InputError, TargetError

# In these pairs of labels, 1 is the positive one.
_KNOWN_POSITIVE = ({0, 1}, {-1, 1})

#: The groups that a difference is taken between.
Between: TypeAlias = Literal["groups", "pooled"]
BETWEEN = ("groups", "pooled")


class Options(TypedDict, total=False):
    """The options of :func:`demographic_parity_difference`, which all differences have."""

    privileged: Privileged
    positive: Any
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


def accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of rows that are predicted correctly.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    true, predicted = _both_labels(y_true, y_pred)
    weights = _weights(sample_weight, len(true))
    return float(np.average(true == predicted, weights=weights)) if weights.sum() > 0 else 0.0


def balanced_accuracy(y_true: Any, y_pred: Any, *, positive: Any = None, sample_weight: Any = None) -> float:
    """Return the mean of the true positive and the true negative rate.

    With more than two labels ``positive`` must be given; all others then count as one.

    Examples
    --------
    >>> balanced_accuracy([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    parts = parts_of(*_positives(y_true, y_pred, positive))
    found = rates_of(_weights(sample_weight, len(parts)) @ parts)
    return float(np.nanmean([found["true_positive_rate"], 1 - found["false_positive_rate"]]))


def roc_auc(y_true: Any, y_score: Any, *, positive: Any = None, sample_weight: Any = None) -> float:
    """Return the area under the ROC curve: how often a positive row has a higher score than a negative one.

    Ties count half. ``y_score`` has the score of the positive label, by default the larger of two.

    Examples
    --------
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    true = _positives(y_true, y_true, positive)[0]
    weights = _weights(sample_weight, len(true))
    placed = weights * placements(true, _scores(y_score, len(true)), weights)
    pairs = weights[true].sum() * weights[~true].sum()
    return float(placed[true].sum() / pairs) if pairs > 0 else float("nan")


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

    The largest difference between two groups, ``max P(f = 1 | A = a) - min P(f = 1 | A = b)``. With two
    groups it is ``|P(f = 1 | A = 1) - P(f = 1 | A = 0)|``.

    Parameters
    ----------
    y_true : array-like
        The true labels. They are not used here; all metrics are called alike.
    y_pred : array-like
        The predicted labels.
    sensitive_features : array-like
        The sensitive attribute of each row. Rows where it is missing are left out.
    privileged : value, list of values, pandas.Interval or function, optional
        The privileged values. A quantity such as age needs it, and so does "pooled".
    positive : label, optional
        The positive label; by default the larger of two. With more than two labels it must be given; all
        others then count as one.
    sample_weight : array-like, optional
        The weights of the rows.
    between : {"groups", "pooled"}, default="groups"
        "groups" compares each value of the attribute with each other one: the group with the highest rate
        with the group with the lowest. "pooled" compares the privileged rows with all others as one, as in
        the paper, which can hide differences among these.

    Examples
    --------
    >>> demographic_parity_difference([0, 1, 0, 1], [1, 1, 0, 1],
    ...                               sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    >>> demographic_parity_difference([0, 1, 0, 1], [1, 1, 0, 1], sensitive_features=["a", "b", "c", "c"])
    0.5
    """
    given = sensitive_features, privileged, positive, sample_weight, between
    return _difference("positive_rate", y_true, y_pred, *given)


def equal_opportunity_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, **options: Unpack[Options]
) -> float:
    """Return the difference in the true positive rate (EO).

    The largest difference in ``P(f = 1 | y = 1, A = a)`` between two groups. A group without positive rows
    has a rate of 0. The parameters are those of :func:`demographic_parity_difference`.

    Examples
    --------
    >>> equal_opportunity_difference([1, 1, 1, 1], [1, 1, 0, 1],
    ...                              sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    return _difference("true_positive_rate", y_true, y_pred, sensitive_features, **options)


def false_positive_rate_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, **options: Unpack[Options]
) -> float:
    """Return the difference in the false positive rate (predictive equality).

    The largest difference in ``P(f = 1 | y = 0, A = a)`` between two groups. A group without negative rows
    has a rate of 0. The parameters are those of :func:`demographic_parity_difference`.

    Examples
    --------
    >>> false_positive_rate_difference([0, 0, 0, 0], [1, 1, 0, 1],
    ...                                sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    return _difference("false_positive_rate", y_true, y_pred, sensitive_features, **options)


def equalized_odds_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, **options: Unpack[Options]
) -> float:
    """Return the larger of the differences in the true and in the false positive rate.

    The parameters are those of :func:`demographic_parity_difference`.

    Examples
    --------
    >>> equalized_odds_difference([1, 0, 1, 0], [1, 1, 1, 0],
    ...                           sensitive_features=["m", "m", "f", "f"], privileged="m")
    1.0
    """
    both = ("true_positive_rate", "false_positive_rate")
    return max(_difference(rate, y_true, y_pred, sensitive_features, **options) for rate in both)


def predictive_parity_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, **options: Unpack[Options]
) -> float:
    """Return the difference in precision (the paper's PQP).

    The largest difference in ``P(y = 1 | f = 1, A = a)`` between two groups. A group without positive
    predictions has a precision of 0. The parameters are those of :func:`demographic_parity_difference`.

    Examples
    --------
    >>> predictive_parity_difference([1, 1, 0, 1], [1, 1, 1, 1],
    ...                              sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    return _difference("precision", y_true, y_pred, sensitive_features, **options)


def mean_score_difference(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the difference in the mean score: demographic parity without a cut-off.

    The largest difference in ``E[f | A = a]`` between two groups. The parameters are those of
    :func:`demographic_parity_difference`, with scores instead of predicted labels: probabilities, or a
    regressor's predictions.

    Examples
    --------
    >>> mean_score_difference([0, 1, 0, 1], [0.5, 1.0, 0.0, 0.5],
    ...                       sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    scores = _scores(y_score, None if y_true is None else len(y_true))
    codes = _codes(sensitive_features, privileged, between, len(scores))
    return _widest(scores, np.ones(len(scores)), codes, _weights(sample_weight, len(scores)))


def group_frame(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    y_score: Any = None,
    positive: Any = None,
) -> pd.DataFrame:
    """Return one line for each value of the sensitive attribute, the most frequent first.

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

    Returns
    -------
    pandas.DataFrame
        ``rows``, ``base_rate`` (the share of positive labels), ``positive_rate`` (of positive predictions),
        ``true_positive_rate``, ``false_positive_rate``, ``precision`` and ``accuracy``. A rate of nothing is
        NaN.

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


def placements(positive: Bools, scores: Floats, weights: Floats | None = None) -> Floats:
    """Return for each row the weight of the rows of the other label that its score is on the right side of.

    Ties count half. The mean over the positive rows, as a share of all negative rows, is the ROC AUC.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    _, place = np.unique(scores, return_inverse=True)
    negative, own = (np.bincount(place, weights * part) for part in (~positive, positive))
    below = np.cumsum(negative) - negative / 2
    above = own.sum() - np.cumsum(own) + own / 2
    return np.where(positive, below[place], above[place])


def _difference(
    rate: str,
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    privileged: Privileged = None,
    positive: Any = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the largest difference in a rate between two groups."""
    parts = parts_of(*_positives(y_true, y_pred, positive))
    codes = _codes(sensitive_features, privileged, between, len(parts))
    counted, among = RATES[rate]
    return _widest(parts @ counted, parts @ among, codes, _weights(sample_weight, len(parts)))


def _widest(counted: Floats, among: Floats, codes: Ints, weights: Floats) -> float:
    """Return the largest difference between two groups in the weighted share of what is counted."""
    known = codes >= 0
    parts = (np.bincount(codes[known], (part * weights)[known]) for part in (counted, among))
    # Nothing to take a rate of is a rate of 0, as in fairlearn.
    return float(np.ptp(np.nan_to_num(rates(*parts))))


def _codes(sensitive_features: Any, privileged: Privileged, between: Between, n_rows: int) -> Ints:
    """Return the number of each row's group among those that are compared, -1 where it is missing."""
    if between not in BETWEEN:
        raise InputError(
            f"between={between!r} is not known; give one of {listing(BETWEEN)}."
            f"{did_you_mean(between, BETWEEN)}",
            parameter="between",
        )
    table = _attributes(sensitive_features, n_rows)
    columns = range(len(table.names))
    if privileged is not None or between == "pooled":
        groups = Groups.read(table, columns, privileged, min_group_size=1)
        return groups.side.astype(np.int64) if between == "pooled" else groups.code
    codes, values, _ = read_attribute(table, columns)
    if len(values) < 2:
        raise GroupError(
            f"sensitive_features holds {listing(values)} in all {n_rows} rows; a difference "
            "needs two groups.",
            parameter="sensitive_features",
        )
    return codes


def _attributes(sensitive_features: Any, n_rows: int) -> Table:
    """Return the attribute, or several, as a table."""
    if sensitive_features is None:
        raise GroupError(
            "sensitive_features is not given; give the attribute of each row.", parameter="sensitive_features"
        )
    frame = read_column(sensitive_features, "sensitive_features")
    if len(frame) != n_rows or not frame.shape[1]:
        raise InputError(
            f"sensitive_features has shape {frame.shape}; one value for each of {n_rows} rows is needed.",
            parameter="sensitive_features",
        )
    return Table.read(frame)


def _positives(y_true: Any, y_pred: Any, positive: Any) -> tuple[Bools, Bools]:
    """Return which rows are positive, and which are predicted to be."""
    true, predicted = _both_labels(y_true, y_pred)
    known = set(true.tolist()) | set(predicted.tolist())
    if positive is None:
        if len(known) > 2:
            raise TargetError(
                f"y_true and y_pred hold {len(known)} labels, {listing(sorted(known, key=str))}; say which "
                f"is positive, such as positive={max(known)!r}. All others then count as one."
            )
        if any(known <= pair for pair in _KNOWN_POSITIVE):
            positive = 1
        elif len(known) != 2:
            raise TargetError(
                f"only the label {listing(known)} occurs; say which label is positive, positive=..."
            )
        else:
            positive = max(known)
    elif positive not in known and (len(known) >= 2 or did_you_mean(positive, list(known))):
        # A single label may be the negative one, unless it looks like the positive one misspelled.
        raise TargetError(
            f"positive={positive!r} does not occur; the labels are {listing(sorted(known, key=str))}."
            f"{did_you_mean(positive, sorted(known, key=str))}",
            parameter="positive",
        )
    return true == positive, predicted == positive


def _scores(y_score: Any, n_rows: int | None) -> Floats:
    scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim != 1 or len(scores) != (len(scores) if n_rows is None else n_rows):
        raise InputError(
            f"y_score has shape {scores.shape}; give one score for each row, for example "
            "model.predict_proba(X)[:, 1]."
        )
    return scores


def _both_labels(y_true: Any, y_pred: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the true and the predicted labels, which must be of one kind and no quantities."""
    labels = {"y_true": read_target(y_true, len(y_true)), "y_pred": read_target(y_pred, len(y_pred))}
    if len({values.dtype.kind in "US" for values in labels.values()}) > 1:
        kinds = ", ".join(f"{name} {values.dtype}" for name, values in labels.items())
        raise TargetError(f"text and numbers are never the same label; the types are: {kinds}.")
    if len({len(values) for values in labels.values()}) > 1:
        lengths = ", ".join(f"{name} {len(values)}" for name, values in labels.items())
        raise InputError(f"all must have one value for each row; the lengths are: {lengths}.")
    for name, values in labels.items():
        if is_continuous(np.unique(values)):
            raise TargetError(
                f"{name} holds quantities, such as {values[0]:.6g}, where labels are needed. If they are "
                "probabilities, give predicted labels. For a regressor, mean_score_difference is the "
                "difference in the mean prediction, discriminative_risk what the attribute alone changes, "
                "and sklearn.metrics has the errors."
            )
    return labels["y_true"], labels["y_pred"]


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    weights = check_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weights is None else weights
