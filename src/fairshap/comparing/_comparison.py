"""What methods came to on the same folds."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from fairshap._typing import Floats
from fairshap.evaluation import MEASURES, Judgement, intervals_of
from fairshap.report import Comparison as BeforeAndAfter


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """Methods side by side on rows that they were not trained on.

    Parameters
    ----------
    methods : sequence of str
        Their names.
    measures : ndarray, shape (methods, measures)
        Accuracy, DR, DP, EO and PQP, the means over the folds.
    samples : ndarray, shape (methods, resamples, measures)
        The same on resamples of the rows, the same ones for all methods.
    edits, share : ndarray, shape (methods,)
        The mean number of edited cells in a fold, and their share of its cells.
    raw_dr : ndarray, shape (methods,)
        The mean risk when the attribute is switched in the rows as they were recorded. It is DR, but for
        methods that transform the rows to predict.
    predicted : ndarray, shape (methods, rows)
        What each method predicts for each row, when it was not trained on it.
    risk : ndarray, shape (methods, rows)
        The discriminative risk of each row, likewise.
    n_folds : int
        The number of folds.
    folds : sequence of sequence of Judgement
        For each method what was measured in each fold.
    seed : int
        The seed of the resamples.
    """

    methods: Sequence[str]
    measures: Floats
    samples: Floats
    edits: Floats
    share: Floats
    raw_dr: Floats
    predicted: NDArray[Any]
    risk: Floats
    n_folds: int
    folds: Sequence[Sequence[Judgement]]
    seed: int

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.methods)}: {self.n_folds} folds)"

    def frame(self) -> pd.DataFrame:
        """Return one line for each method: every measure with the ends of its 95 % interval.

        ``edits`` and ``share`` are the edited cells of a fold, and their share of all; ``raw_dr`` is the risk
        of rows as they were recorded.
        """
        return self._frame(self.measures, self.samples, least=0.0).assign(raw_dr=self.raw_dr)

    def changes(self) -> pd.DataFrame:
        """Return how far each method is from the first, with 95 % intervals of the difference.

        The resamples are the same for both, so that an interval without 0 says that they differ.
        """
        return self._frame(self.measures - self.measures[:1], self.samples - self.samples[:1])

    def for_report(self, how: str | None = None) -> BeforeAndAfter:
        """Return the first two methods as before and after, for :meth:`fairshap.FairSHAP.report`.

        The figures and their intervals are the same. One method alone is what an audit reports.

        Parameters
        ----------
        how : str, optional
            On which rows they were measured, as a sentence.
        """
        how = how or (
            f"By cross-validation with {self.n_folds} folds: each model is judged on rows it was not "
            "trained on."
        )
        before, *others = self.folds
        after = others[0] if others else None
        return BeforeAndAfter(before, after, how, self.seed, self.samples.shape[1])

    def _frame(self, measures: Floats, samples: Floats, least: float | None = None) -> pd.DataFrame:
        low, high = intervals_of(measures, samples, least)
        data: dict[Hashable, Any] = {"method": list(self.methods)}
        for k, measure in enumerate(MEASURES):
            data[measure] = measures[:, k]
            data[f"{measure}_low"], data[f"{measure}_high"] = low[:, k], high[:, k]
        return pd.DataFrame(data | {"edits": self.edits, "share": self.share})
