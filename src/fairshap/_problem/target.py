"""The target: labels, or a quantity that is cut into bins; and when two numbers in its unit tie."""

import numbers as numbers_abc
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from fairshap._messages import check_count, did_you_mean, listing
from fairshap._typing import Bools, Floats, Ints
from fairshap.exceptions import InputError, TargetError

_wrong_target, _wrong_positive = (partial(TargetError, parameter=name) for name in ("y", "positive"))
# Different whole numbers up to which they are taken for labels, where nothing else is said.
_MOST_LABELS = 30
# How many bins there are where nothing is said, and how many rows each of them then has at least.
_USUAL, _LEAST_ROWS = 10, 20
# By how much attributions and risks may differ and still be equal, as a share of the output's unit: 1 for
# probabilities, and the spread of the predictions for a regressor. Walking trees, calling a model, threads
# and frames add the same numbers up in different orders; whether one of the many attributions of exactly 1/20
# that a forest of 20 trees has is "at least 0.05" must not depend on the last digits. This is far more than
# rounding, and far less than anyone means.
_TOLERANCE = 1e-9
# A threshold may be below the tolerance. Even then an attribution of 0 must not reach it.
_SHARE = 1e-3
# Where steps begin, as a share of one: far from all simple fractions, so that rounding does not carry an
# attribution such as 1/1024 over an edge.
_EDGE = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class Target:
    """The target, and which rows have the same one: rows of one class, or of one bin of a quantity."""

    #: The class of each row as its position among the classes, or its bin.
    codes: Ints
    #: What each code stands for, in words.
    names: tuple[str, ...]
    values: NDArray[Any]
    #: The different labels, sorted; None for a quantity.
    classes: NDArray[Any] | None = None
    #: Which of the classes is the positive one. Of more than two none is, unless it is named.
    positive: int | None = None
    #: What the target is called, as far as it says.
    name: str = ""

    @property
    def positive_value(self) -> Any:
        """The positive label, None if there is none."""
        return None if self.classes is None or self.positive is None else self.classes[self.positive]

    @classmethod
    def read(
        cls,
        y: Any,
        n_rows: int,
        positive: Any = None,
        bins: int | None = None,
        is_quantity: bool | None = None,
    ) -> "Target":
        """Return the labels of a target.

        By default it is a quantity if it has more than two values and some are no whole numbers, or if it is
        cut into quantile ``bins``: 10 for a quantity, fewer for less than 200 rows.
        """
        values = read_target(y, n_rows)
        name = getattr(y, "name", None)
        called = "" if name is None else str(name)
        classes, codes = np.unique(values, return_inverse=True)
        if is_quantity is None:
            is_quantity = bins is not None or is_continuous(classes)
            if not is_quantity and len(classes) > _MOST_LABELS and classes.dtype.kind in "iufO":
                raise _wrong_target(
                    f"y holds {len(classes)} different numbers, {listing(classes.tolist(), limit=3)}: labels "
                    "or a quantity? For a quantity give a regressor, or bins=10; for labels give a "
                    "classifier, or the labels as text."
                )
        if is_quantity:
            if positive is not None:
                raise _wrong_positive(
                    f"positive={positive!r} names a label, but y is a quantity: it goes to a regressor, or "
                    "it is cut into bins. Leave positive out."
                )
            numbers = _read_quantity(values)
            codes, names = quantile_bins(numbers, bins)
            return cls(codes, names, values if values.dtype.kind in "biuf" else numbers, name=called)
        if is_continuous(classes):
            raise _wrong_target(
                "Unknown label type: continuous. The estimator is a classifier, but y is a quantity: it "
                f"holds {len(classes)} different numbers, {listing(classes.tolist(), limit=3)}. Give labels, "
                "or use a regressor."
            )
        if len(classes) < 2:
            raise _wrong_target(
                f"y holds one class only, {classes.tolist()[0]!r}; two classes are needed at least, "
                "in the training rows too."
            )
        names = tuple(f"the label {label!r}" for label in classes.tolist())
        if bins is not None:
            codes, names = quantile_bins(_read_quantity(values), bins)
        return cls(codes, names, values, classes, _position_of_positive(classes, positive), called)


def is_continuous(classes: NDArray[Any]) -> bool:
    """Say whether the different values of a target are more than two, and not all whole numbers."""
    return len(classes) > 2 and classes.dtype.kind == "f" and bool((classes != np.round(classes)).any())


