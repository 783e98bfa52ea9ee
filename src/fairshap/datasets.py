"""Datasets: the five tables of the paper, and a synthetic one whose right repair is known."""

import tomllib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fairshap._messages import check_count, did_you_mean, listing
from fairshap.exceptions import InputError

__all__ = ["Dataset", "load", "make_biased", "make_mixed", "names"]

# The rows of a mixed table that are drawn at a time.
_DRAWN = 1 << 16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """A table with its target and its sensitive attribute.

    Parameters
    ----------
    name : str
        The name that :func:`load` takes.
    X : pandas.DataFrame
        The raw columns; categories are not encoded.
    y : pandas.Series
        The target, 0 or 1.
    sensitive, privileged : str, object
        The sensitive column of X, and its privileged value.
    target : str
        What y = 1 means.
    description, source, licence : str
        What the table is, where it comes from, and how it may be used.
    feature_groups : dict, optional
        For an encoded table: the columns of X that belong to one raw column.

    Examples
    --------
    >>> from fairshap import datasets
    >>> d = datasets.load("german")
    >>> d.sensitive, d.privileged, d.X.shape
    ('sex', 'male', (1000, 9))
    """

    name: str
    X: pd.DataFrame
    y: "pd.Series[int]"
    sensitive: str
    privileged: Any
    target: str
    description: str
    source: str
    licence: str
    feature_groups: dict[Hashable, list[Hashable]] | None = None

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"Dataset({self.name!r}: {rows} rows, {columns} columns, y = 1 is {self.target}, "
            f"sensitive {self.sensitive!r}, privileged {self.privileged!r})"
        )


@dataclass(frozen=True, slots=True)
class Spec:
    """How one embedded table is read; ``data/tables.toml`` has them."""

    target: str  # the target column
    positive: Any  # its value that is y = 1
    meaning: str  # what y = 1 says of a person
    sensitive: Mapping[str, Any]  # the sensitive columns, the default first, and their privileged values
    description: str
    source: str
    licence: str
    categorical: Sequence[str] = ()  # columns of numbers that are codes of categories
    dropped: Sequence[str] = ()  # columns that say nothing of a person
    values: Mapping[str, list[str]] = field(default_factory=dict)  # columns of codes 0, 1, ..., in words
    # The encoded table:
    order: Sequence[str] = ()  # its columns, where their order differs
    without: Sequence[str] = ()  # columns left out unless sensitive
    constants: Sequence[str] = ()  # columns of ones that the paper's table had
    distinct: bool = False  # whether duplicate rows are left out
    unknown: str | None = None  # a category replaced by the most frequent one of its column
    codes: Mapping[str, Any] = field(default_factory=dict)  # of sensitive columns of many values


_DATA = files("fairshap") / "data"
_TABLES = tomllib.loads((_DATA / "tables.toml").read_text("utf-8"))
SPECS = {name: Spec(**spec) for name, spec in _TABLES.items()}


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
        Whether X is encoded as in the paper: numbers standardized over the whole table, categories one-hot,
        the sensitive column one column in which 1 is privileged. ``feature_groups`` then says which columns
        belong together. (In German, the paper's 1 is female; here it is male, as in the raw table. No metric
        depends on which.)

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
    X = pd.read_parquet(BytesIO(stored_bytes(name)))
    if encoded and spec.distinct:
        X = X.drop_duplicates()
    y = (X.pop(spec.target) == spec.positive).astype(np.int64)
    X = X.drop(columns=[*spec.dropped])
    for categorical in spec.categorical:
        X[categorical] = X[categorical].astype("category")
    for coded, words in spec.values.items():
        X[coded] = X[coded].map(dict(enumerate(words)))
    privileged, feature_groups = spec.sensitive[column], None
    if encoded:
        X, feature_groups = _encode(X, spec, column)
        privileged = 1.0
    told = (spec.meaning, spec.description, spec.source, spec.licence)
    return Dataset(name, X, y.rename(spec.target), column, privileged, *told, feature_groups)


