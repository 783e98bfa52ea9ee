"""Every call of fairshap: the paper's model, its repairs and baselines, and what is measured on one fold."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any
from warnings import catch_warnings

import numpy as np
from sklearn.frozen import FrozenEstimator

from fairshap import (
    Edits,
    Explainer,
    Explanation,
    FairSHAP,
    Iterative,
    MatchPlan,
    OptimalSubset,
    Threshold,
    explain,
    match,
    metrics,
    tune,
)
from fairshap.exceptions import NoiseWarning
from fairshap.mitigation import CorrelationRemover
from paper.impact import remove_impact
from paper.jobs import Record
from paper.settings import Arrays, Fold

#: What is measured on the test rows.
MEASURES = ("accuracy", "dr", "dp", "eo", "pqp")
#: The paper's threshold.
THRESHOLD = 0.05

# In the encoded tables 1 is privileged; where there are several other values, the published code compares
# with one that is drawn.
_PRIVILEGED, _COMPARISON = 1.0, "random"
#: The selector of each name, for a threshold.
SELECTORS = {
    "threshold": Threshold,
    "optimal": OptimalSubset,
    "iterative": lambda threshold: Iterative(Threshold(threshold)),
}
# Shapley values that differ by less than this are equal to fairshap.
_TIE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """Training rows repaired by FairSHAP, and how it came to that.

    Parameters
    ----------
    X, y, sample_weight : ndarray
        The rows to train on; counterfactuals, if any, come last.
    edits : Edits
        The ledger.
    explanation : Explanation
        The model explained on the training rows: the references and the Shapley values.
    """

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    edits: Edits
    explanation: Explanation


def make_model() -> Any:
    """Return the paper's model, which fits in one thread."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1)


