"""What every way of matching has in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fairshap._problem import Privileged, Setting
from fairshap._typing import Floats, Ints, Native
from fairshap.matching._plan import MatchPlan
from fairshap.matching._space import Space
from fairshap.matching._strata import Stratum


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The pairs that a matcher found.

    Parameters
    ----------
    row, reference : ndarray of int, shape (pairs,)
        Positions in the table.
    weight : ndarray of float, shape (pairs,)
        What a row's references of one stratum weigh; they sum to 1.
    squared : ndarray of float, shape (pairs,)
        The squared distances.
    why_unmatched : list of str
        Why rows that could have had a reference have none, in words.
    notes : dict
        What there is to say about how it was done: numbers by name, for the diagnostics.
    """

    row: Ints
    reference: Ints
    weight: Floats
    squared: Floats
    why_unmatched: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def together(cls, parts: "list[Found]") -> "Found":
        """Return the pairs of several as one, without their notes."""
        return cls(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.reference for part in parts]),
            np.concatenate([part.weight for part in parts]),
            np.concatenate([part.squared for part in parts]),
        )


class Matcher(BaseEstimator, ABC):
    """A way of matching: what :func:`fairshap.match` and the estimators take as ``matching``."""

    def match(
        self,
        X: Native,
        y: Any,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        sensitive_features: Any = None,
        **options: Any,
    ) -> MatchPlan:
        """Match the rows of a table; see :func:`fairshap.match`, which takes the same options."""
        # Not at the top: that function itself looks up matchers by name.
        from fairshap.matching._match import match

        return match(
            X,
            y,
            sensitive=sensitive,
            privileged=privileged,
            sensitive_features=sensitive_features,
            matching=self,
            **options,
        )

    def check(self) -> None:
        """Raise an error unless the parameters make sense."""

    def space(self, setting: Setting) -> Space:
        """Return the space that distances are taken in."""
        return Space.of(setting.table, setting.columns)

    @abstractmethod
    def find(
        self, space: Space, strata: list[Stratum], n_threads: int, advance: Callable[[int], None]
    ) -> Found:
        """Return the pairs of all strata, in both directions.

        ``advance`` is called with the number of rows, of both sides, that were finished since the last call.
        """
