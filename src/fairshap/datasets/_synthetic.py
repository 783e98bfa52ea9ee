"""A table whose unfairness is known, because it was put there."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fairshap.datasets._dataset import Dataset
from fairshap.exceptions import InputError


def make_biased(n_rows: int = 1000, *, bias: float = 2.0, random_state: Any = None) -> Dataset:
    """Return a table in which the group matters in one district only.

    The columns are ``group`` ("a" is privileged), ``district`` (four fifths of group a live in the
    "north", as many of group b in the "south"), ``skill`` (-3 to 3), ``colour`` (three) and ``commute``
    (10 minutes, or 60 for those who live where their group does not). The log-odds of y = 1 are
    ``skill / 2 - bias / 4``, plus ``bias`` for the members of group a in the north.

    So the discriminative risk depends on the district: it is zero in the south. Since those who commute
    far are far from everybody else, the nearest person of the other group lives in the other
    district and is otherwise the same. What FairSHAP must replace is known: "north" by "south", and
    nothing else.

    Parameters
    ----------
    n_rows : int, default=1000
        The number of rows.
    bias : float, default=2.0
        The unfair advantage, in log-odds; 0 gives a fair table.
    random_state : int, RandomState instance or None
        The source of the draws.

    Examples
    --------
    >>> d = make_biased(5, random_state=0)
    >>> list(d.X.columns)
    ['group', 'district', 'skill', 'colour', 'commute']
    """
    if n_rows < 1:
        raise InputError(f"n_rows={n_rows} must be at least 1.", parameter="n_rows")
    rng = check_random_state(random_state)
    privileged = rng.random_sample(n_rows) < 0.5
    away = rng.random_sample(n_rows) < 0.2
    north = privileged ^ away
    skill = rng.randint(-3, 4, n_rows)
    odds = skill / 2 + bias * (privileged & north) - bias / 4
    y = rng.random_sample(n_rows) < 1 / (1 + np.exp(-odds))
    X = pd.DataFrame(
        {
            "group": np.where(privileged, "a", "b"),
            "district": np.where(north, "north", "south"),
            "skill": skill,
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "commute": np.where(away, 60, 10),
        }
    )
    return Dataset(
        name="biased",
        X=X,
        y=pd.Series(y.astype(np.int64), name="hired"),
        sensitive="group",
        privileged="a",
        target="hired",
        description=f"{n_rows} made-up applicants; group a has an advantage in the north.",
        source="fairshap.datasets.make_biased",
        licence="MIT",
    )
