"""What the columns of a table are good for: those that no model can use, and those that are suspicious."""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fairshap._messages import listing
from fairshap._typing import Hashes, Ints

# Fewer rows than these may all differ by chance.
_FEW_ROWS = 20
# As many different whole numbers, or fewer, may be codes.
_FEW_VALUES = 10
# How many of the rarer values of a column may be told wrongly by one that tells it "almost".
_ALMOST = 0.02
# The different values of a column that are told apart; of more, a part is counted that is chosen by hash.
_MOST = 1 << 18
_IDENTIFIER = re.compile(
    r"(?i:(?:^|[\W_])(?:ids?|nr|no|number|key|uuid|guid|index|ref)\W*$|nummer$|^(?:id|index)\b)|[a-z]I[dD]$"
)


class ColumnFacts(NamedTuple):
    """What tells whether a model can learn from a column; of a large one, numbers of values are estimates."""

    name: str
    #: Whether it holds text or other categories; whole numbers; or neither.
    is_category: bool
    is_whole: bool
    n_rows: int
    n_present: int
    n_values: int
    #: Whether every value that is there occurs once.
    is_each_once: bool
    #: One of its values, and for whole numbers how many there are from the least to the greatest.
    first: Any
    span: int

    @classmethod
    def of(cls, column: pd.Series) -> "ColumnFacts":
        """Return the facts of a column in memory."""
        n_present, n_values = int(column.notna().sum()), column.nunique()
        is_whole = column.dtype.kind in "iu"
        span = int(column.max()) - int(column.min()) + 1 if is_whole and n_present else 0
        is_category, first = isinstance(column.dtype, pd.CategoricalDtype), column.iloc[0]
        kinds = str(column.name), is_category, is_whole
        return cls(*kinds, len(column), n_present, n_values, n_values == n_present, first, span)

    @property
    def why_unusable(self) -> str:
        """Why no model can learn from it; blank if one can."""
        n_present, n_values = self.n_present, self.n_values
        if not n_present:
            return "empty"
        if n_values == 1 and n_present == self.n_rows:
            return f"always {self.first!r}"
        if n_present <= _FEW_ROWS or 2 * n_values <= n_present or n_values <= _FEW_ROWS:
            return ""
        if self.is_category:
            return (
                "every value occurs once" if self.is_each_once else f"text of {n_values:,} different values"
            )
        if self.is_whole:
            if self.is_each_once and n_present == self.span:
                return "numbers the rows"
            if _IDENTIFIER.search(self.name):
                return "an identifier"
        return ""


