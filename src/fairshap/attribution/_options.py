"""How attributions are computed: what was asked for, checked."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fairshap._messages import did_you_mean, listing
from fairshap.exceptions import InputError

Method: TypeAlias = Literal["auto", "exact", "permutation"]
METHODS = ("auto", "exact", "permutation")


@dataclass(frozen=True, slots=True)
class Options:
    """The parameters of :func:`fairshap.attribute` that say how."""

    method: Method = "auto"
    max_exact: int | None = None
    n_permutations: int = 128
    threshold: float | None = None
    screen: bool = False
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
            _check_count("max_exact", self.max_exact, 0, "it is a number of players")
        if self.threshold is not None:
            check_threshold(self.threshold)
        elif self.screen:
            raise InputError(
                "screen=True leaves out the rows that cannot reach the threshold; give the threshold too, "
                "for example threshold=0.05.",
                parameter="screen",
            )


def _check_count(name: str, value: Any, least: int, why: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number from {least} on: {why}.", parameter=name)


def check_threshold(threshold: Any) -> None:
    """Raise an error unless the threshold is a positive number."""
    if (
        isinstance(threshold, (bool, np.bool_))
        or not isinstance(threshold, (int, float, np.integer, np.floating))
        or not threshold > 0
    ):
        raise InputError(
            f"threshold={threshold!r} must be a number above 0: the smallest attribution that leads to "
            "an edit. The paper uses 0.05.",
            parameter="threshold",
        )
