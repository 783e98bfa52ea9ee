"""What attribution gives back."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshap._frames import Library, Players, make_frame
from fairshap._typing import Floats, Native


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attributions:
    """How much each player adds to the discriminative risk of each row.

    For a matched row ``values.sum()`` is ``risk - reference_risk``.

    Parameters
    ----------
    values : ndarray, shape (rows, players)
        The Shapley values phi; NaN for rows without a reference.
    errors : ndarray, shape (rows, players), or None
        The standard errors, if any value is estimated.
    status : ndarray of str, shape (rows,)
        "exact", "estimated", or "unmatched" for rows without a reference.
    switched : Players
        The players, in the order of the columns of ``values``, and the columns that are theirs.
    risk : ndarray, shape (rows,)
        The discriminative risk of each row; NaN for rows without a reference.
    reference_risk : ndarray, shape (rows,)
        The same for its reference, seen from the row's own group.
    route : str
        "trees" if the model's trees were walked, "weights" if it is linear, or "model calls" with the reason.
    library : str
        The library of the frame that :meth:`frame` returns.
    unit : float
        What differences of the model's outputs are measured in: 1 for probabilities, the spread of the
        predictions for a regressor. Values that differ by less than a billionth of it are equal.
    """

    values: Floats
    errors: Floats | None
    status: NDArray[np.str_]
    switched: Players
    risk: Floats
    reference_risk: Floats
    route: str = "model calls"
    library: Library = "pandas"
    unit: float = 1.0

    @property
    def players(self) -> tuple[Hashable, ...]:
        """The players' names, in the order of the columns of ``values``."""
        return self.switched.names

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each value: 0 where it is exact, NaN where there is none."""
        return np.where(np.isnan(self.values), np.nan, 0.0) if self.errors is None else self.errors

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        names, counts = np.unique(self.status, return_counts=True)
        kinds = ", ".join(f"{n} {name}" for name, n in zip(names, counts.tolist(), strict=True))
        way = self.route.partition(":")[0]
        return f"Attributions({len(self)} rows x {len(self.players)} players: {kinds}, by {way})"

    def frame(self) -> Native:
        """Return one line for each row: its status, its risks, and a column for each player."""
        data: dict[str, Any] = {
            "row": np.arange(len(self)),
            "status": self.status.tolist(),
            "risk": self.risk,
            "reference_risk": self.reference_risk,
        }
        for k, player in enumerate(self.players):
            # Names that read alike, such as 1 and "1", are told apart.
            name = f"phi_{player}"
            data[name if name not in data else f"phi_{player!r}"] = self.values[:, k]
        return make_frame(self.library, data)
