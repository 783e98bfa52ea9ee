"""Load the embedded tables."""

from collections.abc import Hashable
from importlib.resources import files
from io import BytesIO

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
            f"there is no table {name!r}; the tables are {listing(SPECS)}.{did_you_mean(name, list(SPECS))}",
            parameter="name",
        )
    spec = SPECS[name]
    column = next(iter(spec.sensitive)) if sensitive is None else sensitive
    if column not in spec.sensitive:
        raise InputError(
            f"{column!r} is not a sensitive column of {name!r}; it has {listing(spec.sensitive)}."
            f"{did_you_mean(column, list(spec.sensitive))}",
            parameter="sensitive",
        )
    X = _read(name)
    if encoded and spec.distinct:
        X = X.drop_duplicates()
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


def stored_bytes(name: str) -> bytes:
    """Return the file that an embedded table is kept in."""
    return (files("fairshap.datasets") / "data" / f"{name}.parquet").read_bytes()


def _read(name: str) -> pd.DataFrame:
    return pd.read_parquet(BytesIO(stored_bytes(name)))


def _encode(
    X: pd.DataFrame, spec: Spec, sensitive: str
) -> tuple[pd.DataFrame, dict[Hashable, list[Hashable]]]:
    """Return the table as the paper encodes it, and the columns of each category."""
    names = [name for name in spec.order or X.columns if name == sensitive or name not in spec.without]
    categories: dict[Hashable, pd.Categorical] = {}
    labels: dict[Hashable, list[Hashable]] = {}
    for name in names:
        labels[name] = [name]
        if name != sensitive and not pd.api.types.is_numeric_dtype(X[name].dtype):
            categories[name] = pd.Categorical(_known(X[name], spec.unknown)).remove_unused_categories()
            labels[name] = [f"{name}={value}" for value in categories[name].categories]
    columns = [label for name in names for label in labels[name]] + list(spec.constants)
    # Filled in place: a wide table is not held twice.
    cells = np.zeros((len(X), len(columns)))
    at = 0
    for name in names:
        if name == sensitive:
            numbers = spec.codes.get(name, {spec.sensitive[name]: 1})
            cells[:, at] = X[name].astype(object).map(numbers).fillna(0)
        elif name in categories:
            codes = categories[name].codes.astype(np.int64)
            present = np.flatnonzero(codes >= 0)
            cells[present, at + codes[present]] = 1.0
        else:
            cells[:, at] = (X[name] - X[name].mean()) / X[name].std(ddof=0)
        at += len(labels[name])
    cells[:, at:] = 1.0
    players = {name: labels[name] for name in categories if len(labels[name]) > 1}
    return pd.DataFrame(cells, X.index, columns), players


def _known(column: pd.Series, unknown: str | None) -> pd.Series:
    """Return a category column with the unknown replaced by the most frequent value."""
    if unknown is None:
        return column
    known = column[column != unknown]
    return column.where(column != unknown, known.mode()[0])
