"""Gaps between the privileged rows and all others, and a table by group."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from fairshap._messages import did_you_mean, listing
from fairshap._typing import Bools, Floats, Sides
from fairshap.exceptions import GroupError, InputError, TargetError
from fairshap.groups import Groups, Privileged, read_target
from fairshap.table import Table

# The two values of these targets need no word on which is positive.
_KNOWN_POSITIVE = ({0, 1}, {-1, 1})


def accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of rows whose predicted label is the true one.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    true, predicted = _labels(y_true), _labels(y_pred)
    _check_lengths(y_true=true, y_pred=predicted)
    return _mean(true == predicted, _weights(sample_weight, len(true)))


def demographic_parity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged,
    positive: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the gap in the rate of positive predictions (DP).

    ``|P(f = 1 | privileged) - P(f = 1 | others)|``, all unprivileged values pooled.

    Parameters
    ----------
    y_true : array-like
        The true labels, which play no part; the argument is there so that all metrics are called alike.
    y_pred : array-like
        The predicted labels.
    sensitive_features : array-like
        The sensitive attribute of each row. Rows where it is missing are left out.
    privileged : value, list of values, pandas.Interval or function
        Which of its values are privileged.
    positive : label, optional
        The positive label; by default the larger of the two.
    sample_weight : array-like, optional
        Weights of the rows.

    Examples
    --------
    >>> demographic_parity([0, 1, 0, 1], [1, 1, 0, 1],
    ...                    sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    return _gap(
        lambda true, predicted: (predicted, np.ones_like(true)),
        y_true,
        y_pred,
        sensitive_features,
        privileged,
        positive,
        sample_weight,
    )


def equal_opportunity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged,
    positive: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the gap in the true positive rate (EO).

    ``|P(f = 1 | y = 1, privileged) - P(f = 1 | y = 1, others)|``; a group without positive rows
    counts as rate 0. The parameters are those of :func:`demographic_parity`.

    Examples
    --------
    >>> equal_opportunity([1, 1, 1, 1], [1, 1, 0, 1],
    ...                   sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    return _gap(
        lambda true, predicted: (predicted, true),
        y_true,
        y_pred,
        sensitive_features,
        privileged,
        positive,
        sample_weight,
    )


def predictive_quality_parity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged,
    positive: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the gap in precision (PQP).

    ``|P(y = 1 | f = 1, privileged) - P(y = 1 | f = 1, others)|``; a group without positive predictions
    counts as precision 0. The parameters are those of :func:`demographic_parity`.

    Examples
    --------
    >>> predictive_quality_parity([1, 1, 0, 1], [1, 1, 1, 1],
    ...                           sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    return _gap(
        lambda true, predicted: (true, predicted),
        y_true,
        y_pred,
        sensitive_features,
        privileged,
        positive,
        sample_weight,
    )


def score_demographic_parity(
    y_true: Any,  # noqa: ARG001
    y_score: Any,
    *,
    sensitive_features: Any,
    privileged: Privileged,
    sample_weight: Any = None,
) -> float:
    """Return the gap in the mean score: demographic parity without a cut-off.

    ``|E[f | privileged] - E[f | others]|``. The parameters are those of :func:`demographic_parity`, with
    scores, such as probabilities, in the place of predicted labels.

    Examples
    --------
    >>> score_demographic_parity([0, 1, 0, 1], [0.5, 1.0, 0.0, 0.5],
    ...                          sensitive_features=["m", "m", "f", "f"], privileged="m")
    0.5
    """
    scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim != 1:
        raise InputError(
            f"y_score has shape {scores.shape}; give one score a row, for example "
            "model.predict_proba(X)[:, 1]."
        )
    side = read_sides(sensitive_features, privileged, len(scores))
    weights = _weights(sample_weight, len(scores))
    rates = [_mean(scores[side == s], weights[side == s]) for s in (0, 1)]
    return abs(rates[1] - rates[0])


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
        Scores such as probabilities, for one more column, ``mean_score``.
    positive : label, optional
        The positive label; by default the larger of the two.

    Returns
    -------
    pandas.DataFrame
        ``rows``, ``base_rate`` (true positives labels among the rows), ``positive_rate`` (predicted ones),
        ``true_positive_rate``, ``false_positive_rate``, ``precision``, ``accuracy``; NaN where
        nothing is there to take the rate of.

    Examples
    --------
    >>> group_table([1, 0, 1], [1, 0, 0], sensitive_features=["m", "m", "f"])["accuracy"].tolist()
    [1.0, 0.0]
    """
    true, predicted = _positives(y_true, y_pred, positive)
    attribute = _column(sensitive_features, len(true)).native.iloc[:, 0]
    scores = None if y_score is None else np.asarray(y_score, dtype=np.float64)
    lines = {}
    for value in attribute.value_counts(dropna=False).index:
        rows = (attribute.isna() if pd.isna(value) else attribute == value).to_numpy(dtype=bool)
        t, p = true[rows], predicted[rows]
        line = {
            "rows": int(rows.sum()),
            "base_rate": _rate(t),
            "positive_rate": _rate(p),
            "true_positive_rate": _rate(p[t]),
            "false_positive_rate": _rate(p[~t]),
            "precision": _rate(t[p]),
            "accuracy": _rate(t == p),
        }
        if scores is not None:
            line["mean_score"] = float(scores[rows].mean())
        lines[value] = line
    frame = pd.DataFrame.from_dict(lines, orient="index")
    frame.index.name = attribute.name
    return frame


