"""Train on every row twice: once unchanged, once with the sensitive attribute switched."""

from typing import Any

import numpy as np

from fairshap._problem import Comparison, Privileged, Target, check_order, check_weights
from fairshap._typing import Native
from fairshap.edits._recipe import Counterfactuals
from fairshap.exceptions import InputError
from fairshap.mitigation._base import Sampler


class CounterfactualAugmenter(Sampler):
    """Add a counterfactual of every row: only the sensitive value is switched, the label is kept.

    With more than two values there is one for each other value, or one whose value is drawn from the other
    side; a quantity such as age gets the median of the other side. Several sensitive columns are switched
    together, to a combination that occurs. A row and its counterfactuals share the row's weight, so the total
    weight stays. A row whose attribute is missing has none and keeps its weight. The attribute must be a
    column of the table: otherwise a counterfactual would be an equal copy.

    Parameters
    ----------
    comparison : {"max", "mean", "random"}, default="max"
        With "random" each row has one, of a value drawn for it; otherwise one for each value.
    random_state : int, RandomState instance or None, default=None
        The source of randomness for the drawn values.

    Attributes
    ----------
    counterfactual_of_ : ndarray of int, shape (counterfactuals,)
        The row of each counterfactual.
    sample_weight_ : ndarray of float, shape (rows and counterfactuals,)
        The weight of each row and counterfactual, for the fit of a classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import CounterfactualAugmenter
    >>> X = pd.DataFrame({"sex": ["m", "f"], "age": [30, 40]})
    >>> augmenter = CounterfactualAugmenter(sensitive="sex", privileged="m")
    >>> X_twice, y_twice = augmenter.fit_resample(X, [0, 1])
    >>> X_twice["sex"].tolist(), y_twice, augmenter.counterfactual_of_.tolist()
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
        """Return the rows with their counterfactuals below, in the same order, and the labels."""
        if sensitive_features is not None:
            raise InputError(
                "sensitive_features is given, but the counterfactual of a row without the attribute would "
                "be an equal copy. Put the attribute into X and name it by sensitive, or train without it.",
                parameter="sensitive_features",
            )
        problem = self._problem(X, None, comparison=self.comparison, random_state=self.random_state)
        Target.read(y, problem.own.n_rows, is_quantity=False)
        check_order(X, y, "y")
        weights = check_weights(sample_weight, problem.own.n_rows)
        added = Counterfactuals.make(problem, np.arange(problem.own.n_rows), weights)
        self.counterfactual_of_, self.sample_weight_ = added.of, added.weight
        return added.add_to(problem.own.native), added.add_to_target(y)
