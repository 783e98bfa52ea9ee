"""Whether a repaired model is any good on a held-out set."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from fairshap._crossval import MEASURES, Evaluation, judge, with_params
from fairshap._crossval.folds import strata_of
from fairshap._crossval.measures import critical_value
from fairshap._crossval.trials import check_unfitted, draw_seed, said_once
from fairshap._frames import open_store
from fairshap._messages import warn
from fairshap._models import Risk, Scorer
from fairshap._problem import Problem
from fairshap._typing import Floats, Ints, Native
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError, WorseModelWarning
from fairshap.metrics import row_risks
from fairshap.predictors import FairSHAPClassifier, FairSHAPRegressor

# The smallest held-out set, and the accuracy or R2 that a repair may cost.
_MIN_ROWS, _MAX_DROP = 100, 0.01
_NAMES = {"accuracy": "accuracy", "auc": "ROC AUC", "r2": "R2", "dr": "discriminative risk"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HoldoutCheck:
    """The baseline and the repaired model on a held-out set of ``n_rows`` rows.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets, holdout_check
    >>> d = datasets.make_biased(1000, random_state=0)
    >>> who = {"sensitive": d.sensitive, "privileged": d.privileged}
    >>> check = holdout_check(FairSHAP(**who, counterfactuals="edited", random_state=0), d.X, d.y)
    >>> check.n_rows
    200
    >>> check.frame().columns.tolist()[:3]
    ['measure', 'before', 'after']
    """

    n_rows: int
    _frame: pd.DataFrame

    def __repr__(self) -> str:
        found = "; ".join(self.reasons)
        if not found and (worse := self._measurably_worse()):
            found = f"no loss that matters by itself, but measurably worse: {', '.join(worse)}"
        found = found or "not measurably worse"
        return f"HoldoutCheck({self.n_rows} rows: {found})"

    def frame(self) -> pd.DataFrame:
        """Return one line for each measure: before, after, and the change with its 95 % interval.

        For two labels these are the measures of :func:`fairshap.evaluate`. For more of them they are accuracy
        and DR, for a quantity R2 and DR; there is no DR if the attribute stands beside the table.
        """
        return self._frame.copy()

    @property
    def reasons(self) -> list[str]:
        """What is measurably worse after the repair: more risk, or over a point less accuracy, AUC or R2."""
        found = []
        for line in self._frame[self._frame["measure"].isin(list(_NAMES))].to_dict("records"):
            before, after, name = line["before"], line["after"], _NAMES[line["measure"]]
            if line["measure"] == "dr" and line["change_low"] > 0:
                found.append(f"its {name} is {after:.3g} instead of {before:.3g}")
            elif line["measure"] != "dr" and line["change_high"] < -_MAX_DROP:
                found.append(f"its {name} is {after:.3f} instead of {before:.3f}")
        return found

    def _measurably_worse(self) -> list[str]:
        """Return the measures whose interval tells a change for the worse, however small."""
        found = []
        for line in self._frame.to_dict("records"):
            known = MEASURES.get(line["measure"])
            is_more = line["measure"] == "r2" or (known is not None and known.higher_is_better)
            if (line["change_high"] < 0) if is_more else (line["change_low"] > 0):
                found.append(line["measure"] if known is None else known.label)
        return found

    @property
    def is_worse(self) -> bool:
        """Whether the repaired model is measurably worse than the baseline."""
        return bool(self.reasons)


def holdout_check(
    repair: FairSHAP | FairSHAPClassifier | FairSHAPRegressor,
    X: Native,
    y: Any,
    *,
    test_size: float = 0.2,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
) -> HoldoutCheck:
    """Train with and without the repair on part of a table, and compare both on the rest.

    A :class:`fairshap.exceptions.WorseModelWarning` says if the repaired model is measurably worse: if the
    95 % interval of the change tells more risk, or a loss of over 0.01 in accuracy or ROC AUC, or in R2 for a
    quantity.

    Parameters
    ----------
    repair : FairSHAP, FairSHAPClassifier or FairSHAPRegressor
        The repair, fitted or not; it is not changed. A classifier or regressor also says what is trained
        after it.
    X, y : data frame or array, array-like
        The table, and its target: two labels or more, or a quantity.
    test_size : float, default=0.2
        The share of the rows that are held out, stratified by label and group.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X. Neither model sees it, so no risk is compared.
    sample_weight : array-like, optional
        The weights of the rows, for training.
    random_state : int, RandomState instance or None
        The seed of the split; by default that of the repair.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> from fairshap.model_selection import holdout_check
    >>> d = datasets.make_biased(1000, random_state=0)
    >>> who = {"sensitive": d.sensitive, "privileged": d.privileged}
    >>> repair = FairSHAP(**who, counterfactuals="edited", random_state=0)
    >>> holdout_check(repair, d.X, d.y).frame()["measure"].tolist()[:3]
    ['accuracy', 'balanced_accuracy', 'auc']
    """
    sampler, final = _parts(repair)
    check_unfitted(sampler._estimator(), "holdout_check")
    X = open_store(X).native
    whole = sampler._problem(X, y, sensitive_features, sample_weight)
    seed = draw_seed(sampler.random_state if random_state is None else random_state)
    rows, strata = np.arange(whole.own.n_rows), _strata(whole, test_size)
    split = train_test_split(rows, test_size=test_size, random_state=seed, stratify=strata)
    train, test = (np.sort(part) for part in split)
    # The training rows may lack a privileged value that the table has.
    sampler = with_params(sampler, privileged=whole.privileged_in_parts, verbose=0)
    parts = (X, whole.y.values, sensitive_features, whole.sample_weight)
    X_train, y_train, beside, weight = (
        None if part is None else _safe_indexing(part, train) for part in parts
    )
    given = {"sensitive_features": beside, "sample_weight": weight}
    with said_once():
        if isinstance(repair, FairSHAP):
            repaired = sampler.fit_resample(X_train, y_train, **given)
            after = sampler._refit(*repaired, sampler.sample_weight_)
        else:
            # With weights and without the sensitive column, as it says.
            after = with_params(repair, repair=sampler).fit(X_train, y_train, **given)
            sampler = after.repair_
    # The explained model is the baseline, unless another is trained or the attribute is beside the table.
    before = sampler.model_
    if whole.added or final is not None:
        trainer = sampler if final is None else with_params(sampler, estimator=final)
        before = trainer._refit(X_train, y_train, weight)
    found = HoldoutCheck(len(test), _compare(before, after, whole, X, test))
    if found.is_worse:
        advice = "A higher threshold edits fewer cells."
        if _has_two_labels(whole):
            advice = "fairshap.tune looks for a remedy that does better."
        warn(
            f"On {len(test)} held-out rows the repaired model is worse than the baseline: "
            f"{' and '.join(found.reasons)}. {advice}",
            WorseModelWarning,
        )
    return found


def _parts(repair: Any) -> tuple[FairSHAP, Any]:
    """Return the sampler, and the estimator that is trained after it if that is another one."""
    if isinstance(repair, (FairSHAPClassifier, FairSHAPRegressor)):
        return repair._repair(), repair.estimator
    if isinstance(repair, FairSHAP):
        return repair, None
    known = "a FairSHAP, a FairSHAPClassifier or a FairSHAPRegressor"
    raise InputError(f"repair={repair!r} is not known; give {known}.", parameter="repair")


def _has_two_labels(problem: Problem) -> bool:
    return problem.y.classes is not None and len(problem.y.classes) == 2


def _strata(problem: Problem, test_size: float) -> Ints:
    """Return what rows are split by: label, or bin, and group; the group alone if bins are too small."""
    if not isinstance(test_size, float) or not 0 < test_size < 1:
        message = f"test_size={test_size!r} must be a share of the rows between 0 and 1."
        raise InputError(message, parameter="test_size")
    n_rows, side = problem.own.n_rows, problem.groups.side
    n_test = test_size * n_rows
    if n_test < _MIN_ROWS:
        raise InputError(
            f"test_size={test_size:g} of {n_rows} rows are {n_test:.0f}; at least {_MIN_ROWS} held-out rows "
            "are needed to tell two models apart. Give more rows or a larger test_size.",
            parameter="test_size",
        )
    strata = strata_of(problem.y, side)
    for kind in (strata, strata % 2) if problem.y.classes is None else (strata,):
        if np.unique(kind[side >= 0], return_counts=True)[1].min() * test_size >= 2:
            return kind
    raise InputError(
        f"a label of one group has too few rows to hold out test_size={test_size:g} of them: two are needed."
    )


def _compare(before: Any, after: Any, problem: Problem, X: Native, rows: Ints) -> pd.DataFrame:
    """Return a line for each measure of two models on held-out rows."""
    columns = ["measure", "before", "after", "change", "change_low", "change_high"]
    models, is_blind = (before, after), True if problem.added else None
    if _has_two_labels(problem):
        judged = [[judge(model, problem, rows, is_blind=is_blind)] for model in models]
        measures = Evaluation.of(["before", "after"], judged, problem.groups.names, "").measures
        parts = np.vstack([measures.values, *(part[1] for part in measures.changes())]).T
        frame = pd.DataFrame(parts, columns=columns[1:]).assign(measure=list(MEASURES))
        return frame[columns].dropna(subset="change", ignore_index=True)
    lines, (one, other) = [], (_measure(model, problem, X, rows) for model in models)
    for name, values in one.items():
        differences = other[name] - values
        known = differences[~np.isnan(differences)]
        half = critical_value() * np.std(known) / np.sqrt(max(1, len(known)))
        levels = np.nanmean(values), np.nanmean(other[name])
        lines.append((name, *levels, levels[1] - levels[0], known.mean() - half, known.mean() + half))
    return pd.DataFrame(lines, columns=columns)


def _measure(model: Any, problem: Problem, X: Native, rows: Ints) -> dict[str, Floats]:
    """Return for each held-out row what the mean of is the accuracy or R2, and the risk."""
    predicted, values = np.asarray(model.predict(_safe_indexing(X, rows))), problem.y.values[rows]
    if problem.y.classes is not None:
        found = {"accuracy": np.asarray(predicted == values, dtype=np.float64)}
    else:
        numbers = np.asarray(values, dtype=np.float64)
        variance = float(np.var(numbers))
        found = {"r2": 1 - (numbers - predicted) ** 2 / variance if variance > 0 else np.zeros(len(rows))}
    if not problem.added:
        found["dr"] = row_risks(Risk(Scorer(model), problem), rows)
    return found