def read_target(y: Any, n_rows: int) -> NDArray[Any]:
    """Return a target as a flat array without missing values, one value for each row."""
    if y is None:
        raise _wrong_target("fairshap requires y to be passed, but the target y is None.")
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()
    # A list is read as objects: as an array of text, a missing label would be the text "nan".
    dtype = object if isinstance(y, (list, tuple)) else None
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y, dtype)
    if values.dtype.kind not in "OUSbiuf":
        raise _wrong_target(f"y is of type {values.dtype}; give numbers, booleans or strings.")
    if values.ndim > 1 and values.shape[1:] != (1,):
        raise _wrong_target(
            f"y should be a 1d array, one value for each row, but it has the shape {values.shape}. Repair "
            "for one target at a time."
        )
    values = column_or_1d(values, warn=True)
    if len(values) != n_rows:
        raise TargetError(
            f"X and y have different lengths: X has {n_rows} rows, y has {len(values)} "
            "(inconsistent numbers of samples).",
            parameter="X",
        )
    missing = pd.isna(values)
    if missing.any():
        raise _wrong_target(
            f"y has missing values (NaN) in {int(missing.sum())} of {n_rows} rows, first in row "
            f"{int(missing.argmax())}. Drop those rows of X and y, or fill them in."
        )
    if values.dtype.kind == "O":
        numbers = [isinstance(value, (numbers_abc.Number, np.bool_)) for value in values]
        if any(numbers) and not all(numbers):
            kinds = sorted({type(value).__name__ for value in values})
            raise _wrong_target(
                f"y mixes types ({', '.join(kinds)}); give all labels as numbers or all as strings."
            )
        values = np.array(values.tolist())
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise _wrong_target("y holds infinite values (inf); give labels or finite numbers.")
    return values


def _position_of_positive(classes: NDArray[Any], positive: Any) -> int | None:
    """Return which of the classes is the positive one; if it is not named, the larger one of two."""
    if positive is None:
        return 1 if len(classes) == 2 else None
    found = np.flatnonzero([bool(label == positive) for label in classes])
    if not len(found):
        known = classes.tolist()
        raise _wrong_positive(
            f"positive={positive!r} does not occur in y, which holds {listing(known)}."
            f"{did_you_mean(positive, known)}"
        )
    return int(found[0])


def _read_quantity(values: NDArray[Any]) -> Floats:
    """Return a target as numbers."""
    try:
        if values.dtype.kind not in "US":
            return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise _wrong_target(
        f"y holds text, such as {listing(values[:2].tolist())}, where a quantity is needed: for a regressor, "
        "or with bins. Give numbers; for labels give a classifier, and leave bins out."
    )


def quantile_bins(numbers: Floats, bins: int | None) -> tuple[Ints, tuple[str, ...]]:
    """Return the quantile bin of each number, from 0 on, and what the bins are called.

    Bins end at numbers that occur, which belong to the bin that they end. Ends that are equal are one, so
    that a number is never in two bins; and two different numbers make two bins at least.
    """
    n = len(numbers)
    if bins is None:
        bins = min(_USUAL, max(2, n // _LEAST_ROWS))
    else:
        check_count(bins, "bins", ": the number of quantile bins, such as 10", least=2)
        if bins > n:
            raise InputError(
                f"bins={bins} are more than the {n} rows; give fewer, such as bins=10.", parameter="bins"
            )
    ordered = np.sort(numbers)
    below = ordered[ordered < ordered[-1]]
    if not len(below):
        raise _wrong_target(
            f"y holds one value only, {ordered[0]:g}; a quantity has two at least, so more than one sample."
        )
    # In whole numbers: the share of rows up to k / bins, rounded, could be one row off.
    ends = ordered[[-(-k * n // bins) - 1 for k in range(1, bins)]]
    ends = np.unique(np.minimum(ends, below[-1]))
    codes = np.searchsorted(ends, numbers)
    first = np.searchsorted(ordered, ends, side="right")
    ranges = zip(ordered[np.append(0, first)], np.append(ends, ordered[-1]), strict=True)
    names = (f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}" for low, high in ranges)
    return codes, tuple(f"a target of {name}" for name in names)


def tolerance(unit: float) -> float:
    """Return by how much numbers may differ and still be equal."""
    return _TOLERANCE * unit


@overload
def floor_of(threshold: float, unit: float) -> float: ...
@overload
def floor_of(threshold: Floats, unit: float) -> Floats: ...
def floor_of(threshold: float | Floats, unit: float) -> float | Floats:
    """Return the smallest number that counts as at least a threshold."""
    return threshold - np.minimum(tolerance(unit), _SHARE * threshold)


def reaches(values: float | Floats, threshold: float | Floats, unit: float) -> Bools:
    """Say which values are at least a threshold, or tie with it; those that are missing are not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values >= floor_of(threshold, unit))


def exceeds(values: float | Floats, others: float | Floats, unit: float) -> Bools:
    """Say which values are greater than others and do not tie with them; those that are missing are not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values > others + tolerance(unit))


def steps(values: Floats, unit: float) -> Floats:
    """Return whole numbers that are in the order of the values, and equal for those that tie.

    Two values that are apart by more than rounding and less than the tolerance may be a step apart.
    """
    return np.asarray(np.floor(values / tolerance(unit) + _EDGE))
