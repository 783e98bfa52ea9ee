"""How Shapley values are computed: what the user asked for, checked."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from fairshap._frames import Players, PlayersLike, Table
from fairshap._messages import did_you_mean, listing
from fairshap._problem import Comparison
from fairshap.exceptions import InputError

Method: TypeAlias = Literal["auto", "exact", "permutation"]
METHODS = ("auto", "exact", "permutation")


class Explainer(BaseEstimator):
    """How the Shapley values of the discriminative risk are computed.

    Parameters
    ----------
    method : {"auto", "exact", "permutation"}, default="auto"
        "exact" enumerates all coalitions of the features that differ. "permutation" averages over random
        orders. "auto" is exact for rows that differ from their reference in at most ``max_exact`` features.
    max_exact : int, default=None
        See ``method``. None is 20 where fairshap reads the model's trees, and 12 where it calls the model.
    n_permutations : int, default=128
        The largest number of random orders of an estimate. Each is walked in both directions. A row stops
        early once each of its values is clear of the threshold by its standard error.
    feature_groups : mapping or list of lists, default=None
        Columns that are switched together, such as the one-hot columns of one category. By default each
        column stands for itself.
    comparison : {"max", "mean", "random"}, default="max"
        The risk of a row if the attribute has more than two values; see
        :func:`fairshap.metrics.discriminative_risk`.

    Examples
    --------
    >>> from fairshap import Explainer
    >>> Explainer(method="exact")
    Explainer(method='exact')
    """

    def __init__(
        self,
        method: Method = "auto",
        *,
        max_exact: int | None = None,
        n_permutations: int = 128,
        feature_groups: PlayersLike = None,
        comparison: Comparison = "max",
    ) -> None:
        self.method = method
        self.max_exact = max_exact
        self.n_permutations = n_permutations
        self.feature_groups = feature_groups
        self.comparison = comparison

    def players(self, table: Table) -> Players:
        """Return which columns of a table are switched together."""
        return Players.read(table, self.feature_groups)

    def options(
        self,
        threshold: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> "Options":
        """Return the checked options of one computation."""
        return Options(
            self.method, self.max_exact, self.n_permutations, threshold, random_state, n_jobs, verbose
        )


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one computation: those of the explainer, and what it runs with."""

    method: Method = "auto"
    max_exact: int | None = None
    n_permutations: int = 128
    #: The smallest value that matters; None if there is none.
    threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(
                f"method={self.method!r} is not known; the methods are {listing(METHODS)}."
                f"{did_you_mean(self.method, METHODS)}",
                parameter="method",
            )
        _check_count("n_permutations", self.n_permutations, 2, "fewer have no standard error")
        if self.max_exact is not None:
            _check_count("max_exact", self.max_exact, 0, "it is a number of features")
        if self.threshold is not None:
            check_threshold(self.threshold)


def _check_count(name: str, value: Any, least: int, why: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number from {least} on: {why}.", parameter=name)


def check_threshold(threshold: Any, name: str = "threshold") -> None:
    """Raise an error unless the threshold is a positive number."""
    if (
        isinstance(threshold, (bool, np.bool_))
        or not isinstance(threshold, (int, float, np.integer, np.floating))
        or not threshold > 0
    ):
        raise InputError(
            f"{name}={threshold!r} must be a number above 0: the smallest Shapley value that leads to "
            "an edit. The paper uses 0.05.",
            parameter=name,
        )


def make_explainer(explainer: Any) -> Explainer:
    """Return the explainer that was given, or the default one."""
    if explainer is None:
        return Explainer()
    if not isinstance(explainer, Explainer):
        raise InputError(
            f"explainer={explainer!r} is not an Explainer; give fairshap.Explainer(...), for example "
            "Explainer(method='exact').",
            parameter="explainer",
        )
    return explainer
