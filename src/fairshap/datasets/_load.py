"""Load the embedded tables."""

from collections.abc import Hashable
from importlib.resources import files

import numpy as np
import pandas as pd

from fairshap._messages import did_you_mean, listing
from fairshap.datasets._dataset import Dataset
from fairshap.datasets._specs import SPECS, Spec
from fairshap.exceptions import InputError


def names() -> tuple[str, ...]:
    """Return the names of the embedded tables.

    Examples
    --------
    >>> names()
    ('german', 'compas', 'adult', 'credit', 'census_kdd')
    """
    return tuple(SPECS)


def load(name: str, *, sensitive: str | None = None, encoded: bool = False) -> Dataset:
    """Return one of the paper's five tables; no network is needed.

    Parameters
    ----------
    name : {"german", "compas", "adult", "credit", "census_kdd"}
        Which table.
    sensitive : str, optional
        The sensitive column, where the table has more than one: "sex" or "race".
    encoded : bool, default=False
        Whether X is encoded as in the paper: numbers standardised over the whole table, categories
        one-hot, the sensitive column one column in which 1 is privileged. ``players`` then
        says which columns belong together. (In German, the paper's 1 is female; here it is male, as
        in the raw table. No metric depends on which.)

    Returns
    -------
    Dataset
        The table, with ``X``, ``y``, ``sensitive``, ``privileged``, ``description``, its source and
        its licence.

    Examples
    --------
    >>> d = load("compas")
    >>> d.X.shape, d.sensitive, d.privileged
    ((7214, 9), 'sex', 'Male')
    """
    if name not in SPECS:
        raise InputError(
            f"there is no table {name!r}; the tables are {listing(SPECS)}.{did_you_mean(name, list(SPECS))}"
        )
    spec = SPECS[name]
    column = next(iter(spec.sensitive)) if sensitive is None else sensitive
    if column not in spec.sensitive:
        raise InputError(
            f"{column!r} is not a sensitive column of {name!r}; it has {listing(spec.sensitive)}."
            f"{did_you_mean(column, list(spec.sensitive))}"
        )
    X = _read(name)
    y = (X.pop(spec.target) == spec.positive).astype(np.int64)
    X = X.drop(columns=list(spec.dropped))
    for categorical in spec.categorical:
        X[categorical] = X[categorical].astype("category")
    for coded, words in spec.values.items():
        X[coded] = X[coded].map(words)
    privileged, players = spec.sensitive[column], None
    if encoded:
        X, players = _encode(X, spec, column)
        privileged = 1.0
    return Dataset(
        name=name,
        X=X,
        y=y.rename(spec.target),
        sensitive=column,
        privileged=privileged,
        target=spec.meaning,
        description=spec.description,
        source=spec.source,
        licence=spec.licence,
        players=players,
    )


def _read(name: str) -> pd.DataFrame:
    with (files("fairshap.datasets") / "data" / f"{name}.parquet").open("rb") as file:
        return pd.read_parquet(file)


def _encode(
    X: pd.DataFrame, spec: Spec, sensitive: str
) -> tuple[pd.DataFrame, dict[Hashable, list[Hashable]]]:
    """Return the table as the paper encodes it, and the columns of each category."""
    parts: dict[Hashable, pd.DataFrame] = {}
    for name in spec.order or X.columns:
        column = X[name]
        if name == sensitive:
            codes = spec.codes.get(name, {spec.sensitive[name]: 1})
            parts[name] = column.astype(object).map(codes).fillna(0).astype(float).to_frame(name)
        elif name in spec.without:
            continue
        elif pd.api.types.is_numeric_dtype(column.dtype):
            parts[name] = ((column - column.mean()) / column.std(ddof=0)).to_frame(name)
        else:
            if spec.unknown is not None:
                known = column[column != spec.unknown]
                column = column.where(column != spec.unknown, known.mode()[0])
            dummies = pd.get_dummies(column, dtype=float)
            parts[name] = dummies.set_axis([f"{name}={value}" for value in dummies], axis=1)
    for name in spec.constants:
        parts[name] = pd.DataFrame({name: 1.0}, index=X.index)
    encoded = pd.concat(parts.values(), axis=1)
    players: dict[Hashable, list[Hashable]] = {
        name: list(part.columns) for name, part in parts.items() if part.shape[1] > 1
    }
    return encoded, players
