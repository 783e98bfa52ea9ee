"""A table as its model's trees see it: ranks, found behind preprocessing by trying, checked by the model."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.compose import ColumnTransformer

from fairshap._frames import Table, first_rows
from fairshap._messages import in_threads, listing
from fairshap._models.encoding import ColumnEncoder, Numbering, category_numbers, numberings, recode
from fairshap._models.scorer import MisreadError, MixedColumnsError, NotNativeError, Scorer, split, spread
from fairshap._models.trees import LINKS, Ensemble, import_trees
from fairshap._typing import Bools, Codes, Floats, Ints, Native
from fairshap.exceptions import FairshapError

# The most that a reading of a model may differ from the model's own output, in the scorer's units.
TOLERANCE = 1e-6
# A difference below this, in the same units, comes from rounding.
_ROUNDED = 1e-3
# How many rows and mixed rows are compared, beside those with special values.
N_CHECKED, _N_MIXED = 1000, 64
# How many categories of a column are compared, and in how many rows beside their own.
_N_CATEGORIES, _N_HOSTS = 1000, 4
# How many values of a numeric column, and of a category, are tried to see which features they move.
_N_NUMBERS_TRIED, _N_CATEGORIES_TRIED = 64, 5000
# How many rows a model is asked about to see how it reads a sparse matrix.
_N_ASKED = 200
# The encoded cells held at a time: 8 Mi numbers are 64 MiB.
ENCODED_CELLS = 1 << 23
# Why a feature that no change of one column moved, and that is not constant, cannot be read.
UNOWNED = (
    "a feature depends on other rows, or on several columns at once; let each row be transformed by itself"
)
# The cells copied at a time: 256 Ki numbers are 2 MiB, which stay in the processor's cache.
_CELLS = 1 << 18


class RankedTable(NamedTuple):
    """A table as its model's trees see it."""

    ensemble: Ensemble
    #: Where each value stands among its feature's thresholds, shape (rows, features).
    ranks: Codes
    #: The column of the table that each feature is made of; -1 where it is constant.
    column: Ints

    def margins(self, sources: Sequence[Ints]) -> Floats:
        """Return the margins of rows whose column j is that of the rows ``sources[j]``."""
        mixed = np.empty((len(sources[0]), len(self.column)), dtype=np.int32)
        for feature, column in enumerate(self.column):
            mixed[:, feature] = self.ranks[sources[max(int(column), 0)], feature]
        return self.ensemble.margins(mixed)


def rank_table(scorer: Scorer, table: Table, n_threads: int = 1) -> RankedTable:
    """Return the table as ranks, checked against the model itself.

    A NotNativeError says that the model is no tree ensemble, that its preprocessing mixes columns, or that
    the trees give an output which is not the model's.
    """
    steps, model = split(scorer.model)
    ensemble = import_trees(model)
    if ensemble.link not in ("identity", "logistic"):
        raise NotNativeError(f"its link is {ensemble.link}")
    ranked = rank_features(steps, model, ensemble, table, n_threads)
    sources = check_sources(table, np.unique(ranked.column[ranked.column >= 0]))
    outputs = LINKS[ensemble.link](ranked.margins(sources))
    check_outputs(scorer, table, sources, outputs, f"the trees of {type(model).__name__}")
    return ranked


def rank_features(
    steps: list[Any], model: Any, ensemble: Ensemble, table: Table, n_threads: int = 1
) -> RankedTable:
    """Return the table as ranks for the trees of a model behind some steps; they are not checked."""
    try:
        if not steps:
            return RankedTable(ensemble, _rank_columns(model, ensemble, table), ensemble.features)
        if [type(step) for step in steps] == [ColumnEncoder]:
            known = numberings(model, np.empty(0))
            return RankedTable(ensemble, *_rank_encoded(steps[0], known, ensemble, table))
        encode = make_encoder(steps, model)
        probed = _rank_probed(encode, int(model.n_features_in_), ensemble, table, n_threads)
        return RankedTable(ensemble, *probed)
    except FairshapError:
        raise
    except Exception as error:
        # What is read of a model may change with its library.
        raise NotNativeError(f"{type(model).__name__} cannot be read as trees ({error})") from error


