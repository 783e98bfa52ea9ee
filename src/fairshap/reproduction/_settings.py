"""The paper's seven settings, as the arrays that it trained on."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from fairshap import datasets
from fairshap._messages import did_you_mean, listing
from fairshap._typing import Floats, Ints
from fairshap.exceptions import InputError

#: Which rows: all, the paper's tenth, or that tenth joined with other rows' attributes and labels.
Part: TypeAlias = Literal["whole", "tenth", "artefact"]

_TENTH, _TENTH_SEED = 0.1, 25


@dataclass(frozen=True, slots=True)
class PaperSetting:
    """A table and its sensitive column, and what the paper's tables call them.

    Parameters
    ----------
    key : str
        The table and the column, such as "compas:race".
    dataset, sensitive : str
        The paper's names.
    ablation : str
        The name that its ablation table has for the table.
    seconds : float
        What one fit of the model takes on one thread, roughly.
    large : bool
        Whether the table is so large that only seed 1 runs on all of it, and others on a tenth.
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


SETTINGS: dict[str, PaperSetting] = {
    setting.key: setting
    for setting in (
        PaperSetting("german:sex", "German", "sex", "German", 0.05),
        PaperSetting("compas:sex", "COMPAS", "sex", "COMPAS", 0.1),
        PaperSetting("compas:race", "COMPAS", "race", "COMPAS", 0.1),
        PaperSetting("adult:sex", "Adult", "sex", "Adult", 0.6),
        PaperSetting("adult:race", "Adult", "race", "Adult", 0.6),
        PaperSetting("credit:SEX", "DefaultCredit", "sex", "DefaultCredit", 0.7),
        PaperSetting("census_kdd:sex", "Kdd", "sex", "CensusIncome", 21.0, large=True),
    )
}


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """A table encoded as in the paper.

    Parameters
    ----------
    X, y : ndarray
        The cells and the labels, 0 or 1. They are shared: nobody writes into them.
    sensitive : int
        The sensitive column, in which 1 is privileged.
    columns : tuple of str
        The names of the columns.
    players : dict
        The columns that belong to one raw column, by their positions.
    """

    X: Floats
    y: Ints
    sensitive: int
    columns: tuple[str, ...]
    players: dict[str, list[int]]

    @property
    def who(self) -> dict[str, float]:
        """The two parameters that say whom it is about."""
        return {"sensitive": self.sensitive, "privileged": 1.0}

    def fold(self, seed: int, fold: int, n_folds: int) -> tuple[Floats, Ints, Floats, Ints]:
        """Return the training rows and their labels, and those of the test."""
        splitter = KFold(n_folds, shuffle=True, random_state=seed)
        train, test = list(splitter.split(self.y))[fold]
        return self.X[train], self.y[train], self.X[test], self.y[test]


def check_settings(keys: Iterable[str] | None) -> tuple[str, ...]:
    """Return the settings that are asked for, in the paper's order; all if none is.

    Examples
    --------
    >>> check_settings(["compas:sex", "german:sex"])
    ('german:sex', 'compas:sex')
    """
    asked = list(SETTINGS) if keys is None else list(keys)
    for key in asked:
        if key not in SETTINGS:
            raise InputError(
                f"settings={key!r} is not known; the settings are {listing(SETTINGS)}."
                f"{did_you_mean(key, list(SETTINGS))}"
            )
    return tuple(key for key in SETTINGS if key in asked)


# One for each process: the parts of an experiment that use a table come one after the other.
@lru_cache(maxsize=1)
def load_arrays(key: str, part: Part = "whole") -> Arrays:
    """Return the arrays of a setting.

    Census KDD has the paper's positive class, an income of up to 50,000, and comes in 32 bits: a model of
    XGBoost sees the same numbers.
    """
    name, sensitive = key.split(":")
    data = datasets.load(name, sensitive=sensitive, encoded=True)
    at = list(data.X.columns).index(sensitive)
    cells, labels = data.X.to_numpy(), np.asarray(data.y, dtype=np.int64)
    if name == "census_kdd":
        cells, labels = cells.astype(np.float32), 1 - labels
    if part == "artefact":
        cells, labels = _misaligned(cells, labels, at, np.asarray(data.X.index, dtype=np.int64))
    if part != "whole":
        rows = _tenth(len(labels))
        cells, labels = cells[rows], labels[rows]
    columns = tuple(str(column) for column in data.X.columns)
    players = {
        str(player): [columns.index(str(column)) for column in members]
        for player, members in (data.players or {}).items()
    }
    return Arrays(np.ascontiguousarray(cells), labels, at, columns, players)


def _tenth(n_rows: int) -> Ints:
    """Return the rows of the paper's sample, in its order."""
    drawn = pd.Series(np.arange(n_rows)).sample(frac=_TENTH, random_state=_TENTH_SEED)
    return drawn.to_numpy()


def _misaligned(cells: Floats, labels: Ints, sensitive: int, index: Ints) -> tuple[Floats, Ints]:
    """Return the table that the published code made of Census KDD.

    Rows that are there twice are left out, which leaves gaps in the index. The features then get a new index
    without gaps, the sensitive attribute and the label keep theirs, and a join by index puts them beside the
    features of somebody else. Rows without a partner fall away.
    """
    features = pd.DataFrame({"row": np.arange(len(index))})
    kept = pd.DataFrame({"attribute": cells[:, sensitive], "label": labels}, index=index)
    joined = features.join(kept, how="inner")
    shifted = cells[joined["row"].to_numpy()]
    shifted[:, sensitive] = joined["attribute"]
    return shifted, joined["label"].to_numpy()
