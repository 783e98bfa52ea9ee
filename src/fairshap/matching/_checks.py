"""What the parameters of a matcher may be."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairshap._messages import did_you_mean, listing
from fairshap._problem import Setting
from fairshap._typing import Floats
from fairshap.exceptions import ColumnError, InputError


def check_k(k: Any) -> None:
    """Raise an error unless k is a number of references."""
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(
            f"k={k!r} is not a number of references; give a whole number from 1 on, such as k=1 for the "
            "nearest row alone."
        )


def check_name(value: Any, name: str, known: Sequence[str], otherwise: str = "") -> None:
    """Raise an error unless the value of a parameter is one of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise InputError(
            f"{name}={value!r} is not known; give one of {listing(known)}{otherwise}."
            f"{did_you_mean(value, known)}"
        )


def check_amount(value: Any, name: str, what: str) -> None:
    """Raise an error unless a number is finite and not negative; ``what`` ends the sentence."""
    if (
        isinstance(value, (bool, np.bool_))
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not 0 <= value < np.inf
    ):
        raise InputError(f"{name}={value!r} is not {what}")


def read_column_weights(column_weights: Any, setting: Setting) -> Floats:
    """Return the weight of each column of the table; those that are not named weigh 1."""
    if not isinstance(column_weights, Mapping):
        raise InputError(
            f"column_weights={column_weights!r} is not a mapping; give the weights by column, such as "
            f"column_weights={{{setting.own.names[0]!r}: 2.0}}."
        )
    weights = np.ones(len(setting.table.names))
    named: dict[int, Any] = {}
    for name, weight in column_weights.items():
        column = setting.table.position(name, "column_weights")
        if column in setting.columns:
            raise ColumnError(
                f"column_weights names {name!r}, the sensitive attribute, which plays no part in distances. "
                "Leave it out."
            )
        if column in named:
            raise ColumnError(
                f"column_weights names one column twice, as {named[column]!r} and {name!r}; name it once."
            )
        check_amount(
            weight, f"column_weights[{name!r}]", "a weight; give a number from 0 on, 0 to leave it out."
        )
        named[column] = name
        weights[column] = weight
    return weights
