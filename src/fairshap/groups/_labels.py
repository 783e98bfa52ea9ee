"""The target: two values, of which one counts as positive."""

import numbers as numbers_abc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from fairshap._messages import did_you_mean, listing
from fairshap._typing import Sides
from fairshap.exceptions import TargetError


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of the rows as positions in the two classes.

    Parameters
    ----------
    codes : ndarray of int8, shape (rows,)
        0 for the first class, 1 for the second.
    classes : ndarray, shape (2,)
        The two values of the target, sorted.
    positive : int
        Which of the two is the positive class.
    """

    codes: Sides
    classes: NDArray[Any]
    positive: int

    @property
    def values(self) -> NDArray[Any]:
        """The label of each row."""
        return self.classes[self.codes]

    @classmethod
    def read(cls, y: Any, n_rows: int, positive: Any = None) -> "Labels":
        """Return the labels of a target; without ``positive`` the larger value is the positive one.

        Examples
        --------
        >>> labels = Labels.read(["bad", "good", "bad"], 3, positive="bad")
        >>> labels.codes.tolist(), labels.positive
        ([0, 1, 0], 0)
        """
        values = read_target(y, n_rows)
        classes = np.unique(values)
        if len(classes) != 2:
            check_classification_targets(values)
            if len(classes) < 2:
                raise TargetError(
                    f"y holds one class only, {_plain(classes[0])!r}; two classes are needed, "
                    "in the training rows too."
                )
            kind = type_of_target(values)
            raise TargetError(
                f"Only binary classification is supported. The type of the target is {kind}: y holds "
                f"{len(classes)} values, {listing(map(_plain, classes))}. "
                "Keep two of them or merge the rest."
            )
        return cls(
            np.searchsorted(classes, values).astype(np.int8),
            classes,
            position_of_positive(classes, positive),
        )


def read_target(y: Any, n_rows: int) -> NDArray[Any]:
    """Return a target as a flat array without missing values, one value for each row."""
    if y is None:
        raise TargetError("fairshap requires y to be passed, but the target y is None.")
    # A list is read as objects: as an array of text, a missing label would be the text "nan".
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y, _dtype_to_read(y))
    if values.dtype.kind not in "OUSbiuf":
        raise TargetError(f"y is of type {values.dtype}; give numbers, booleans or strings.")
    values = column_or_1d(values, warn=True)
    if len(values) != n_rows:
        raise TargetError(
            f"X and y have different lengths: X has {n_rows} rows, y has {len(values)} "
            "(inconsistent numbers of samples)."
        )
    missing = pd.isna(values)
    if missing.any():
        raise TargetError(
            f"y has missing values (NaN) in {int(missing.sum())} of {n_rows} rows, first in row "
            f"{int(missing.argmax())}. Drop those rows of X and y, or fill them in."
        )
    if values.dtype.kind == "O":
        numbers = [isinstance(value, (numbers_abc.Number, np.bool_)) for value in values]
        if any(numbers) and not all(numbers):
            kinds = sorted({type(value).__name__ for value in values})
            raise TargetError(
                f"y mixes types ({', '.join(kinds)}); give all labels as numbers or all as strings."
            )
        values = np.array(values.tolist())
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise TargetError("y holds infinite values (inf); give two class labels.")
    return values


def _dtype_to_read(y: Any) -> Any:
    return object if isinstance(y, (list, tuple)) else None


def position_of_positive(classes: NDArray[Any], positive: Any) -> int:
    """Return which of the classes is the positive one."""
    if positive is None:
        return len(classes) - 1
    found = np.flatnonzero([bool(label == positive) for label in classes])
    if not len(found):
        known = [_plain(label) for label in classes]
        raise TargetError(
            f"positive={positive!r} does not occur in y, which holds {listing(known)}."
            f"{did_you_mean(positive, known)}"
        )
    return int(found[0])


def _plain(value: Any) -> Any:
    """Return a Python object for a numpy scalar, so that messages read well."""
    return value.item() if isinstance(value, np.generic) else value