def _rank_columns(model: Any, ensemble: Ensemble, table: Table) -> Codes:
    """Return the ranks of a table whose columns are the model's features."""
    if int(ensemble.features.max()) >= len(table.names):
        raise NotNativeError("the model has more features than the table columns; fit it on such a table")
    known = numberings(model, table.native)
    ranks = np.empty((table.n_rows, len(ensemble.features)), dtype=np.int32)
    is_number = np.isin(ensemble.features, table.numeric_columns)
    for place in np.flatnonzero(~is_number):
        feature = int(ensemble.features[place])
        numbers = category_numbers(table, feature, known.get(feature))
        # A missing category has the code -1, which is the last place.
        ranks[:, place] = ensemble.rank(np.array([place]), numbers[:, None])[table.column(feature), 0]
    places = np.flatnonzero(is_number)
    columns = np.searchsorted(table.numeric_columns, ensemble.features[places])
    # Without a list of places, a block is written as it is.
    written = slice(None) if is_number.all() else places
    for start, values in _blocks(table.numbers, columns):
        for column, feature in enumerate(ensemble.features[places].tolist()):
            if feature in known:
                values[:, column] = recode(values[:, column], known[feature])
        ranks[start : start + len(values), written] = ensemble.rank(places, values)
    return ranks


def _rank_encoded(
    encoder: ColumnEncoder, known: dict[int, Numbering], ensemble: Ensemble, table: Table
) -> tuple[Codes, Ints]:
    """Return the ranks behind fairshap's own encoding, without reading the table again, and the columns."""
    widths = [column.width for column in encoder.columns_]
    owner = np.repeat(np.arange(len(widths)), widths)[ensemble.features]
    within = ensemble.features - np.cumsum([0, *widths])[owner]
    ranks = np.empty((table.n_rows, len(owner)), dtype=np.int32)
    for column in np.unique(owner).tolist():
        places = np.flatnonzero(owner == column)
        values, which = encoder.columns_[column].read(table, column)
        values = values[:, within[places]]
        for at, feature in enumerate(ensemble.features[places].tolist()):
            if feature in known:
                values[:, at] = recode(values[:, at], known[feature])
        ranks[:, places] = ensemble.rank(places, values)[which]
    return ranks, owner


def _rank_probed(
    encode: Callable[[Native, Ints], Floats], width: int, ensemble: Ensemble, table: Table, n_threads: int
) -> tuple[Codes, Ints]:
    """Return the ranks behind any preprocessing by column, and each feature's column, found by trying."""
    own, other, swapped = _some_mixes(table)
    varied, changes = one_by_one(table)
    mixed = np.where(swapped.T, other, own)
    probes = [np.concatenate(parts) for parts in zip(changes, mixed, strict=True)]
    n_probes = len(changes[0])
    values, which = condense(table)
    counts = np.array([len(rows) for rows in values])
    of_values = np.empty((counts.max(), len(ensemble.features)), dtype=np.int32)
    places = np.arange(len(ensemble.features))
    for wanted, rows in rows_of_values(values, width):
        if wanted[0] == 0:
            # The first rows go with the probes: for a small table a transformer's calls are what takes time.
            rows = [np.concatenate(parts) for parts in zip(probes, rows, strict=True)]
        encoded = encode(table.store.mix(rows), ensemble.features[places])
        if wanted[0] == 0:
            owner = find_owners(encoded[:n_probes], varied, table)
            of_mixed = ensemble.rank(places, encoded[n_probes : len(probes[0])])
            encoded = encoded[len(probes[0]) :]
        of_values[np.ix_(wanted, places)] = ensemble.rank(places, encoded)
        # Most columns have few values, and are not looked at any more.
        places = np.flatnonzero((owner < 0) | (counts[owner] > wanted[-1] + 1))
    if (of_values[:, owner < 0] != of_values[:1, owner < 0]).any():
        raise NotNativeError(UNOWNED)
    ranks = _spread_values(of_values, which, counts, owner, n_threads)
    from_other = swapped[:, np.maximum(owner, 0)]
    if (of_mixed != np.where(from_other, ranks[other], ranks[own])).any():
        raise NotNativeError(
            "the preprocessing does not work column by column; give columns that it joins as feature_groups"
        )
    return ranks, owner


