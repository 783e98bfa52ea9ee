"""One fold: a model trained after a method, and all that the paper measures of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from fairshap import metrics
from fairshap._typing import Floats, Ints
from fairshap.estimators import FairSHAP, paper_settings
from fairshap.mitigation import CorrelationRemover, DisparateImpactRemover, RandomEditor, ReferenceEditor
from fairshap.reproduction._experiment import Record
from fairshap.reproduction._settings import Part, load_arrays

#: What is measured on the test rows.
MEASURES = ("accuracy", "dr", "dp", "eo", "pqp")
#: The methods of the main table, in its order.
METHODS = ("Baseline", "RSA", "CR", "DIR", "FairSHAP")
#: The methods that change the rows that are predicted.
CHANGES_TEST_ROWS = ("RSA", "CR", "DIR")
MODEL = "XGBoost"


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The rows of one fold, and who is compared.

    Parameters
    ----------
    X, y, X_test, y_test : ndarray
        The rows to train on and those of the test, with their labels.
    sensitive : int
        The sensitive column.
    random_state : int
        The seed of what is drawn.
    """

    X: Floats
    y: Ints
    X_test: Floats
    y_test: Ints
    sensitive: int
    random_state: int

    @classmethod
    def load(cls, key: str, part: Part, seed: int, fold: int, n_folds: int, random_state: int) -> "Fold":
        """Return a fold of a setting."""
        arrays = load_arrays(key, part)
        return cls(*arrays.fold(seed, fold, n_folds), arrays.sensitive, random_state)

    @property
    def who(self) -> dict[str, Any]:
        """The two parameters that say whom it is about."""
        return {"sensitive": self.sensitive, "privileged": 1.0}


def fit_model(X: Floats, y: Ints, sample_weight: Floats | None = None) -> Any:
    """Return the paper's model, fitted in one thread."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1).fit(X, y, sample_weight=sample_weight)


def judge(model: Any, fold: Fold, rows: Floats, *, sees_attribute: bool = True) -> dict[str, float]:
    """Return what a model does on the test rows, as they are for it.

    As in the paper, gaps are those of this fold, between the privileged rows and all others as one; what is
    reported is their mean over folds. The attribute is switched in the rows as the model gets them: where a
    method transforms rows, after that.
    """
    predicted = model.predict(rows)
    groups: dict[str, Any] = {
        "sensitive_features": fold.X_test[:, fold.sensitive],
        "privileged": 1.0,
        "between": "pooled",
    }
    found = {
        "accuracy": metrics.accuracy(fold.y_test, predicted),
        "dp": metrics.demographic_parity(fold.y_test, predicted, **groups),
        "eo": metrics.equal_opportunity(fold.y_test, predicted, **groups),
        "pqp": metrics.predictive_quality_parity(fold.y_test, predicted, **groups),
    }
    if sees_attribute:
        switch: dict[str, Any] = {"comparison": "random", "random_state": fold.random_state}
        found["dr"] = metrics.discriminative_risk(model, rows, **fold.who, **switch)
    return found


def repair(fold: Fold, model: Any, **changes: Any) -> FairSHAP:
    """Return the paper's FairSHAP, or a variant of it, fitted on the training rows with a fitted model."""
    params = {**paper_settings(), "random_state": fold.random_state, "n_jobs": 1, **changes}
    return FairSHAP(FrozenEstimator(model), **fold.who, **params).fit(fold.X, fold.y)


def edit_rows(method: str, fold: Fold, n_edits: int, seed: int) -> Floats:
    """Return the training rows after one of the ablations."""
    if method == "Ablation study 1":
        editor: Any = RandomEditor(**fold.who, n_edits=n_edits, random_state=seed)
    else:
        editor = ReferenceEditor(**fold.who, n_edits=n_edits, random_state=seed, n_jobs=1)
    edited: Floats = editor.fit_resample(fold.X, fold.y)[0]
    return edited


def _transformed(method: str, fold: Fold) -> tuple[Floats, Floats]:
    """Return the training and the test rows as a method makes them."""
    if method == "RSA":
        return np.delete(fold.X, fold.sensitive, axis=1), np.delete(fold.X_test, fold.sensitive, axis=1)
    if method == "CR":
        remover = CorrelationRemover(**fold.who, keep_sensitive=True).fit(fold.X)
        return remover.transform(fold.X), remover.transform(fold.X_test)
    # In the paper the test rows are repaired by their own quantiles.
    one, other = (DisparateImpactRemover(**fold.who) for _ in range(2))
    return one.fit_transform(fold.X), other.fit_transform(fold.X_test)


def changes_of(before: Floats, after: Floats) -> dict[str, Any]:
    """Return how far the training rows moved; the std of fidelity is that over the features."""
    differ = before != after
    # A column that is as it was did not move: a wide table is read in the others only.
    moved = np.flatnonzero(differ.any(axis=0))
    distances = np.zeros(before.shape[1])
    if len(moved):
        columns = metrics.data_fidelity(before[:, moved], after[:, moved]).columns
        distances[moved] = list(columns.values())
    return {"fidelity": (distances.mean(), distances.std()), "training_ar": differ.mean()}


def records_of(found: dict[str, Any], **names: Any) -> list[Record]:
    """Return one record for each measure; one that is a pair comes with its own std."""
    lines = []
    for metric, value in found.items():
        line = {**names, "metric": metric}
        if isinstance(value, tuple):
            line["value"], line["std"] = map(float, value)
        else:
            line["value"] = float(value)
        lines.append(line)
    return lines


def measure_methods(
    key: str, part: Part, seed: int, number: int, n_folds: int, methods: tuple[str, ...], random_state: int
) -> list[Record]:
    """Return what some of the main table's methods come to on one fold."""
    fold = Fold.load(key, part, seed, number, n_folds, random_state)
    # FairSHAP asks the model of the baseline.
    model = fit_model(fold.X, fold.y) if {"Baseline", "FairSHAP"} & set(methods) else None
    lines: list[Record] = []
    for method in methods:
        found: dict[str, Any]
        if method == "Baseline":
            found = judge(model, fold, fold.X_test)
        elif method == "FairSHAP":
            edited = repair(fold, model).edits_.apply(fold.X)
            found = judge(fit_model(edited, fold.y), fold, fold.X_test) | changes_of(fold.X, edited)
        else:
            rows, test_rows = _transformed(method, fold)
            sees = method != "RSA"
            found = judge(fit_model(rows, fold.y), fold, test_rows, sees_attribute=sees)
            found |= changes_of(fold.X, rows) if sees else {}
        names = {"setting": key, "part": part, "model": MODEL, "method": method, "seed": seed, "fold": number}
        lines += records_of(found, **names)
    return lines