def stored_bytes(name: str) -> bytes:
    """Return the file of an embedded table."""
    return (_DATA / f"{name}.parquet").read_bytes()


def _encode(
    X: pd.DataFrame, spec: Spec, sensitive: str
) -> tuple[pd.DataFrame, dict[Hashable, list[Hashable]]]:
    """Return the table as the paper encodes it, and the columns of each category."""
    parts: list[Any] = []
    feature_groups: dict[Hashable, list[Hashable]] = {}
    for name in spec.order or X.columns:
        column = X[name]
        if name == sensitive:
            numbers = spec.codes.get(name, {spec.sensitive[name]: 1})
            parts.append(column.astype(object).map(numbers).fillna(0).astype(np.int8))
        elif name in spec.without:
            continue
        elif pd.api.types.is_numeric_dtype(column.dtype):
            parts.append((column - column.mean()) / column.std(ddof=0))
        else:
            if spec.unknown is not None:
                known = column != spec.unknown
                column = column.where(known, column[known].mode()[0])
            column = column.astype("category").cat.remove_unused_categories()
            parts.append(pd.get_dummies(column, prefix=name, prefix_sep="=", dtype=np.int8))
            if parts[-1].shape[1] > 1:
                feature_groups[name] = [*parts[-1].columns]
    encoded = pd.concat(parts, axis=1).assign(**dict.fromkeys(spec.constants, 1))
    return pd.DataFrame(encoded.to_numpy(np.float64), X.index, encoded.columns), feature_groups


def make_biased(n_rows: int = 1000, *, bias: float = 2.0, random_state: Any = None) -> Dataset:
    """Return a table in which the group matters in one district only.

    The columns are ``group`` ("a" is privileged), ``district`` (four fifths of group a live in the "north",
    as many of group b in the "south"), ``skill`` (-3 to 3), ``colour`` (three) and ``commute`` (10 minutes,
    or 60 for those who live where their group does not). The log-odds of y = 1 are ``skill / 2 - bias / 4``,
    plus ``bias`` for the members of group a in the north.

    So the discriminative risk depends on the district: it is zero in the south. Those who commute far are far
    from everybody else, so the nearest person of the other group lives in the other district and is otherwise
    the same. The right repair is known: replace "north" by "south", and nothing else.

    Parameters
    ----------
    n_rows : int, default=1000
        The number of rows.
    bias : float, default=2.0
        The unfair advantage, in log-odds; 0 gives a fair table.
    random_state : int, RandomState instance or None
        The source of randomness.

    Examples
    --------
    >>> d = make_biased(5, random_state=0)
    >>> list(d.X.columns)
    ['group', 'district', 'skill', 'colour', 'commute']
    """
    if n_rows < 1:
        raise InputError(f"n_rows={n_rows} must be at least 1.", parameter="n_rows")
    rng = check_random_state(random_state)
    privileged, away = rng.random_sample(n_rows) < 0.5, rng.random_sample(n_rows) < 0.2
    north = privileged ^ away
    skill = rng.randint(-3, 4, n_rows)
    odds = skill / 2 + bias * (privileged & north) - bias / 4
    y = rng.random_sample(n_rows) < 1 / (1 + np.exp(-odds))
    X = pd.DataFrame(
        {
            "group": np.where(privileged, "a", "b"),
            "district": np.where(north, "north", "south"),
            "skill": skill,
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "commute": np.where(away, 60, 10),
        }
    )
    told = f"{n_rows} made-up applicants; group a has an advantage in the north."
    return _made("biased", X, y, told)