def condense(table: Table) -> tuple[list[Ints], list[Codes]]:
    """Return for each column the rows in which its values stand first, and which of them each row has.

    A missing value comes last. What works column by column need not be given more than these.
    """
    values, which = [], []
    for column in range(len(table.names)):
        codes = table.numbered(column)
        group = np.flatnonzero(table.leaders == table.leaders[column]).tolist()
        if len(group) > 1:
            # What they have together is a value.
            together = pd.DataFrame({member: table.column(member) for member in group})
            numbers = together.groupby(group, dropna=False, sort=False).ngroup()
            codes = np.asarray(numbers, dtype=np.int32)
        rows, missing = first_rows(codes), codes < 0
        if missing.any():
            codes, rows = np.where(missing, len(rows), codes), np.append(rows, missing.argmax())
        values.append(rows)
        which.append(codes)
    return values, which


def rows_of_values(values: list[Ints], width: int) -> Iterator[tuple[Ints, list[Ints]]]:
    """Give rows that have all values between them, a part at a time: which of the values, and the rows.

    The rows come as those that each column is taken from; ``width`` is how many features they will have.
    """
    n, size = max(len(rows) for rows in values), max(1, ENCODED_CELLS // width)
    for start in range(0, n, size):
        wanted = np.arange(start, min(start + size, n))
        # A column that has fewer values goes on with its first one.
        yield wanted, [rows[np.where(wanted < len(rows), wanted, 0)] for rows in values]


def _spread_values(of_values: Codes, which: list[Codes], counts: Ints, owner: Ints, n_threads: int) -> Codes:
    """Return the ranks of all rows from those of the values of the column that each feature is made of."""
    ranks = np.empty((len(which[0]), len(owner)), dtype=np.int32)
    # The features of a column mostly stand side by side.
    ends = np.append(np.flatnonzero(np.diff(owner)) + 1, len(owner))
    runs = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        column = max(int(owner[start]), 0)
        runs.append((slice(start, end), which[column], of_values[: counts[column], start:end].copy()))
    size = max(1, _CELLS // len(owner))

    def spread(start: int) -> None:
        rows = slice(start, start + size)
        for run, codes, table in runs:
            ranks[rows, run] = table.take(codes[rows], axis=0, mode="clip")

    in_threads(spread, [(start,) for start in range(0, len(ranks), size)], n_threads, lambda *_: None)
    return ranks


def transform(steps: Sequence[Any], rows: Any) -> Any:
    """Return rows behind some steps."""
    try:
        for step in steps:
            rows = step.transform(rows)
    except Exception as error:
        raise NotNativeError(
            f"its preprocessing fails on rows whose cells are mixed ({error}); let it take any of them, as "
            "OneHotEncoder(handle_unknown='ignore') does"
        ) from error
    return rows


def make_encoder(steps: Sequence[Any], model: Any) -> Callable[[Native, Ints], Floats]:
    """Return a function from rows to the numbers that some of a model's own features are."""
    fill: list[float] = []
    is_array = False

    def encode(rows: Any, features: Ints) -> Floats:
        nonlocal is_array
        used, places = _narrow(steps, features) if is_array else (steps, features)
        encoded = transform(used, rows)
        if fill:
            encoded = csr_array(encoded)
        elif hasattr(encoded, "tocsr"):
            fill.append(_read_as(model, encoded[:_N_ASKED]))
        known = numberings(model, encoded)
        if isinstance(encoded, pd.DataFrame):
            # Categories that are words are numbered before anything is made of them.
            is_number = [pd.api.types.is_numeric_dtype(dtype) for dtype in encoded.dtypes]
            words, encoded = encoded, encoded.copy(deep=False)
            for feature in [j for j in known if not is_number[j]]:
                numbering, values = known.pop(feature), words.iloc[:, feature].astype(object)
                codes = values.map(numbering.codes).to_numpy(dtype=np.float64)
                if numbering.is_closed and (np.isnan(codes) & values.notna()).any():
                    raise NotNativeError(
                        f"{words.columns[feature]!r} holds what the model never saw; fit it with that"
                    )
                encoded.isetitem(feature, codes)
        else:
            is_array = True
        numbers = to_numbers(encoded[:, places] if fill else encoded, *fill)
        numbers = numbers if fill else numbers[:, places]
        for column, feature in enumerate(features.tolist()):
            if feature in known:
                numbers[:, column] = recode(numbers[:, column], known[feature])
        return numbers

    return encode


def _narrow(steps: Sequence[Any], features: Ints) -> tuple[Sequence[Any], Ints]:
    """Return steps without transformers that make none of some features, and where these stand then."""
    if len(steps) > 1 or not isinstance(steps[0], ColumnTransformer):
        return steps, features
    narrow, made = copy.copy(steps[0]), []
    # Blocks that are all dense cannot be stacked as sparse ones.
    narrow.transformers_, narrow.sparse_output_ = [], False
    for name, transformer, columns in steps[0].transformers_:
        own = np.arange(steps[0].output_indices_[name].stop)[steps[0].output_indices_[name]]
        is_used = bool(np.isin(own, features).any())
        narrow.transformers_.append((name, transformer if is_used else "drop", columns))
        made.append(own if is_used else own[:0])
    return [narrow], np.searchsorted(np.concatenate(made), features)


def _read_as(model: Any, rows: Any) -> float:
    """Return what a model takes a number for that a sparse matrix does not store.

    XGBoost takes it for a missing value, others for 0; it is the model that says so.
    """
    ask = getattr(model, "predict_proba", model.predict)
    # Not to the last bit: threads add up a forest in any order.
    return 0.0 if np.allclose(ask(rows), ask(to_numbers(rows, 0.0)), atol=TOLERANCE) else np.nan


def to_numbers(encoded: Any, fill: float = 0.0) -> Floats:
    """Return encoded rows as an array, with a number for all that a sparse matrix does not store."""
    if hasattr(encoded, "tocsr"):
        stored = encoded.tocoo()
        numbers = np.full(stored.shape, fill)
        numbers[stored.row, stored.col] = stored.data
        return numbers
    try:
        if isinstance(encoded, pd.DataFrame):
            return encoded.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(encoded.to_numpy() if hasattr(encoded, "to_numpy") else encoded, dtype=np.float64)
    except Exception as error:
        # It may make words of words, for a model that takes them: then that is called.
        raise NotNativeError(
            f"its preprocessing gives no numbers ({error}); encode categories in it, as OneHotEncoder does"
        ) from error


def one_by_one(table: Table) -> tuple[Ints, list[Ints]]:
    """Return which columns are changed, and the first row, followed by itself with one cell changed each.

    These rows come as the rows that each column is taken from. Columns that are switched together change
    together, and the first of them stands for all.
    """
    tried = [_some_values(table, column) for column in range(len(table.names))]
    varied = np.repeat(table.leaders, [len(rows) for rows in tried])
    donors = np.concatenate(tried)
    return varied, [np.concatenate([[0], np.where(varied == leader, donors, 0)]) for leader in table.leaders]


def _some_values(table: Table, column: int) -> Ints:
    """Return rows that between them have every value of a column, or many, and a missing one too."""
    codes = table.numbered(column)
    rows, most = first_rows(codes), _N_CATEGORIES_TRIED
    if table.is_numeric(column):
        # From the least to the greatest: the ends of a spline, or of bins, are moved by nothing else.
        rows, most = rows[np.argsort(table.column(column)[rows], kind="stable")], _N_NUMBERS_TRIED
    return np.append(rows[spread(len(rows), most)], (codes < 0).argmax())


def find_owners(encoded: Floats, varied: Ints, table: Table) -> Ints:
    """Return which column moves each feature, -1 where none does, from rows of :func:`one_by_one`."""
    same, encoded = encoded[0], encoded[1:]
    moved = (encoded != same) & ~(np.isnan(encoded) & np.isnan(same))
    leaders = np.unique(table.leaders)
    moves = np.array([moved[varied == leader].any(axis=0) for leader in leaders])
    shared = moves[:, moves.sum(axis=0) > 1].astype(np.int64)
    if shared.size:
        _, group = connected_components(shared @ shared.T)
        of_column = group[np.searchsorted(leaders, table.leaders)]
        sets = [np.flatnonzero(of_column == k).tolist() for k in np.flatnonzero(np.bincount(group) > 1)]
        raise MixedColumnsError([[table.names[column] for column in columns] for columns in sets])
    return np.where(moves.any(axis=0), leaders[moves.argmax(axis=0)], -1)


def _some_mixes(table: Table) -> tuple[Ints, Ints, Bools]:
    """Return pairs of rows, and for each pair which columns are taken from the second row."""
    # The same rows every time: what is checked must not depend on a seed.
    rng = np.random.default_rng(0)
    own, other = rng.integers(0, table.n_rows, size=(2, _N_MIXED))
    return own, other, (rng.random((_N_MIXED, len(table.names))) < 0.5)[:, table.leaders]


def check_sources(table: Table, columns: Ints) -> list[Ints]:
    """Return the rows that each column of rows is taken from which a reading of the model is held against.

    These are rows from all over the table; pairs of rows, mixed; and the cells that libraries may read
    differently, each in its own row and in several others.
    """
    own, other, swapped = _some_mixes(table)
    leaders = table.leaders
    column, donor = _telling_cells(table, np.flatnonzero(np.isin(leaders, leaders[columns])))
    # The same hosts every time: what is checked must not depend on a seed.
    hosts = np.random.default_rng(1).integers(0, table.n_rows, size=(_N_HOSTS, len(donor)))
    rows = np.union1d(spread(table.n_rows, N_CHECKED), donor)
    mixed = np.where(swapped.T, other, own)
    return [
        np.concatenate([rows, mixed[j], np.where(leaders[column] == leader, donor, hosts).ravel()])
        for j, leader in enumerate(leaders)
    ]


def check_outputs(scorer: Scorer, table: Table, sources: list[Ints], outputs: Floats, what: str) -> None:
    """Raise an error unless the outputs that were read for mixes of rows are the model's own."""
    expected = scorer(table.store.mix(sources))
    gap = np.abs(outputs - expected)
    if not (gap <= TOLERANCE * scorer.unit(expected)).all():
        worst = [rows[[gap.reshape(len(gap), -1).max(axis=1).argmax()]] for rows in sources]
        raise MisreadError(
            f"{what} give an output that differs from its own by {gap.max():.2g}; "
            f"{_what_mends(scorer.model, table, worst, gap.max() < _ROUNDED * np.max(scorer.unit(expected)))}"
        )


def _what_mends(model: Any, table: Table, row: list[Ints], is_rounded: bool) -> str:
    """Return what may help to read a model, from the row whose output was misread most."""
    steps, model = split(model)
    if hasattr(transform(steps, table.store.mix(row)), "tocsr"):
        return "give it a dense table, by OneHotEncoder(sparse_output=False) for example"
    cells = [table.column(j)[rows] for j, rows in enumerate(row)]
    # A category that is missing has the code -1.
    gone = [np.isnan(cell).any() or (cell.dtype.kind == "i" and (cell < 0).any()) for cell in cells]
    if any(gone):
        names = listing(name for name, is_gone in zip(table.names, gone, strict=True) if is_gone)
        return f"there {names} is missing: put an imputer before the model"
    if is_rounded:
        return "it rounds its numbers: standardize the features, or a target that is large"
    name = type(model).__name__
    return f"one of its methods was replaced, or reads a value in its own way: a plain {name} is read"


def _telling_cells(table: Table, columns: Ints) -> tuple[Ints, Ints]:
    """Return the columns and rows of cells that libraries may read differently.

    These are, in each column, a missing value, a zero, the least and the greatest number, and every category.
    """
    numeric = np.intersect1d(columns, table.numeric_columns)
    special = np.full((4, len(numeric)), -1)
    for k, column in enumerate(numeric.tolist()):
        values = table.column(column)
        is_missing = np.isnan(values)
        for kind, which in enumerate((is_missing, values == 0)):
            special[kind, k] = which.argmax() if which.any() else -1
        if not is_missing.all():
            special[2:, k] = np.nanargmin(values), np.nanargmax(values)
    of_special = np.broadcast_to(numeric, special.shape)
    found_in, found = [of_special[special >= 0]], [special[special >= 0]]
    for column in np.setdiff1d(columns, table.numeric_columns).tolist():
        first, missing = table.distinct(column), np.flatnonzero(table.column(column) < 0)[:1]
        rows = np.append(first[spread(len(first), _N_CATEGORIES)], missing)
        found_in.append(np.full(len(rows), column))
        found.append(rows)
    return np.concatenate(found_in), np.concatenate(found)


def _blocks(numbers: Floats, columns: Ints) -> Iterator[tuple[int, Floats]]:
    """Give some columns of a table a part at a time: where it starts, and a copy of its rows."""
    size = max(1, _CELLS // max(len(columns), 1))
    for start in range(0, len(numbers), size):
        yield start, numbers[start : start + size].take(columns, axis=1)
