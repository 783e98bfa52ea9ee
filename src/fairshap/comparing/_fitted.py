"""What a fitted model does on a table."""

from typing import Any

import numpy as np

from fairshap._typing import Native
from fairshap.comparing._comparison import Comparison
from fairshap.evaluation import judge, means_over_folds, resample
from fairshap.groups import Labels, Privileged, Setting
from fairshap.table import open_store


def evaluate_fitted(
    model: Any,
    X: Native,
    y: Any,
    *,
    sensitive: Any,
    privileged: Privileged,
    positive: Any = None,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> Comparison:
    """Return what a fitted model does on all rows of a table, as a comparison of one method.

    If it was trained on some of them, it looks better there than it is.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from fairshap import ColumnEncoder, datasets
    >>> from sklearn.pipeline import make_pipeline
    >>> d = datasets.make_biased(200, random_state=0)
    >>> model = make_pipeline(ColumnEncoder(), RandomForestClassifier(random_state=0)).fit(d.X, d.y)
    >>> evaluate_fitted(model, d.X, d.y, sensitive=d.sensitive, privileged=d.privileged)
    Comparison(model: 1 folds)
    """
    X = open_store(X).native
    setting = Setting.read(X, sensitive, privileged)
    labels = Labels.read(y, setting.table.n_rows, positive, is_quantity=False)
    one = judge(model, setting, labels, labels.positive_value)
    return Comparison(
        methods=("model",),
        measures=np.array([means_over_folds([one])]),
        samples=resample([[one]], n_resamples, random_state),
        edits=np.zeros(1),
        share=np.zeros(1),
        raw_dr=np.array([one.risk.mean()]),
        predicted=np.asarray(model.predict(X))[None],
        risk=one.risk[None],
        n_folds=1,
        folds=[[one]],
        seed=random_state,
    )