def make_mixed(
    n_rows: int = 1000, *, bias: float = 2.0, first_row: int = 0, random_state: int = 0
) -> Dataset:
    """Return rows of an endless table of mixed columns, in which the group matters in one district only.

    Group and district, ``skill``, and the log-odds of y = 1 are as in :func:`make_biased`. Twelve more
    columns are independent of them and of each other, as in tables without near neighbors: ``age``,
    ``income`` (skewed), ``hours``, ``score`` and ``tenure`` (one in ten missing), ``colour``, ``sector``,
    ``region`` and ``occupation`` (3, 8, 16 and 50 values, the last ones rare), ``remote`` (boolean),
    ``contract`` (one in twenty missing) and ``since`` (dates).

    Any part of the table can be made by itself: row k is the same whichever part it comes with. So a table of
    any size can be written file by file.

    Parameters
    ----------
    n_rows, first_row : int
        How many rows, and the number of the first.
    bias : float, default=2.0
        The unfair advantage, in log-odds; 0 gives a fair table.
    random_state : int, default=0
        The seed, which names the table.

    Examples
    --------
    >>> whole = make_mixed(100)
    >>> whole.X[40:].reset_index(drop=True).equals(make_mixed(60, first_row=40).X)
    True
    """
    for name, number, least in (("n_rows", n_rows, 1), ("first_row", first_row, 0)):
        check_count(number, name, "", least)
    last = first_row + n_rows
    blocks = range(first_row // _DRAWN, -(-last // _DRAWN))
    parts = [_draw_block(block, bias, random_state) for block in blocks]
    start = first_row - blocks[0] * _DRAWN
    X = pd.concat(parts, ignore_index=True).iloc[start : start + n_rows].reset_index(drop=True)
    told = f"{n_rows} made-up applicants with mixed columns; group a has an advantage in the north."
    return _made("mixed", X, X.pop("hired").to_numpy(), told)


def _draw_block(block: int, bias: float, seed: int) -> pd.DataFrame:
    """Return some of the rows of a mixed table, those of one number."""
    rng = np.random.default_rng((seed, block))
    privileged, away = rng.random(_DRAWN) < 0.5, rng.random(_DRAWN) < 0.2
    north, skill = privileged ^ away, rng.integers(-3, 4, _DRAWN)
    odds = skill / 2 + bias * (privileged & north) - bias / 4

    def choose(prefix: str, n: int) -> Any:
        # Each value is less frequent than the one before it.
        share = 1 / np.arange(1, n + 1)
        codes = rng.choice(n, _DRAWN, p=share / share.sum())
        return np.array([f"{prefix}{k}" for k in range(n)], dtype=object)[codes]

    tenure, contract = rng.exponential(5.0, _DRAWN).round(1), choose("contract ", 4)
    tenure[rng.random(_DRAWN) < 0.1] = np.nan
    contract[rng.random(_DRAWN) < 0.05] = None
    columns = {
        "group": np.where(privileged, "a", "b"),
        "district": np.where(north, "north", "south"),
        "skill": skill,
        "age": rng.integers(18, 70, _DRAWN),
        "income": np.exp(rng.normal(10, 0.7, _DRAWN)).round(-1),
        "hours": rng.integers(10, 60, _DRAWN),
        "score": rng.normal(size=_DRAWN),
        "tenure": tenure,
        "colour": rng.choice(["red", "green", "blue"], _DRAWN),
        "sector": choose("sector ", 8),
        "region": choose("region ", 16),
        "occupation": choose("occupation ", 50),
        "remote": rng.random(_DRAWN) < 0.3,
        "contract": pd.Series(contract, dtype="str"),
        "since": np.datetime64("2000-01-01", "us") + rng.integers(0, 9000, _DRAWN).astype("m8[D]"),
        "hired": (rng.random(_DRAWN) < 1 / (1 + np.exp(-odds))).astype(np.int64),
    }
    return pd.DataFrame(columns)


def _made(name: str, X: pd.DataFrame, y: Any, description: str) -> Dataset:
    labels = pd.Series(y.astype(np.int64), name="hired")
    told = ("hired", description, f"fairshap.datasets.make_{name}", "MIT")
    return Dataset(name, X, labels, "group", "a", *told)