def read_sides(sensitive_features: Any, privileged: Privileged, n_rows: int) -> Sides:
    """Return the side of each row: 1 privileged, 0 not, -1 where the attribute is missing."""
    return Groups.read(_column(sensitive_features, n_rows), 0, privileged).side


def _column(sensitive_features: Any, n_rows: int) -> Table:
    """Return the attribute as a table of one column."""
    values = sensitive_features
    if values is None:
        raise GroupError("sensitive_features is not given; give the attribute of each row.")
    if not isinstance(values, (pd.Series, pd.DataFrame)):
        values = values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()
    frame = pd.DataFrame(values).reset_index(drop=True)
    if frame.shape != (n_rows, 1):
        raise InputError(
            f"sensitive_features has shape {frame.shape}; one value for each of {n_rows} rows is needed."
        )
    if not isinstance(values, (pd.Series, pd.DataFrame)):
        frame.columns = pd.Index(["sensitive_features"])
    return Table.read(frame)


def _gap(
    parts: Callable[[Bools, Bools], tuple[Bools, Bools]],
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    privileged: Privileged,
    positive: Any,
    sample_weight: Any,
) -> float:
    """Return the gap of the rate of ``event`` among ``condition`` between the two sides."""
    true, predicted = _positives(y_true, y_pred, positive)
    side = read_sides(sensitive_features, privileged, len(true))
    weights = _weights(sample_weight, len(true))
    event, condition = parts(true, predicted)
    rates = []
    for s in (0, 1):
        rows = (side == s) & condition
        rates.append(_mean(event[rows], weights[rows]) if weights[rows].sum() > 0 else 0.0)
    return abs(rates[1] - rates[0])


def _positives(y_true: Any, y_pred: Any, positive: Any) -> tuple[Bools, Bools]:
    """Return which rows truly are, and which are predicted to be, positive."""
    true, predicted = _labels(y_true), _labels(y_pred)
    _check_lengths(y_true=true, y_pred=predicted)
    known = set(true.tolist()) | set(predicted.tolist())
    if len(known) > 2:
        raise TargetError(
            f"y_true and y_pred hold {len(known)} labels, {listing(sorted(known, key=str))}; give two. "
            "(Are these probabilities? Give predicted labels.)"
        )
    if positive is None:
        for pair in _KNOWN_POSITIVE:
            if known <= pair:
                positive = 1
                break
        else:
            if len(known) != 2:
                raise TargetError(
                    f"only the label {listing(known)} occurs; say which label is positive, positive=..."
                )
            positive = max(known)
    elif positive not in known and len(known) == 2:
        raise TargetError(
            f"positive={positive!r} does not occur; the labels are {listing(sorted(known, key=str))}."
            f"{did_you_mean(positive, sorted(known, key=str))}"
        )
    return true == positive, predicted == positive


def _labels(y: Any) -> NDArray[Any]:
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    return read_target(column_or_1d(values), len(values))


def _check_lengths(**arrays: NDArray[Any]) -> None:
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise InputError(f"all must have one value for each row; the lengths are: {lengths}.")


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight has shape {weights.shape}; one weight for each of {n_rows} rows is needed."
        )
    return weights


def _mean(values: NDArray[Any], weights: Floats) -> float:
    return float(np.average(values, weights=weights))


def _rate(event: Bools) -> float:
    return float(event.mean()) if len(event) else float("nan")
