"""What a model does on rows that it was not trained on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._models import Risk, Scorer
from fairshap._problem import Labels, Setting
from fairshap._typing import Bools, Floats, Ints
from fairshap.metrics._risk import row_risks


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What a model does on the rows of one fold.

    Parameters
    ----------
    rows : ndarray of int, shape (rows,)
        Their positions in the table.
    true, predicted : ndarray of bool, shape (rows,)
        Which are positive, and which are predicted to be.
    group : ndarray of int, shape (rows,)
        The group of each, -1 where the attribute is missing.
    risk : ndarray of float, shape (rows,)
        The discriminative risk of each; NaN where a quantity is missing.
    """

    rows: Ints
    true: Bools
    predicted: Bools
    group: Ints
    risk: Floats


def judge(
    model: Any,
    setting: Setting,
    labels: Labels,
    positive: Any,
    rows: Ints | None = None,
) -> Judgement:
    """Return what a fitted model does on rows of a table.

    Parameters
    ----------
    model : object
        Takes the rows of the setting's table.
    setting : Setting
        The table and its groups.
    labels : Labels
        The target of all of its rows.
    positive : label
        The positive one.
    rows : ndarray of int, optional
        The rows to judge it on; by default all.
    """
    rows = np.arange(setting.table.n_rows) if rows is None else rows
    table = setting.table.store.mix([rows] * len(setting.table.names), labels=rows)
    predicted = np.asarray(model.predict(table)) == positive
    risk = row_risks(Risk(Scorer(model), setting), rows)
    return Judgement(rows, labels.values[rows] == positive, predicted, setting.groups.code[rows], risk)
