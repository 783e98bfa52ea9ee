"""The paper's two ablations: as many edits as FairSHAP makes, in cells that are drawn."""

import copy
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from fairshap._frames import Table
from fairshap._problem import Labels, Privileged, Setting, check_order
from fairshap._typing import Floats, Ints, Native
from fairshap.edits import edits_of_cells
from fairshap.exceptions import InputError
from fairshap.matching import match_rows
from fairshap.mitigation._base import Sampler


class _Editor(Sampler):
    """Edits cells that are drawn."""

    n_edits: Any

    def fit_resample(self, X: Native, y: Any, *, sensitive_features: Any = None) -> tuple[Native, Any]:
        """Return the table with the edits made, and the target.

        Parameters
        ----------
        X : data frame or array
            The training table.
        y : array-like
            The label of each row, two values.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X.

        Returns
        -------
        X_edited : data frame or array
            A copy of X with the edits made: same type, rows, order, index, columns and dtypes.
        y : array-like
            A copy of the target, which is not edited.
        """
        _check_count(self.n_edits)
        setting = self._setting(X, sensitive_features)
        labels = Labels.read(y, setting.own.n_rows, is_quantity=False)
        check_order(X, y, "y")
        row, column, reference = self._draw(setting, labels)
        phi = np.full(len(row), np.nan)
        self.edits_ = edits_of_cells(setting.own, setting.own, row, column, reference, phi)
        return self.edits_.apply(setting.own.native), copy.copy(y)

    def _draw(self, setting: Setting, labels: Labels) -> tuple[Ints, Ints, Ints]:
        """Return the row, the column and the reference of each edit."""
        raise NotImplementedError

    def _drawn(self, n_cells: int, rng: Any) -> Ints:
        """Return as many of the cells that can be edited as there are edits to make, in order."""
        if self.n_edits > n_cells:
            raise InputError(
                f"n_edits={self.n_edits} is more than the {n_cells} cells that another value can be put into."
            )
        return np.sort(sample_without_replacement(n_cells, self.n_edits, random_state=rng)).astype(np.int64)


class RandomEditor(_Editor):
    """Replace random cells by the value of a random other row (the paper's first ablation).

    What FairSHAP would do if it chose neither cells nor references. The cells are drawn without replacement
    from all columns that hold more than one value, the sensitive ones aside; the new value is that of a row
    drawn from those that have another one. So every edit changes its cell, as FairSHAP's do. (The paper
    speaks of any cell and any other row, so that a replaced cell may keep its value.)

    Parameters
    ----------
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table. It is not edited.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged. It makes no difference here; it is checked, as in every baseline.
    n_edits : int
        How many cells to edit: as many as FairSHAP does, ``len(fs.edits_)``.
    random_state : int, RandomState instance or None, default=None
        The source of the draws.

    Attributes
    ----------
    edits_ : Edits
        The ledger; its attributions are NaN.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    Examples
    --------
    >>> from fairshap import datasets
    >>> from fairshap.mitigation import RandomEditor
    >>> d = datasets.make_biased(400, random_state=0)
    >>> editor = RandomEditor(sensitive="group", privileged="a", n_edits=30, random_state=0)
    >>> X, y = editor.fit_resample(d.X, d.y)
    >>> int((X != d.X).sum().sum())
    30
    """

    def __init__(
        self,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        n_edits: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.n_edits = n_edits
        self.random_state = random_state

    def _draw(self, setting: Setting, labels: Labels) -> tuple[Ints, Ints, Ints]:  # noqa: ARG002
        own = setting.own
        rng = check_random_state(self.random_state)
        rows = np.arange(own.n_rows)
        varies = own.differ(rows, np.zeros_like(rows)).any(axis=0)
        editable = np.setdiff1d(np.flatnonzero(varies), setting.columns)
        row, place = np.divmod(self._drawn(own.n_rows * len(editable), rng), max(len(editable), 1))
        column = editable[place]
        reference = np.empty(len(row), dtype=np.int64)
        chance = rng.random_sample(len(row))
        for j in np.unique(column).tolist():
            chosen = column == j
            reference[chosen] = _rows_with_another(own, j, row[chosen], chance[chosen])
        return row, column, reference


class ReferenceEditor(_Editor):
    """Replace random cells by the value of the row's reference (the paper's second ablation).

    FairSHAP without attribution: every row is matched with its nearest row of the other group and the same
    label, and the cells are drawn from those in which the two differ, the sensitive ones aside. So every
    edit changes its cell, as FairSHAP's do. (The paper's code draws from all cells, those that are equal and
    the sensitive ones included.)

    Parameters
    ----------
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table. It is not edited.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged.
    n_edits : int
        How many cells to edit: as many as FairSHAP does, ``len(fs.edits_)``.
    random_state : int, RandomState instance or None, default=None
        The source of the draws.
    n_jobs : int, default=None
        How many threads match; all cores by default. The result is the same for any number.

    Attributes
    ----------
    matches_ : MatchPlan
        The reference of each row.
    edits_ : Edits
        The ledger; its attributions are NaN.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    Examples
    --------
    >>> from fairshap import datasets
    >>> from fairshap.mitigation import ReferenceEditor
    >>> d = datasets.make_biased(400, random_state=0)
    >>> editor = ReferenceEditor(sensitive="group", privileged="a", n_edits=30, random_state=0)
    >>> X, y = editor.fit_resample(d.X, d.y)
    >>> int((X != d.X).sum().sum())
    30
    """

    def __init__(
        self,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        n_edits: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.n_edits = n_edits
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _draw(self, setting: Setting, labels: Labels) -> tuple[Ints, Ints, Ints]:
        self.matches_ = match_rows(setting, labels, n_jobs=self.n_jobs)
        best = self.matches_.best
        rows = np.flatnonzero(best >= 0)
        differ = setting.own.differ(rows, best[rows])
        differ[:, [column for column in setting.columns if column < differ.shape[1]]] = False
        cells = np.flatnonzero(differ)
        drawn = cells[self._drawn(len(cells), check_random_state(self.random_state))]
        at, column = np.divmod(drawn, differ.shape[1])
        return rows[at], column, best[rows[at]]


def _rows_with_another(table: Table, column: int, rows: Ints, chance: Floats) -> Ints:
    """Return for each row one of those that hold another value, all equally likely."""
    _, codes, counts = np.unique(table.column(column), return_inverse=True, return_counts=True)
    # Sorted by value, the rows with the same value stand in one run, which is jumped over.
    order = np.argsort(codes, kind="stable")
    size = counts[codes[rows]]
    start = (np.cumsum(counts) - counts)[codes[rows]]
    n_others = table.n_rows - size
    place = np.minimum((chance * n_others).astype(np.int64), n_others - 1)
    return order[np.where(place >= start, place + size, place)]


def _check_count(n_edits: Any) -> None:
    """Raise an error unless it is a number of edits."""
    if isinstance(n_edits, (bool, np.bool_)) or not isinstance(n_edits, (int, np.integer)) or n_edits < 0:
        raise InputError(
            f"n_edits={n_edits!r} is not a number of edits; give a whole number, for example "
            "len(FairSHAP(...).fit(X, y).edits_)."
        )
