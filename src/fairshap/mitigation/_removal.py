"""Remove the sensitive attribute, or what is linear in it, from the features."""

from importlib import import_module, metadata
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairshap._frames import NewColumn, Table, open_store
from fairshap._messages import listing
from fairshap._models import ColumnEncoder, needs_columns
from fairshap._problem import Privileged
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError, MissingExtraError
from fairshap.mitigation._base import RowTransformer, check_share

# Characters that XGBoost or LightGBM refuses in the name of a column, and what stands for them.
_PLAIN = str.maketrans({"[": "(", "]": ")", "{": "(", "}": ")", "<": "lt ", ",": ";", ":": ";", '"': "'"})


class SensitiveRemover(RowTransformer):
    """Drop the sensitive column (RSA in the paper).

    The discriminative risk is then zero; what the other columns tell about the attribute stays.

    Parameters
    ----------
    hold : bool, default=False
        Keep the column and give it the same value in every row. Needed where the estimator must be fitted in
        the same way without the column: a pipeline that names its columns, or a table whose only text column
        is the sensitive one, so that its numbers are standardized. :class:`MitigatedClassifier` sets it.

    Attributes
    ----------
    kept_ : ndarray of int
        The positions of the columns that are kept.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import SensitiveRemover
    >>> X = pd.DataFrame({"sex": ["m", "f"], "age": [30, 40]})
    >>> SensitiveRemover(sensitive="sex", privileged="m").fit_transform(X)
       age
    0   30
    1   40
    """

    def __init__(self, *, sensitive: Any = None, privileged: Privileged = None, hold: bool = False) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.hold = hold

    def fit(self, X: Native, y: Any = None) -> Self:  # noqa: ARG002
        """Find the sensitive columns."""
        problem = self._training_table(X)
        row = np.flatnonzero(problem.groups.side >= 0)[:1]
        self._names = problem.own.names
        self._held = {k: problem.own.store.values(k, row) for k in self._columns} if self.hold else {}
        self.kept_ = np.arange(len(problem.own.names)) if self.hold else np.array(self._others)
        return self

    def fit_for(self, estimator: Any, X: Native) -> Self:
        """Fit, and hold the sensitive columns if the estimator would be fitted otherwise without them."""
        self.fit(X)
        if not self.hold and needs_columns(estimator, Table.read(X), set(self._columns)):
            self.set_params(hold=True).fit(X)
        return self

    def transform(self, X: Native) -> Native:
        """Return the rows without the sensitive columns, in the type of X."""
        table = self._other_rows(X)
        if not self._held:
            return table.store.compose(self.kept_.tolist())
        rows = np.arange(table.n_rows)
        return table.store.assign({k: (rows, value * len(rows)) for k, value in self._held.items()})

    def complete(self, X: Native) -> Native:
        """Return rows that come without the sensitive columns as :meth:`transform` would return them."""
        store, rest = open_store(X), iter(range(len(self._others)))
        held = {k: (self._names[k], value * store.n_rows) for k, value in self._held.items()}
        return store.compose([held[k] if k in held else next(rest) for k in self.kept_.tolist()])

    def is_without(self, X: Native) -> bool:
        """Say whether rows have the columns of the training rows but for the sensitive ones."""
        store = open_store(X)
        names = range(len(self._others)) if store.is_array else (self._names[k] for k in self._others)
        return store.names == tuple(names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that are kept."""
        return np.asarray(super().get_feature_names_out(input_features))[self.kept_]


def remover_for(owner: Any, estimator: Any, X: Native) -> SensitiveRemover:
    """Return what takes the sensitive columns of an owner away from what an estimator is fitted on."""
    return SensitiveRemover(sensitive=owner.sensitive, privileged=owner.privileged).fit_for(estimator, X)


class CorrelationRemover(RowTransformer):
    """Subtract from each feature what is linear in the sensitive attribute (CR in the paper).

    fairlearn's ``CorrelationRemover`` for the tables that fairshap takes; it needs the extra
    ``fairshap[fairlearn]``. A category, sensitive or not, is one-hot encoded (``town=x``); the features come
    back as float64, without the sensitive attribute. Missing numbers are refused, as in fairlearn.

    What is subtracted depends on the row's own attribute, so switching it in a raw row may change the
    prediction even more than without this. The paper switches it in rows that are already transformed.

    Parameters
    ----------
    alpha : float, default=1.0
        How much of the correlation to remove, from 0 to 1.
    keep_sensitive : bool, default=False
        Keep the sensitive columns, unchanged and in place, so that a model sees them beside the other
        features, as in the paper's code.

    Attributes
    ----------
    remover_ : fairlearn.preprocessing.CorrelationRemover
        The fitted remover; it takes the sensitive features first.

    Examples
    --------
    >>> import numpy as np
    >>> from fairshap.mitigation import CorrelationRemover
    >>> X = np.array([[0, 1.0], [0, 2.0], [1, 5.0], [1, 6.0]])
    >>> CorrelationRemover(sensitive=0, privileged=1).fit_transform(X).round(6).ravel()
    array([3., 4., 3., 4.])
    """

    def __init__(
        self,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        alpha: float = 1.0,
        keep_sensitive: bool = False,
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.alpha = alpha
        self.keep_sensitive = keep_sensitive

    def fit(self, X: Native, y: Any = None) -> Self:  # noqa: ARG002
        """Learn what is linear in the attribute."""
        check_share(self.alpha, "alpha")
        preprocessing = import_fairlearn("preprocessing", "CorrelationRemover")
        own = self._training_table(X).own
        self._encoders = [
            ColumnEncoder().fit(own.store.compose(part)) for part in (self._columns, self._others)
        ]
        # Each feature's column, and its category if it is one of a one-hot block.
        endings = (column.endings for column in self._encoders[1].columns_)
        by_column = dict(zip(self._others, endings, strict=True))
        kept = (None,) if self.keep_sensitive else ()
        columns = range(len(own.names))
        self._layout = [(column, end) for column in columns for end in by_column.get(column, kept)]
        ids = list(range(self._encoders[0].n_features_out_))
        self.remover_ = preprocessing.CorrelationRemover(sensitive_feature_ids=ids, alpha=self.alpha)
        self.remover_.fit(self._features(own))
        return self

    def transform(self, X: Native) -> Native:
        """Return the rows without what is linear in the attribute, in the type of X."""
        table = self._other_rows(X)
        features = iter(self.remover_.transform(self._features(table)).T)
        columns: list[int | NewColumn] = [
            (name, next(features)) if column in self._others else column
            for name, (column, _) in zip(self._names(table.names), self._layout, strict=True)
        ]
        return table.store.compose(columns)

    def _features(self, table: Table) -> Floats:
        """Return the rows as numbers, the sensitive features first."""
        parts = (Table.read(table.store.compose(part)) for part in (self._columns, self._others))
        return np.hstack([_encoded(*pair) for pair in zip(self._encoders, parts, strict=True)])

    def _names(self, columns: Any) -> list[Any]:
        """Return the names of the features, given those of the table's columns."""
        names: list[Any] = []
        for column, end in self._layout:
            name = columns[column] if end is None else f"{columns[column]}={end}".translate(_PLAIN)
            while end is not None and name in names:
                name += "_"
            names.append(name)
        # scikit-learn refuses frames whose column names are numbers and text.
        return [str(name) for name in names] if any(isinstance(name, str) for name in names) else names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features."""
        return np.array(self._names(super().get_feature_names_out(input_features)), dtype=object)


def _encoded(encoder: ColumnEncoder, table: Table) -> Floats:
    """Return categories one-hot and numbers unchanged, not standardized."""
    widths = [column.width for column in encoder.columns_]
    starts = np.cumsum(widths) - widths
    numeric = [j for j, column in enumerate(encoder.columns_) if column.endings == (None,)]
    if len(numeric) == len(widths) == len(table.numeric_columns):
        # Numbers only: much faster for a wide table than column by column.
        encoded = table.numbers
    else:
        encoded = encoder.transform(table.native)
        for j in numeric:
            encoded[:, starts[j]] = table.column(j)
    missing = [table.names[j] for j in numeric if np.isnan(encoded[:, starts[j]]).any()]
    if missing:
        raise InputError(
            f"column {listing(missing)} has missing values (NaN), which correlation removal does not take. "
            "Fill them in first, for example with sklearn.impute.SimpleImputer."
        )
    return encoded


def import_fairlearn(module: str, what: str) -> Any:
    """Return a module of fairlearn; before 0.15 correlation removal centers several columns wrongly."""
    try:
        found = import_module(f"fairlearn.{module}")
    except ImportError as error:
        raise MissingExtraError(what, "fairlearn", "fairlearn") from error
    version = metadata.version("fairlearn")
    if tuple(int(part) for part in version.split(".")[:2]) < (0, 15):
        raise MissingExtraError(what, f"fairlearn 0.15 or later (not {version})", "fairlearn")
    return found
