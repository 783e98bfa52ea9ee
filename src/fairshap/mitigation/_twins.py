"""Train on every row twice: as it is, and as if it were of the other group."""

from typing import Any

import numpy as np

from fairshap._problem import Comparison, Labels, Privileged, Twins, check_order, check_weights
from fairshap._typing import Native
from fairshap.exceptions import InputError
from fairshap.mitigation._base import Sampler


class CounterfactualAugmenter(Sampler):
    """Add a twin to every row, in which only the sensitive value is switched; the label is kept.

    With more than two values there is a twin for each other value, or one whose value is drawn from the other
    side; of a quantity such as age it is the median of the other side. With several sensitive columns all are
    switched together, to a combination that occurs. A row and its twins share the row's weight equally, so
    that the table weighs what it did. A row whose attribute is missing has no twin and keeps its weight.

    It is a sampler in the sense of imbalanced-learn. The rows come first, in their order, then the twins in
    theirs.

    Parameters
    ----------
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute. It must be a column of the table: beside it, a twin would be an equal copy.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged.
    comparison : {"max", "mean", "random"}, default="max"
        With "random" each row has one twin, of a value that is drawn for it; otherwise one for each value.
    random_state : int, RandomState instance or None, default=None
        The source of the values that are drawn.

    Attributes
    ----------
    twin_of_ : ndarray of int, shape (twins,)
        The row that each twin is of.
    sample_weight_ : ndarray of float, shape (rows and twins,)
        The weight of each, to be given to the fit of a classifier.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import CounterfactualAugmenter
    >>> X = pd.DataFrame({"sex": ["m", "f"], "age": [30, 40]})
    >>> augmenter = CounterfactualAugmenter(sensitive="sex", privileged="m")
    >>> X_twice, y_twice = augmenter.fit_resample(X, [0, 1])
    >>> X_twice["sex"].tolist(), y_twice, augmenter.twin_of_.tolist()
    (['m', 'f', 'f', 'm'], [0, 1, 0, 1], [0, 1])
    """

    def __init__(
        self,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        comparison: Comparison = "max",
        random_state: Any = None,
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.comparison = comparison
        self.random_state = random_state

    def fit_resample(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> tuple[Native, Any]:
        """Return the rows with their twins, and their labels.

        Parameters
        ----------
        X : data frame or array
            The training table, which holds the sensitive attribute.
        y : array-like
            The label of each row, two values.
        sensitive_features : None
            Refused: the attribute must be a column of X.
        sample_weight : array-like, optional
            The weights of the rows, which they share with their twins.

        Returns
        -------
        X_twice : data frame or array
            The rows and below them the twins, in the type of X with its columns and dtypes.
        y_twice : array-like
            Their labels, in the type of y.
        """
        if sensitive_features is not None:
            raise InputError(
                "sensitive_features is given, but the twin of a row that does not hold the attribute would "
                "be an equal copy. Put the attribute into X and name it by sensitive, or train without it."
            )
        setting = self._setting(X, None, comparison=self.comparison, random_state=self.random_state)
        Labels.read(y, setting.own.n_rows, is_quantity=False)
        check_order(X, y, "y")
        weights = check_weights(sample_weight, setting.own.n_rows)
        twins = Twins.make(setting, np.arange(setting.own.n_rows), weights)
        self.twin_of_, self.sample_weight_ = twins.of, twins.weight
        return twins.add_to(setting.own.native), twins.add_to_target(y)
