"""What methods came to on the same folds."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairshap._typing import Floats
from fairshap._crossval import MEASURES, Folds, Measured, is_within_noise
from fairshap.report import Comparison as BeforeAndAfter


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Methods side by side on rows that they were not trained on.

    Parameters
    ----------
    methods : sequence of str
        Their names.
    measured : Measured
        Accuracy, DR, DP, EO and PQP of each on all held-out rows together.
    edits, share : ndarray, shape (methods,)
        The mean number of edited cells in a fold, and their share of its cells.
    raw_dr : ndarray, shape (methods,)
        The mean risk when the attribute is switched in the rows as they were recorded. It is DR, but for
        methods that transform the rows to predict.
    noise : ndarray of float, shape (folds,), or None
        The mean risk of each fold under a model that was trained with the attribute shuffled among the rows;
        None for a model that was not trained here.
    folds : Folds or None
        The rows that were trained and tested on; None for a model that was not trained here.
    """

    methods: Sequence[str]
    measured: Measured
    edits: Floats
    share: Floats
    raw_dr: Floats
    noise: Floats | None
    folds: Folds | None = None

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.methods)}{f': {self.folds}' if self.folds else ''})"

    @property
    def noise_level(self) -> float | None:
        """The DR of a model of the same kind whose attribute says nothing; None if it was not measured."""
        return None if self.noise is None else float(self.noise.mean())

    @property
    def is_noise(self) -> bool:
        """Whether the first method's DR is indistinguishable from that level."""
        return self.noise is not None and is_within_noise(self.measured, self.noise)

    def frame(self) -> pd.DataFrame:
        """Return one line for each method: every measure with the ends of its 95 % interval.

        Gaps are those of all held-out rows together, between the group of the highest and that of the lowest
        rate. Where the interval of a gap reaches below 0, these two groups cannot be told apart. ``edits``
        and ``share`` are the edited cells of a fold, and their share of all; ``raw_dr`` is the risk of rows
        as they were recorded, ``dr_noise`` that of a model whose attribute was shuffled.
        """
        found = self._frame(self.measured.values, self.measured.low, self.measured.high)
        noise = float("nan") if self.noise_level is None else self.noise_level
        return found.assign(raw_dr=self.raw_dr, dr_noise=noise)

    def changes(self) -> pd.DataFrame:
        """Return how far each method is from the first, with 95 % intervals of the difference.

        All are measured on the same rows, so that an interval without 0 says that they differ.
        """
        return self._frame(*self.measured.changes())

    def groups(self, method: str | None = None) -> pd.DataFrame:
        """Return the rates of each group under a method, by default the first; the gaps follow from them."""
        return self.measured.groups(0 if method is None else list(self.methods).index(method))

    def for_report(self) -> BeforeAndAfter:
        """Return the first two methods as before and after, for :meth:`fairshap.FairSHAP.report`.

        The figures and their intervals are the same. One method alone is what an audit reports.
        """
        how = "On the rows of the table; a model looks better than it is on rows that it was trained on."
        if self.folds:
            how = (
                f"By cross-validation with {self.folds}: each model is judged on rows it was not trained on."
            )
        return BeforeAndAfter(self.measured, how, self.noise)

    def _frame(self, values: Floats, low: Floats, high: Floats) -> pd.DataFrame:
        data: dict[Hashable, Any] = {"method": list(self.methods)}
        for k, measure in enumerate(MEASURES):
            data[measure] = values[:, k]
            data[f"{measure}_low"], data[f"{measure}_high"] = low[:, k], high[:, k]
        return pd.DataFrame(data | {"edits": self.edits, "share": self.share})
