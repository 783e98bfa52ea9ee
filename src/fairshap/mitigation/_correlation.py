"""Make the features uncorrelated with the sensitive attribute."""

from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin

from fairshap._frames import NewColumn, Table
from fairshap._messages import listing
from fairshap._models import ColumnEncoder
from fairshap._problem import Privileged
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError, MissingExtraError
from fairshap.mitigation._attribute import AttributeReader
from fairshap.mitigation._base import RowTransformer, check_share

# Earlier versions centre wrongly with several sensitive columns.
_OLDEST = (0, 15)


class CorrelationRemover(OneToOneFeatureMixin, RowTransformer):
    """Subtract from each feature what is linear in the sensitive attribute (CR in the paper).

    fairlearn's ``CorrelationRemover`` for the tables that fairshap takes; it needs the extra
    ``fairshap[fairlearn]``. A column of numbers is one feature, as it is; a category becomes one-hot features
    (``town=x``), and so does a sensitive category. The features come back as float64, without the
    sensitive attribute. Test rows are transformed too. Missing numbers are refused, as fairlearn does.

    What is subtracted depends on the row's own attribute. So a prediction still changes, and may change more
    than without this, when the attribute of a raw row is switched. The paper reports a discriminative
    risk near 0 because it switches the attribute beside rows that stay transformed as they were.

    Parameters
    ----------
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged. It makes no difference here; it is checked, as in every baseline.
    alpha : float, default=1.0
        How much of the correlation is removed, from 0 to 1.
    keep_sensitive : bool, default=False
        Leave the sensitive columns in their places, as they are, so that a model sees them beside the other
        features. The paper's code does so.

    Attributes
    ----------
    remover_ : fairlearn.preprocessing.CorrelationRemover
        The fitted remover; the sensitive features come first in what it takes.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from fairshap.mitigation import CorrelationRemover
    >>> X = np.array([[0, 1.0], [0, 2.0], [1, 5.0], [1, 6.0]])
    >>> CorrelationRemover(sensitive=0, privileged=1).fit_transform(X).round(6)
    array([[3.],
           [4.],
           [3.],
           [4.]])
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

    def fit(self, X: Native, y: Any = None, *, sensitive_features: Any = None) -> "CorrelationRemover":  # noqa: ARG002
        """Learn the projection; see :class:`CorrelationRemover` for the parameters."""
        check_share(self.alpha, "alpha")
        remover = _fairlearn_remover()
        setting = self._setting(X, sensitive_features)
        own = setting.own
        self._attribute = AttributeReader.of(setting)
        self._others = np.setdiff1d(np.arange(len(own.names)), setting.columns)
        if not len(self._others):
            raise InputError(f"X has {len(own.names)} feature(s), all of them sensitive: none is left.")
        alone = self._attribute.read(own, sensitive_features)
        self._sensitive_encoder = ColumnEncoder().fit(alone.native)
        self._encoder = ColumnEncoder().fit(own.store.compose(self._others.tolist()))
        self._layout = _layout(len(own.names), self._others, self._encoder, self.keep_sensitive)
        ids = list(range(self._sensitive_encoder.n_features_out_))
        self.remover_ = remover(sensitive_feature_ids=ids, alpha=self.alpha)
        self.remover_.fit(self._features(own, sensitive_features))
        return self

    def _features(self, table: Table, sensitive_features: Any) -> Floats:
        """Return the rows as numbers, the sensitive features first."""
        alone = self._attribute.read(table, sensitive_features)
        others = Table.read(table.store.compose(self._others.tolist()))
        return np.hstack([_encoded(self._sensitive_encoder, alone), _encoded(self._encoder, others)])

    def _transform(self, table: Table, sensitive_features: Any) -> Native:
        removed = self.remover_.transform(self._features(table, sensitive_features))
        names = self._names(table.names)
        columns: list[int | NewColumn] = [
            feature.column if feature.position is None else (name, removed[:, feature.position])
            for name, feature in zip(names, self._layout, strict=True)
        ]
        return table.store.compose(columns)

    def _names(self, columns: Any) -> list[Any]:
        """Return what the features are called, given the names of the table's columns."""
        names = [
            columns[feature.column]
            if feature.ending is None
            else f"{columns[feature.column]}={feature.ending}"
            for feature in self._layout
        ]
        # scikit-learn refuses frames whose column names are numbers and text.
        return [str(name) for name in names] if any(isinstance(name, str) for name in names) else names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features that come out."""
        return np.array(self._names(super().get_feature_names_out(input_features)), dtype=object)


class _Feature(NamedTuple):
    """A column of what comes out.

    Its column in the table; its place among fairlearn's features, none for a sensitive column that is kept;
    its category, if it is one of a one-hot block.
    """

    column: int
    position: int | None
    ending: Any


def _layout(width: int, others: Ints, encoder: ColumnEncoder, keep_sensitive: bool) -> list[_Feature]:
    """Return the columns of what comes out, in order."""
    encoded = dict(zip(others.tolist(), encoder.columns_, strict=True))
    layout: list[_Feature] = []
    position = 0
    for column in range(width):
        if column not in encoded:
            if keep_sensitive:
                layout.append(_Feature(column, None, None))
            continue
        for ending in encoded[column].endings:
            layout.append(_Feature(column, position, ending))
            position += 1
    return layout


def _encoded(encoder: ColumnEncoder, table: Table) -> Floats:
    """Return categories one-hot and numbers as they are, not standardised."""
    widths = [column.width for column in encoder.columns_]
    starts = np.cumsum(widths) - widths
    numeric = [j for j, column in enumerate(encoder.columns_) if column.endings == (None,)]
    if len(numeric) == len(widths) == len(table.numeric_columns):
        # Nothing but numbers: the table itself, not one column of a wide table after the other.
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


def _fairlearn_remover() -> Any:
    """Return fairlearn's class, if a version is there that computes rightly."""
    try:
        from fairlearn.preprocessing import CorrelationRemover as Remover
    except ImportError as error:
        raise MissingExtraError("CorrelationRemover", "fairlearn", "fairlearn") from error
    version = metadata.version("fairlearn")
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        raise MissingExtraError("CorrelationRemover", f"fairlearn 0.15 or later (not {version})", "fairlearn")
    return Remover