class ColumnScan:
    """What is known of one column of many files, chunk by chunk in bounded memory."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        self.name = name
        self.is_whole = pa.types.is_integer(kind)
        self.is_category = is_text(kind) or pa.types.is_dictionary(kind)
        self.n_rows = self.n_present = 0
        self.first: Any = None
        self.low: Any = None
        self.high: Any = None
        # The hashes of values that are told apart, how often each occurs, and how many bits of one must be 0.
        self.hashes: Hashes = np.empty(0, dtype=np.uint64)
        self.counts: Ints = np.empty(0, dtype=np.int64)
        self.bits = 0

    def add(self, cells: pa.ChunkedArray) -> None:
        """Add the cells of a chunk."""
        present = cells.drop_null()
        self.n_rows += len(cells)
        self.n_present += len(present)
        if not len(present):
            return
        if pa.types.is_dictionary(present.type):
            present = present.cast(present.type.value_type)
        self.first = present[0].as_py() if self.first is None else self.first
        ends = pc.min_max(present).as_py()
        self.low = ends["min"] if self.low is None else min(self.low, ends["min"])
        self.high = ends["max"] if self.high is None else max(self.high, ends["max"])
        if self.is_whole or self.is_category:
            found = pc.value_counts(present)
            values = found.field("values").to_numpy(zero_copy_only=False)
            self._count(pd.util.hash_array(values, categorize=False), found.field("counts").to_numpy())

    def _count(self, hashes: Hashes, counts: Ints) -> None:
        both, place = np.unique(np.concatenate([self.hashes, hashes]), return_inverse=True)
        total = np.zeros(len(both), dtype=np.int64)
        np.add.at(total, place, np.concatenate([self.counts, counts]))
        self._keep(both, total)
        while len(self.hashes) > _MOST:
            self.bits += 1
            self._keep(self.hashes, self.counts)

    def _keep(self, hashes: Hashes, counts: Ints) -> None:
        kept = hashes & np.uint64((1 << self.bits) - 1) == 0
        self.hashes, self.counts = hashes[kept], counts[kept]

    @property
    def facts(self) -> ColumnFacts:
        """What was found."""
        is_counted = self.is_whole or self.is_category
        # Of other columns it is only asked whether they are constant.
        n_values = len(self.hashes) << self.bits if is_counted else 1 + int(self.low != self.high)
        is_each_once = is_counted and bool(len(self.counts)) and int(self.counts.max()) == 1
        span = self.high - self.low + 1 if self.is_whole and self.n_present else 0
        kinds = self.name, self.is_category, self.is_whole
        return ColumnFacts(*kinds, self.n_rows, self.n_present, n_values, is_each_once, self.first, span)


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def find_unusable(frame: pd.DataFrame, kept: Collection[str]) -> dict[str, str]:
    """Return the columns that no model can learn from, and why; those in ``kept`` are not looked at."""
    facts = (ColumnFacts.of(frame[name]) for name in frame.columns if name not in kept)
    return {one.name: one.why_unusable for one in facts if one.why_unusable}


def tell_left_out(left_out: Mapping[str, str]) -> str:
    """Return which columns are left out and why, and how to keep one that nobody asked to leave out."""
    said = "; ".join(f"{name} ({why})" for name, why in left_out.items())
    is_asked = all(why in ("empty", "--drop", "--id") for why in left_out.values())
    return said if is_asked else f"{said}. To keep one, name it in --categorical or --numeric"


def find_codes(X: pd.DataFrame, skipped: Collection[str]) -> list[str]:
    """Return the columns of few different whole numbers, which may be codes."""
    whole = [name for name in X.columns if X[name].dtype.kind in "iu" and name not in skipped]
    return [name for name in whole if 2 < X[name].nunique() <= _FEW_VALUES < len(X)]


def find_suspicious(X: pd.DataFrame, y: pd.Series, sensitive: Collection[str]) -> dict[str, list[str]]:
    """Return what is told of columns that tell the target, or the sensitive one, exactly or almost."""
    columns = {name: _encode(X[name]) for name in X.columns}
    found: dict[str, list[str]] = {"target": [], "sensitive": []}
    for which, names in (("target", [str(y.name)]), ("sensitive", list(sensitive))):
        for name in names:
            labels = pd.factorize(y)[0] if which == "target" else columns[name]
            for other, codes in columns.items():
                how = "" if other in sensitive else _how_told(X[other], codes, labels)
                if how:
                    found[which].append(f"{other!r} tells {name!r} {how}")
    return found


def _encode(column: pd.Series) -> Ints:
    """Return a number for each value of a column; a missing one has its own."""
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0], dtype=np.int64)


def _how_told(column: pd.Series, codes: Ints, labels: Ints) -> str:
    """Return whether a column tells labels exactly or almost, else nothing."""
    n_labels, n_values = int(labels.max()) + 1, int(codes.max()) + 1
    totals = np.bincount(labels, minlength=n_labels)
    rare = len(labels) - int(totals.max())
    if rare < _FEW_VALUES or n_labels > len(labels) // _FEW_ROWS:
        return ""
    if n_values * 5 <= len(codes):
        counts = np.bincount(codes * n_labels + labels, minlength=n_values * n_labels)
        wrong = len(codes) - int(counts.reshape(n_values, n_labels).max(axis=1).sum())
    elif column.dtype.kind in "iufM" and n_labels == 2:
        wrong = _wrong_by_a_cut(column, labels)
    else:
        return ""
    if wrong > _ALMOST * rare:
        return ""
    return "almost exactly" if wrong else "exactly"


def _wrong_by_a_cut(column: pd.Series, labels: Ints) -> int:
    """Return how many of two labels are wrong if the values below a cut have one and the others the other."""
    present = column.notna().to_numpy()
    order = np.argsort(column[present].to_numpy(), kind="stable")
    sorted_values, ones = column[present].to_numpy()[order], labels[present][order]
    ends = np.append(np.flatnonzero(sorted_values[1:] != sorted_values[:-1]) + 1, len(ones))
    below = np.append(0, np.cumsum(ones))[ends]
    upside = below + (len(ones) - ends) - (ones.sum() - below)
    absent = labels[~present]
    missing = min(int(absent.sum()), len(absent) - int(absent.sum()))
    return int(min(upside.min(), (len(ones) - upside).min())) + missing


def tell_suspicious(found: Mapping[str, list[str]]) -> list[str]:
    """Return the sentences on suspicious columns, with what to do."""
    said = []
    if found["target"]:
        said.append(
            f"{listing(found['target'], 4, str, '; ')}: is it known only after the decision? Then leave it "
            "out with --drop."
        )
    if found["sensitive"]:
        said.append(
            f"{listing(found['sensitive'], 4, str, '; ')}: a model can read the attribute from there, and "
            "switching the attribute alone shows too little. Leave such a column out with --drop, or add it "
            "to --sensitive."
        )
    return said
