"""Gaps between groups, and a table by group."""

from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairshap._frames import Table, read_column
from fairshap._messages import did_you_mean, listing
from fairshap._problem import Groups, Privileged, check_weights, is_continuous, read_attribute, read_target
from fairshap._typing import Bools, Floats, Ints
from fairshap.exceptions import GroupError, InputError, TargetError
from fairshap.metrics._rates import rates, widest_pair

# The two values of these targets need no word on which is positive.
_KNOWN_POSITIVE = ({0, 1}, {-1, 1})

#: Between which groups a gap is taken.
Between: TypeAlias = Literal["groups", "pooled"]
BETWEEN = ("groups", "pooled")


def accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of rows whose predicted label is the true one.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    true, predicted = _both_labels(y_true, y_pred)
    return _mean(true == predicted, _weights(sample_weight, len(true)))


def demographic_parity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged = None,
    positive: Any = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the gap in the rate of positive predictions (DP).

    The largest difference between two groups, ``max P(f = 1 | A = a) - min P(f = 1 | A = b)``; of two groups
    it is ``|P(f = 1 | A = 1) - P(f = 1 | A = 0)|``.

    Parameters
    ----------
    y_true : array-like
        The true labels, which play no part; the argument is there so that all metrics are called alike.
    y_pred : array-like
        The predicted labels.
    sensitive_features : array-like
        The sensitive attribute of each row. Rows where it is missing are left out.
    privileged : value, list of values, pandas.Interval or function, optional
        Which of its values are privileged. A quantity such as age needs it, and so does "pooled".
    positive : label, optional
        The positive label; by default the larger of two. More than two labels need it: it is then compared
        with all others as one.
    sample_weight : array-like, optional
        Weights of the rows.
    between : {"groups", "pooled"}, default="groups"
        Which groups are compared: each value of the attribute with each other one, so that it is the group
        of the highest rate against that of the lowest; or, as in the paper, the privileged rows with all
        others as one, which can hide gaps among these.

    Examples
    --------
    >>> demographic_parity([0, 1, 0, 1], [1, 1, 0, 1],
    ...                    sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    >>> demographic_parity([0, 1, 0, 1], [1, 1, 0, 1], sensitive_features=["a", "b", "c", "c"])
    0.5
    """
    true, predicted = _positives(y_true, y_pred, positive)
    codes = _codes(sensitive_features, privileged, between, len(true))
    return _gap(predicted, codes, sample_weight)


def equal_opportunity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged = None,
    positive: Any = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the gap in the true positive rate (EO).

    The largest difference in ``P(f = 1 | y = 1, A = a)`` between two groups; a group without positive rows
    counts as rate 0. The parameters are those of :func:`demographic_parity`.

    Examples
    --------
    >>> equal_opportunity([1, 1, 1, 1], [1, 1, 0, 1],
    ...                   sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    true, predicted = _positives(y_true, y_pred, positive)
    codes = _codes(sensitive_features, privileged, between, len(true))
    return _gap(predicted, codes, sample_weight, among=true)


def predictive_quality_parity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged = None,
    positive: Any = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the gap in precision (PQP).

    The largest difference in ``P(y = 1 | f = 1, A = a)`` between two groups; a group without positive
    predictions counts as precision 0. The parameters are those of :func:`demographic_parity`.

    Examples
    --------
    >>> predictive_quality_parity([1, 1, 0, 1], [1, 1, 1, 1],
    ...                           sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    true, predicted = _positives(y_true, y_pred, positive)
    codes = _codes(sensitive_features, privileged, between, len(true))
    return _gap(true, codes, sample_weight, among=predicted)


def score_demographic_parity(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged = None,
    sample_weight: Any = None,
    between: Between = "groups",
) -> float:
    """Return the gap in the mean score: demographic parity without a cut-off.

    The largest difference in ``E[f | A = a]`` between two groups. The parameters are those of
    :func:`demographic_parity`, with scores, such as probabilities or the predictions of a regressor, in the
    place of predicted labels.

    Examples
    --------
    >>> score_demographic_parity([0, 1, 0, 1], [0.5, 1.0, 0.0, 0.5],
    ...                          sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    scores = _scores(y_score, None if y_true is None else len(y_true))
    codes = _codes(sensitive_features, privileged, between, len(scores))
    return _gap(scores, codes, sample_weight)


def group_table(
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
        The sensitive attribute of each row; a missing one is a line of its own.
    y_score : array-like, optional
        Scores such as probabilities or a regressor's predictions, for one more column, ``mean_score``.
    positive : label, optional
        The positive label; by default the larger of two. More than two labels need it.

    Returns
    -------
    pandas.DataFrame
        ``rows``, ``base_rate`` (the share of positive labels), ``positive_rate`` (of positive predictions),
        ``true_positive_rate``, ``false_positive_rate``, ``precision``, ``accuracy``; NaN where
        nothing is there to take the rate of.

    Examples
    --------
    >>> group_table([1, 0, 1], [1, 0, 0], sensitive_features=["m", "m", "f"])["accuracy"].tolist()
    [1.0, 0.0]
    """
    true, predicted = _positives(y_true, y_pred, positive)
    table = _attributes(sensitive_features, len(true))
    cells, values, _ = read_attribute(table, range(len(table.names)), most_numbers=len(true))
    values = [*values, None]
    scores = None if y_score is None else _scores(y_score, len(true))
    right = np.equal(*_both_labels(y_true, y_pred))
    lines = {}
    for code in sorted(np.unique(cells).tolist(), key=lambda code: -np.sum(cells == code)):
        rows = cells == code
        t, p = true[rows], predicted[rows]
        line = {
            "rows": int(rows.sum()),
            "base_rate": _rate(t),
            "positive_rate": _rate(p),
            "true_positive_rate": _rate(p[t]),
            "false_positive_rate": _rate(p[~t]),
            "precision": _rate(t[p]),
            "accuracy": _rate(right[rows]),
        }
        if scores is not None:
            line["mean_score"] = float(scores[rows].mean())
        lines[values[code]] = line
    frame = pd.DataFrame.from_dict(lines, orient="index")
    frame.index.name = table.names[0] if len(table.names) == 1 else table.names
    return frame


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
            f"sensitive_features holds {listing(values)} in all {n_rows} rows; a gap is one between two "
            "groups at least.",
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


def _gap(values: NDArray[Any], codes: Ints, sample_weight: Any, among: Bools | None = None) -> float:
    """Return the largest difference between two groups in the mean of the values, among some of the rows."""
    weights = _weights(sample_weight, len(values))
    known = codes >= 0 if among is None else (codes >= 0) & among
    n_groups = codes.max() + 1
    of = np.bincount(codes[known], weights[known], n_groups)
    part = np.bincount(codes[known], weights[known] * values[known], n_groups)
    # Nothing to take a rate of counts as a rate of 0, as in fairlearn.
    rate = np.nan_to_num(rates(part, of))
    high, low = widest_pair(rate)
    return float(rate[high] - rate[low])


def _positives(y_true: Any, y_pred: Any, positive: Any) -> tuple[Bools, Bools]:
    """Return which rows truly are, and which are predicted to be, positive."""
    true, predicted = _both_labels(y_true, y_pred)
    known = set(true.tolist()) | set(predicted.tolist())
    if positive is None:
        if len(known) > 2:
            raise TargetError(
                f"y_true and y_pred hold {len(known)} labels, {listing(sorted(known, key=str))}; say which "
                f"is positive, such as positive={max(known)!r}, and it is compared with all others as one.",
                parameter="positive",
            )
        for pair in _KNOWN_POSITIVE:
            if known <= pair:
                positive = 1
                break
        else:
            if len(known) != 2:
                raise TargetError(
                    f"only the label {listing(known)} occurs; say which label is positive, positive=...",
                    parameter="positive",
                )
            positive = max(known)
    elif positive not in known and (len(known) >= 2 or did_you_mean(positive, list(known))):
        # One label alone may be the negative one, unless it looks like the positive one misspelt.
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
            "model.predict_proba(X)[:, 1].",
            parameter="y_score",
        )
    return scores


def _both_labels(y_true: Any, y_pred: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the true and the predicted labels, which are of one kind and no quantities."""
    labels = {"y_true": read_target(y_true, len(y_true)), "y_pred": read_target(y_pred, len(y_pred))}
    _check_alike(**labels)
    for name, values in labels.items():
        if is_continuous(np.unique(values)):
            raise TargetError(
                f"{name} holds quantities, such as {values[0]:.6g}, where labels are needed. If they are "
                "probabilities, give predicted labels. For a regressor, score_demographic_parity is the gap "
                "in the mean prediction, discriminative_risk what the attribute alone changes, and "
                "sklearn.metrics has the errors.",
                parameter=name,
            )
    return labels["y_true"], labels["y_pred"]


def _check_alike(**arrays: NDArray[Any]) -> None:
    if len({array.dtype.kind in "US" for array in arrays.values()}) > 1:
        kinds = ", ".join(f"{name} {array.dtype}" for name, array in arrays.items())
        raise TargetError(f"text and numbers are never the same label; the types are: {kinds}.")
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise InputError(f"all must have one value for each row; the lengths are: {lengths}.")


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    weights = check_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weights is None else weights


def _mean(values: NDArray[Any], weights: Floats) -> float:
    """Return the weighted mean; of nothing it is 0."""
    return float(np.average(values, weights=weights)) if weights.sum() > 0 else 0.0


def _rate(event: Bools) -> float:
    return float(event.mean()) if len(event) else float("nan")
