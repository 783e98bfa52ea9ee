"""What kind of estimator is at hand."""

from typing import Any

from sklearn.utils import get_tags


def takes_quantities(estimator: Any) -> bool | None:
    """Say whether an estimator is a regressor; None if it does not tell.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> takes_quantities(Ridge()), takes_quantities(LogisticRegression()), takes_quantities(object())
    (True, False, None)
    """
    if hasattr(estimator, "__sklearn_tags__"):
        kind = get_tags(estimator).estimator_type
    else:
        # What estimators said before scikit-learn had tags, and some still do.
        kind = getattr(estimator, "_estimator_type", None)
    return {"regressor": True, "classifier": False}.get(kind)
