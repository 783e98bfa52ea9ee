"""What a fitted model does on a table."""

from typing import Any

import numpy as np

from fairshap._frames import open_store
from fairshap._problem import Labels, Privileged, Setting
from fairshap._typing import Native
from fairshap.comparing._comparison import Comparison
from fairshap.exceptions import TargetError
from fairshap.model_selection import Measured, judge


def evaluate_fitted(
    model: Any,
    X: Native,
    y: Any,
    *,
    sensitive: Any,
    privileged: Privileged,
    positive: Any = None,
) -> Comparison:
    """Return what a fitted model does on all rows of a table, as a comparison of one method.

    If it was trained on some of them, it looks better there than it is. It is not trained again, so that
    there is no noise level to hold its DR against.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from fairshap import ColumnEncoder, datasets
    >>> from sklearn.pipeline import make_pipeline
    >>> d = datasets.make_biased(200, random_state=0)
    >>> model = make_pipeline(ColumnEncoder(), RandomForestClassifier(random_state=0)).fit(d.X, d.y)
    >>> evaluate_fitted(model, d.X, d.y, sensitive=d.sensitive, privileged=d.privileged)
    Comparison(model)
    """
    X = open_store(X).native
    setting = Setting.read(X, sensitive, privileged)
    labels = Labels.read(y, setting.table.n_rows, positive, is_quantity=False)
    if labels.classes is None or len(labels.classes) != 2:
        raise TargetError(
            "evaluate_fitted takes a target of two labels; DP, EO and PQP are measures of those.",
            parameter="y",
        )
    one = judge(model, setting, labels, labels.positive_value)
    return Comparison(
        methods=("model",),
        measured=Measured.of([[one]], setting.groups.names),
        edits=np.zeros(1),
        share=np.zeros(1),
        raw_dr=np.array([np.nanmean(one.risk)]),
        noise=None,
    )
