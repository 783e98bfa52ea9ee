"""The risk that a model has of an attribute that means nothing: the noise level of DR."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import t as student

from fairshap._messages import warn
from fairshap._models import Risk, Scorer
from fairshap._problem import Setting
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import NoiseWarning
from fairshap.metrics._risk import row_risks
from fairshap._crossval._measured import Measures

#: Shuffles where there is one set of held-out rows; of several folds each has one.
SHUFFLES = 5

# How sure it is to be that a risk is more than noise.
_SURE = 0.95


def shuffled_risk(
    setting: Setting,
    train: Ints,
    fit: Callable[[Native], Any],
    judged: Setting,
    test: Ints,
    seed: int,
) -> float:
    """Return the mean risk of rows under a model that is fitted with the attribute shuffled.

    A model finds some use for any column, also for one that says nothing. So this is not 0, and a risk that
    is not larger says nothing about the attribute.

    Parameters
    ----------
    setting : Setting
        The table that the rows to fit on are in.
    train : ndarray of int
        The rows to fit on, among which the attribute is shuffled.
    fit : function
        Fits a model of the same kind on their table.
    judged : Setting
        The table that the rows to judge the model on are in.
    test : ndarray of int
        Those rows.
    seed : int
        The seed of the shuffle.
    """
    order = np.random.default_rng(seed).permutation(train)
    columns = range(len(setting.table.names))
    table = setting.table.store.mix(
        [order if column in setting.columns else train for column in columns], labels=train
    )
    return float(np.nanmean(row_risks(Risk(Scorer(fit(table)), judged), test)))


def is_within_noise(measured: Measures, noise: Floats) -> bool:
    """Say whether the first model's risk is indistinguishable from that of a shuffled attribute.

    Were the attribute noise, the mean risk would be one more such value, or vary less: folds share most of
    their training rows, and with them whatever link the attribute has with the target by chance. So it is
    held against the upper end of a prediction interval from the shuffles. A risk of 0 is no matter of noise.
    """
    risk, n = measured.risk_by_fold[0], len(noise)
    if not risk.any():
        return False
    margin = student.ppf(_SURE, n - 1) * noise.std(ddof=1) * np.sqrt(1 + 1 / n)
    return bool(risk.mean() <= noise.mean() + margin)


def warn_if_noise(measured: Measures, noise: Floats | None, name: Any) -> None:
    """Warn if the first model's risk is indistinguishable from that of a shuffled attribute."""
    if noise is not None and is_within_noise(measured, noise):
        warn(
            f"The discriminative risk of {measured.risk:.3g} is indistinguishable from noise: with {name!r} "
            f"shuffled among the rows, a model of the same kind has {noise.mean():.3g}. Edits against such a "
            "risk may only follow chance. More repeats (n_repeats) give a clearer answer.",
            NoiseWarning,
        )