def fit_model(X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Any:
    """Return the paper's model, fitted."""
    return make_model().fit(X, y, sample_weight=sample_weight)


def repair(
    fold: Fold,
    model: Any,
    *,
    threshold: float = THRESHOLD,
    selector: str = "threshold",
    counterfactuals: str | None = None,
    matcher: str = "nearest",
    feature_groups: dict[str, list[int]] | None = None,
) -> Repair:
    """Return the training rows repaired by the paper's FairSHAP, or a variant of it, for a fitted model."""
    sampler = FairSHAP(
        FrozenEstimator(model),
        sensitive=fold.sensitive,
        privileged=_PRIVILEGED,
        matcher=matcher,
        selector=SELECTORS[selector](threshold),
        explainer=Explainer(feature_groups=feature_groups, comparison=_COMPARISON),
        counterfactuals=counterfactuals,
        random_state=fold.random_state,
        n_jobs=1,
    )
    X, y = sampler.fit_resample(fold.X, fold.y)
    return Repair(X, y, sampler.sample_weight_, sampler.edits_, sampler.explanation_)


def match_rows(arrays: Fold | Arrays) -> MatchPlan:
    """Return the references of all rows."""
    return match(arrays.X, arrays.y, sensitive=arrays.sensitive, privileged=_PRIVILEGED, n_jobs=1)


def explain_rows(fold: Fold, model: Any, plan: MatchPlan) -> tuple[Explanation, float]:
    """Return the model explained on the training rows, exactly, and the CPU seconds that it took."""
    start = time.process_time()
    found = explain(model, fold.X, plan, sensitive=fold.sensitive, privileged=_PRIVILEGED, n_jobs=1)
    return found, time.process_time() - start


def reaches(phi: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Say which Shapley values lead to an edit, as fairshap does."""
    return phi >= threshold - _TIE


def replace_values(X: np.ndarray, plan: MatchPlan, phi: np.ndarray, threshold: float) -> np.ndarray:
    """Return the rows with every value whose Shapley value reaches the threshold taken from the reference."""
    return np.where(reaches(phi, threshold), X[plan.best], X)


def apply_largest(X: np.ndarray, edits: Edits, n: int) -> np.ndarray:
    """Return the rows after the n edits with the largest Shapley values; ties go by row, then column."""
    # Steps as wide as a tie that begin far from all simple fractions: rounding carries no value over an edge.
    steps = np.floor(edits.phi / _TIE + 0.6180339887498949)
    chosen = np.argsort(-steps, kind="stable")[:n]
    row, column, reference = edits.row[chosen], np.asarray(edits.column)[chosen], edits.reference[chosen]
    edited = X.copy()
    edited[row, column] = X[reference, column]
    return edited


def transform_rows(method: str, fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows as one of the paper's other methods makes them."""
    if method == "RSA":
        return np.delete(fold.X, fold.sensitive, axis=1), np.delete(fold.X_test, fold.sensitive, axis=1)
    if method == "CR":
        who = {"sensitive": fold.sensitive, "privileged": _PRIVILEGED}
        remover = CorrelationRemover(**who, keep_sensitive=True).fit(fold.X)
        return remover.transform(fold.X), remover.transform(fold.X_test)
    # In the paper the test rows are repaired by their own quantiles.
    return remove_impact(fold.X, fold.sensitive), remove_impact(fold.X_test, fold.sensitive)


def tune_repair(fold: Fold, thresholds: Sequence[float], n_repeats: int) -> tuple[str, str | dict[str, Any]]:
    """Return what ``tune`` recommends on the training rows, by name, and as the arguments of :func:`repair`.

    Instead of arguments it is "Baseline" or "RSA" where no repair is recommended.
    """
    # A warning about noise does not change the recommendation.
    with catch_warnings(action="ignore", category=NoiseWarning):
        who = {"sensitive": fold.sensitive, "privileged": _PRIVILEGED, "random_state": fold.random_state}
        kinds = {"each column": None, "feature groups": fold.feature_groups}
        repairs = {}
        for threshold, rows, kind in product((*thresholds, np.inf), ("edited", "all"), kinds):
            explainer = Explainer(comparison=_COMPARISON, feature_groups=kinds[kind])
            name = f"threshold {threshold:g}, counterfactuals of {rows} rows, {kind}"
            repairs[name] = FairSHAP(**who, threshold=threshold, counterfactuals=rows, explainer=explainer)
        tuning = tune(
            fold.X,
            fold.y,
            make_model(),
            **who,
            candidates=repairs,
            explainer=Explainer(comparison=_COMPARISON),
            n_repeats=n_repeats,
            n_jobs=1,
        )
    plain = {"baseline": "Baseline", "drop the column": "RSA"}
    if tuning.recommended in plain:
        return tuning.recommended, plain[tuning.recommended]
    picked = tuning.estimator.repair
    return tuning.recommended, {
        "feature_groups": picked.explainer.feature_groups,
        "threshold": picked.threshold,
        "counterfactuals": picked.counterfactuals,
    }


def judge(model: Any, fold: Fold, rows: np.ndarray | None = None, *, sees_attribute: bool = True) -> Record:
    """Return what a model does on the test rows, or on those rows as a method transformed them.

    As in the paper, gaps are those of this fold, between the privileged rows and all others as one group;
    their mean over folds is reported. The attribute is switched in the rows as the model gets them: where a
    method transforms rows, after that.
    """
    rows = fold.X_test if rows is None else rows
    predicted = model.predict(rows)
    groups: dict[str, Any] = {
        "sensitive_features": fold.X_test[:, fold.sensitive],
        "privileged": _PRIVILEGED,
        "between": "pooled",
    }
    found = {
        "accuracy": np.mean(fold.y_test == predicted),
        "dp": metrics.demographic_parity_difference(fold.y_test, predicted, **groups),
        "eo": metrics.equal_opportunity_difference(fold.y_test, predicted, **groups),
        "pqp": metrics.predictive_parity_difference(fold.y_test, predicted, **groups),
    }
    if sees_attribute:
        found["dr"] = metrics.discriminative_risk(
            model,
            rows,
            sensitive=fold.sensitive,
            privileged=_PRIVILEGED,
            comparison=_COMPARISON,
            random_state=fold.random_state,
        )
    return found


def changes_of(before: np.ndarray, after: np.ndarray) -> Record:
    """Return how far the training rows moved; the std of fidelity is over the features."""
    differ = before != after
    # A column without changes did not move: only the others of a wide table are read.
    moved = np.flatnonzero(differ.any(axis=0))
    distances = np.zeros(before.shape[1])
    if len(moved):
        # The Wasserstein distance: between equally many values, the optimal transport pairs them in order.
        old, new = (np.sort(cells[:, moved], axis=0) for cells in (before, after))
        distances[moved] = np.abs(old - new).mean(axis=0)
    return {"fidelity": (distances.mean(), distances.std()), "training_ar": differ.mean()}


def records_of(found: Record, **names: Any) -> list[Record]:
    """Return one record for each measure; one that is a pair has its own std."""
    lines = []
    for metric, value in found.items():
        line = {**names, "metric": metric}
        if isinstance(value, tuple):
            line["value"], line["std"] = map(float, value)
        else:
            line["value"] = float(value)
        lines.append(line)
    return lines
