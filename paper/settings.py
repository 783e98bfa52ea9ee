"""The paper's seven settings, as the arrays that it trained on."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from fairshap import datasets

#: Which rows: all, the paper's tenth, or that tenth joined with other rows' attributes and labels.
Part: TypeAlias = Literal["whole", "tenth", "artefact"]

_TENTH, _TENTH_SEED = 0.1, 25
MODEL = "XGBoost"


@dataclass(frozen=True, slots=True)
class Setting:
    """A table and its sensitive column, and what the paper's tables call them.

    Parameters
    ----------
    key : str
        The table and the column, such as "compas:race".
    dataset, sensitive : str
        The paper's names.
    ablation : str
        The table's name in the paper's ablation table.
    seconds : float
        The approximate seconds of one fit of the model on one thread.
    large : bool
        Whether the table is so large that most experiments run on a tenth of it.
    """

    key: str
    dataset: str
    sensitive: str
    ablation: str
    seconds: float
    large: bool = False

    @property
    def label(self) -> str:
        """The name in tables and figures."""
        shown = {"Kdd": "Census KDD", "DefaultCredit": "Default Credit"}.get(self.dataset, self.dataset)
        return f"{shown} ({self.sensitive})"

    @property
    def part(self) -> Part:
        """The rows that most experiments run on."""
        return "tenth" if self.large else "whole"

    @property
    def part_seconds(self) -> float:
        """The approximate seconds of one fit on those rows."""
        return self.seconds * (_TENTH if self.large else 1.0)


SETTINGS: dict[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting("german:sex", "German", "sex", "German", 0.05),
        Setting("compas:sex", "COMPAS", "sex", "COMPAS", 0.1),
        Setting("compas:race", "COMPAS", "race", "COMPAS", 0.1),
        Setting("adult:sex", "Adult", "sex", "Adult", 0.6),
        Setting("adult:race", "Adult", "race", "Adult", 0.6),
        Setting("credit:SEX", "DefaultCredit", "sex", "DefaultCredit", 0.7),
        Setting("census_kdd:sex", "Kdd", "sex", "CensusIncome", 21.0, large=True),
    )
}


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """A table encoded as in the paper.

    Parameters
    ----------
    X, y : ndarray
        The cells and the labels, 0 or 1. They are shared and must not be changed.
    sensitive : int
        The sensitive column, in which 1 is privileged.
    feature_groups : dict
        The columns that belong to one raw column, by position.
    """

    X: np.ndarray
    y: np.ndarray
    sensitive: int
    feature_groups: dict[str, list[int]]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One fold of a setting.

    Parameters
    ----------
    X, y, X_test, y_test : ndarray
        The training rows, the test rows and their labels.
    sensitive : int
        The sensitive column.
    feature_groups : dict
        The columns that belong to one raw column, by position.
    random_state : int
        The seed of what is drawn.
    names : dict
        What its records have in common.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    sensitive: int
    feature_groups: dict[str, list[int]]
    random_state: int
    names: dict[str, Any]

    @classmethod
    def load(cls, key: str, part: Part, seed: int, number: int, n_folds: int, random_state: int) -> "Fold":
        """Return a fold of a setting."""
        arrays = load_arrays(key, part)
        splitter = KFold(n_folds, shuffle=True, random_state=seed)
        rows = list(splitter.split(arrays.y))[number]
        cells = (cells for chosen in rows for cells in (arrays.X[chosen], arrays.y[chosen]))
        names = {"setting": key, "part": part, "model": MODEL, "seed": seed, "fold": number}
        return cls(*cells, arrays.sensitive, arrays.feature_groups, random_state, names)


# One for each process: the jobs of an experiment on one table follow each other.
@lru_cache(maxsize=1)
def load_arrays(key: str, part: Part = "whole") -> Arrays:
    """Return the arrays of a setting.

    Census KDD has the paper's positive class, an income of up to 50,000, and 32-bit cells, which XGBoost sees
    as the same numbers.
    """
    name, sensitive = key.split(":")
    data = datasets.load(name, sensitive=sensitive, encoded=True)
    columns = list(data.X.columns)
    at = columns.index(sensitive)
    cells, labels = data.X.to_numpy(), np.asarray(data.y, dtype=np.int64)
    if name == "census_kdd":
        cells, labels = cells.astype(np.float32), 1 - labels
    if part == "artefact":
        cells, labels = misalign(cells, labels, at, np.asarray(data.X.index, dtype=np.int64))
    if part != "whole":
        # The paper's sample, in its order.
        rows = pd.Series(np.arange(len(labels))).sample(frac=_TENTH, random_state=_TENTH_SEED).to_numpy()
        cells, labels = cells[rows], labels[rows]
    groups = {
        str(name): [columns.index(column) for column in members]
        for name, members in (data.feature_groups or {}).items()
    }
    return Arrays(np.ascontiguousarray(cells), labels, at, groups)


def misalign(
    cells: np.ndarray, labels: np.ndarray, sensitive: int, index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the table that the published code made of Census KDD.

    It drops duplicated rows, which leaves gaps in the index. The features then get a new index without gaps
    while the sensitive attribute and the label keep theirs, so that a join by index puts them beside the
    features of somebody else. Rows without a partner are lost.
    """
    features = pd.DataFrame({"row": np.arange(len(index))})
    kept = pd.DataFrame({"attribute": cells[:, sensitive], "label": labels}, index=index)
    joined = features.join(kept, how="inner")
    shifted = cells[joined["row"].to_numpy()]
    shifted[:, sensitive] = joined["attribute"]
    return shifted, joined["label"].to_numpy()
