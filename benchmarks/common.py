"""What several benchmarks share: the protocol's first fold, medians, peak memory, the paper's measures."""

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import FairSHAP, datasets, metrics

#: The paper's seven settings: a table and its sensitive column.
SETTINGS = "german:sex,compas:sex,compas:race,adult:sex,adult:race,credit:SEX,census_kdd:sex"
MEASURES = ("accuracy", "dr", "dp", "eo", "pqp")


def training_fold(
    name: str, *, encoded: bool = False, distinct: bool = False
) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Return X, y and who is privileged, of the protocol's first training fold; encoded rows as an array."""
    data = datasets.load(name, encoded=encoded)
    X, y = data.X, data.y
    if distinct:
        kept = ~X.assign(target=y).duplicated()
        X, y = X[kept], y[kept]
    train, _ = next(KFold(5, shuffle=True, random_state=1).split(X))
    sensitive = X.columns.get_loc(data.sensitive) if encoded else data.sensitive
    rows = X.to_numpy()[train] if encoded else X.iloc[train]
    return rows, y.iloc[train].to_numpy(), {"sensitive": sensitive, "privileged": data.privileged}


def median_seconds(call: Callable[[], Any]) -> float:
    """Return the median of three calls, after one that warms up."""
    call()
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def peak_mib() -> float:
    """Return the peak memory of this process in MiB.

    Not from getrusage where there is another way: a process that was started by a larger one has that
    one's peak there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def retrain(repair: FairSHAP, X: np.ndarray, y: np.ndarray) -> XGBClassifier:
    """Return XGBoost trained on repaired rows."""
    X_fair, y_fair = repair.fit_resample(X, y)
    return XGBClassifier().fit(X_fair, y_fair, sample_weight=repair.sample_weight_)


def measure(true: Any, predicted: Any, side: Any, risk: float) -> np.ndarray:
    """Return accuracy, DR, DP, EO and PQP as in the paper: privileged rows (1) against all others."""
    groups = {"sensitive_features": side, "privileged": 1, "between": "pooled"}
    return np.array([
        np.mean(true == predicted),
        risk,
        metrics.demographic_parity_difference(true, predicted, **groups),
        metrics.equal_opportunity_difference(true, predicted, **groups),
        metrics.predictive_parity_difference(true, predicted, **groups),
    ])  # fmt: skip
