"""Ordinary models around a pipeline, by name, on a small made table."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairshap import datasets

DATA = datasets.make_biased(240, random_state=0)
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
NUMBERS = ["skill", "commute"]
CATEGORIES = ["group", "district", "colour"]


def piped(model=None, numbers=NUMBERS):
    """Return a model, by default logistic regression, behind scaled numbers and one-hot categories."""
    encoder = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), CATEGORIES)
    )
    return make_pipeline(encoder, LogisticRegression() if model is None else model)


GRID = {"logisticregression__C": [0.1, 1.0]}

#: Those to which weights find a way without metadata routing.
WEIGHED = {
    "a pipeline": piped(),
    "a pipeline in a pipeline": make_pipeline("passthrough", piped()),
    "a search": GridSearchCV(piped(), GRID, cv=2),
    "a search by another score": GridSearchCV(piped(), GRID, cv=2, scoring="roc_auc"),
}
#: Those to which they do not.
UNWEIGHED = {
    "a fixed threshold": FixedThresholdClassifier(piped()),
    "a tuned threshold": TunedThresholdClassifierCV(piped(), cv=2, thresholds=5),
    "voting": VotingClassifier([("a", piped()), ("b", piped())], voting="soft"),
    "stacking": StackingClassifier([("a", piped()), ("b", piped())], cv=2),
    "calibration": CalibratedClassifierCV(piped(), cv=2),
    "neighbors": KNeighborsClassifier(),
    "neighbors in a pipeline": piped(KNeighborsClassifier()),
}
TARGET = TransformedTargetRegressor(piped(LinearRegression()), check_inverse=False)
