"""The discriminative risk of rows and of mixes of rows."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fairshap._models.scorer import Scorer
from fairshap._problem import Groups, Problem
from fairshap._typing import Floats, Ints

# The cells of the table, raw or encoded, for one call of the model: 8 Mi numbers are 64 MiB.
CALL_CELLS = 1 << 23
# The rows that the spread of the outputs is taken from.
_UNIT_ROWS = 1000


class Risk:
    """How much a model's output changes when only the sensitive attribute does.

    Parameters
    ----------
    scorer : Scorer
        The model.
    problem : Problem
        The table that rows are taken from, and what its attribute is switched between.
    """

    def __init__(self, scorer: Scorer, problem: Problem) -> None:
        self.scorer = scorer
        self.problem = problem
        #: How many rows the model is asked about at a time.
        width = max(len(problem.table.names), scorer.width, scorer.n_classes)
        self.call_rows = max(1, CALL_CELLS // width)

    @cached_property
    def unit(self) -> float:
        """What differences of outputs are measured in: 1 for probabilities, else :meth:`Scorer.unit`.

        It comes from the model's own outputs, and so is the same by every route.
        """
        if self.scorer.has_probabilities:
            return 1.0
        table = self.problem.table
        rows = np.unique(np.linspace(0, table.n_rows - 1, _UNIT_ROWS).astype(np.int64))
        outputs = self.scorer(table.store.mix([rows] * len(table.names)))
        # Outputs that are all 0 have neither size nor spread.
        return float(np.max(self.scorer.unit(outputs))) or 1.0

    def of_rows(self, rows: Ints) -> Floats:
        """Return the risk of rows as they stand in the table."""
        parts = np.split(rows, range(self.call_rows, len(rows), self.call_rows))
        n_columns = len(self.problem.table.names)
        return np.concatenate([self.of_mixes([part] * n_columns, part) for part in parts])

    def of_mixes(self, sources: Sequence[Ints], owners: Ints) -> Floats:
        """Return the risk of rows whose column j has the cells of the rows ``sources[j]``.

        The largest or the mean ``|f(x, A=a) - f(x, A=b)|`` over the values a, b that the group of the
        ``owners`` is compared by.
        """
        groups = self.problem.groups
        mixed = list(sources)
        scores = []
        for alternative in range(groups.donors.shape[1]):
            for column in self.problem.columns:
                mixed[column] = groups.donors[owners, alternative]
            scores.append(self.scorer(self.problem.table.store.mix(mixed)))
        return risk_of_scores(groups, scores)


def risk_of_scores(groups: Groups, scores: Sequence[Floats] | Floats) -> Floats:
    """Return the risk of rows from their scores for each value of the attribute.

    A score is one number a row, or one for each class, whose gap is the total variation: half the sum.
    """
    risk = np.zeros(len(scores[0]))
    for a, b in groups.contrasts:
        gap = np.abs(scores[a] - scores[b])
        if gap.ndim > 1:
            gap = gap.sum(axis=1) / 2
        risk = risk + gap / len(groups.contrasts) if groups.is_mean else np.maximum(risk, gap)
    return risk
