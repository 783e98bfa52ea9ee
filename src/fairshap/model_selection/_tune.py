"""Tuning: which remedy does the most within what the user can accept, and how well at limited gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fairshap._crossval import CrossValidation, Evaluation, judge
from fairshap._crossval.measures import MEASURES
from fairshap._crossval.ranking import (
    Limits,
    Minimize,
    Ranking,
    check_minimize,
    describe_minimized,
    on_front,
    weights_of,
)
from fairshap._crossval.trials import Run, check_unfitted, draw_seed, warn_of_skipped
from fairshap._display import bars, panel, paragraph, table
from fairshap._messages import check_choice, is_number
from fairshap._models import copy_estimator, default_estimator
from fairshap._problem import Privileged
from fairshap._typing import Bools, Native
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError
from fairshap.model_selection._candidates import Candidate, Maker
from fairshap.model_selection._trials import trial_of

#: The measures that a curve limits by default: the gaps between groups, and treatment.
AXES = ("dp", "eo", "eodds", "flips")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TradeoffCurve:
    """The best performance at gaps of at most k, on a held-out set; what :meth:`Tuning.curve` returns.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets, tune
    >>> d = datasets.make_biased(600, random_state=0)
    >>> X, y, X_test, y_test = d.X[:400], d.y[:400], d.X[400:], d.y[400:]
    >>> tuning = tune(X, y, LogisticRegression(), sensitive=d.sensitive, privileged=d.privileged,
    ...               candidates=["plain"], n_folds=2, random_state=0)
    >>> curve = tuning.curve(X, y, X_test, y_test, at=[0.5], axes=["dp"])
    >>> curve.frame()[["axis", "at"]].values.tolist()
    [['dp', 0.5]]
    """

    evaluation: Evaluation
    _picks: pd.DataFrame
    _scoring: str

    def __repr__(self) -> str:
        return f"TradeoffCurve({len(self._picks)} points; {len(self.evaluation.names)} candidates)"

    def frame(self) -> pd.DataFrame:
        """Return one line for each measure that is limited (``axis``) and each limit (``at``).

        ``name`` is the candidate that was picked, ``expected`` its level of that measure on the folds,
        ``level`` that on the held-out set, ``met`` whether that is within the limit. The other columns are
        the measures on the held-out set, with 95 % intervals.
        """
        found = self.evaluation.frame().drop(columns=["edits", "share", "raw_dr", "dr_noise"])
        frame = self._picks.merge(found, on="name", how="left", validate="many_to_one")
        level = [line[line["axis"]] for _, line in frame.iterrows()]
        frame.insert(4, "level", np.array(level, dtype=np.float64))
        frame.insert(5, "met", frame["level"] <= frame["at"])
        return frame

    def plot(self, axes: Any = None) -> Any:
        """Draw the performance against the limit, one axes for each measure that is limited."""
        from fairshap._plotting import draw_limits

        columns = ["at", self._scoring, f"{self._scoring}_low", f"{self._scoring}_high"]
        parts = {
            MEASURES[str(axis)].label: tuple(lines[columns].to_numpy().T)
            for axis, lines in self.frame().groupby("axis", sort=False)
        }
        return draw_limits(parts, MEASURES[self._scoring].label, axes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuning:
    """All candidates of a search, and which to take.

    Attributes
    ----------
    recommended, reason : str
        The name of the candidate to take; what it does and why, in plain words.
    estimator : classifier
        The recommended classifier, unfitted and ready for ``fit(X, y)``, or with the attribute beside the
        table for ``fit(X, y, sensitive_features=...)``.
    evaluation : Evaluation
        The measures of the candidates that went through all folds, and the noise level.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets, tune
    >>> d = datasets.make_biased(400, random_state=0)
    >>> tuning = tune(d.X, d.y, LogisticRegression(), sensitive=d.sensitive, privileged=d.privileged,
    ...               candidates=["plain"], n_folds=2, random_state=0)
    >>> tuning.recommended in tuning.frame()["name"].tolist()
    True
    >>> model = tuning.estimator.fit(d.X, d.y)
    """

    recommended: str
    reason: str
    estimator: Any
    evaluation: Evaluation
    _frame: pd.DataFrame
    _search: "_Search"
    _template: FairSHAP
    _positive: Any

    @property
    def _candidate(self) -> Candidate:
        return self._search.known[self.recommended]

    def __repr__(self) -> str:
        return f"Tuning({len(self._frame)} candidates; recommended: {self.recommended!r}; .reason says why)"

    def __str__(self) -> str:
        return f"{self.recommended}: {self.reason}"

    def _repr_html_(self) -> str:
        frame = self._frame
        columns: dict[str, Any] = {name: frame[name].tolist() for name in ("name", "minimized")}
        columns[""] = bars(frame["minimized"])
        for name in dict.fromkeys([self._search.limits.scoring, "dr", "dp", "eo"]):
            columns[MEASURES[name].label] = [f"{level:.3f}" for level in frame[name]]
        columns["within the limits"] = frame["allowed"].tolist()
        taken = int(np.flatnonzero(frame["recommended"])[0])
        facts = {"candidates": len(frame), "recommended": self.recommended}
        return panel("Tuning", facts, paragraph(self.reason), table(columns, taken))

    def frame(self) -> pd.DataFrame:
        """Return all candidates: the baseline, the recommended one, then the best within the limits.

        The columns are those of :meth:`Evaluation.frame` and

        - ``minimized``: what is made small, relative to the baseline;
        - ``kind``: what the candidate does, ``n_fits``: how many models it trains;
        - ``needs_attribute``: whether the rows to predict must hold the attribute;
        - ``n_folds``: the folds that it was judged on, fewer if it was dropped early;
        - ``allowed``, ``on_front``, ``recommended``: whether it is within the limits, on the Pareto front
          of performance and what is made small, and to be taken.
        """
        return self._frame.copy()

    def front(self) -> pd.DataFrame:
        """Return the Pareto front: candidates that no other beats in performance and what is made small."""
        return self._frame[self._frame["on_front"]].sort_values("minimized", ignore_index=True)

    def plot(self, ax: Any = None) -> Any:
        """Draw performance against what is made small, with the Pareto front; return the axes."""
        from fairshap._plotting import draw_trade_off

        frame, scoring = self._frame, self._search.limits.scoring
        levels, minimized, front = (frame[name].to_numpy() for name in (scoring, "minimized", "on_front"))
        taken = int(np.flatnonzero(frame["recommended"])[0])
        labels = describe_minimized(self._search.minimize), scoring.replace("_", " ")
        return draw_trade_off(levels, minimized, front, taken, labels, ax)

    def curve(
        self,
        X: Native,
        y: Any,
        X_test: Native,
        y_test: Any,
        *,
        sensitive_features: Any = None,
        sensitive_features_test: Any = None,
        at: Sequence[float] = (0.01, 0.02, 0.05, 0.1),
        axes: Sequence[str] = AXES,
    ) -> TradeoffCurve:
        """Return the best performance at gaps of at most k, measured on a held-out set.

        For each axis and each k, the best performing candidate whose level on the folds is at most k is
        trained on the rows that were tuned on, and measured once on the held-out set. If no candidate is as
        low as that, the lowest is.

        Parameters
        ----------
        X, y : data frame or array, array-like
            The rows that were tuned on.
        X_test, y_test : data frame or array, array-like
            The held-out set, of which nothing was used before.
        sensitive_features, sensitive_features_test : array-like, optional
            The attribute of both, if it is not a column.
        at : sequence of float
            The levels k.
        axes : sequence of str
            The measures on whose level there is a limit: group gaps and flips.

        Examples
        --------
        >>> from fairshap import datasets, tune
        >>> d = datasets.make_biased(600, random_state=0)
        >>> tuning = tune(d.X[:400], d.y[:400], sensitive=d.sensitive, privileged=d.privileged,
        ...               candidates=["plain"], n_folds=5, random_state=0)
        >>> curve = tuning.curve(d.X[:400], d.y[:400], d.X[400:], d.y[400:], at=[0.05, 0.1], axes=["dp"])
        >>> curve.frame()["at"].tolist()
        [0.05, 0.1]
        """
        frame = self._frame[self._search.eligible(self._frame["name"].tolist())]
        picks = _pick(frame, self._search.limits.scoring, at, axes)
        models = {name: self._search.known[name].model for name in dict.fromkeys(picks["name"])}
        beside = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
        fitted = {name: copy_estimator(model).fit(X, y, **beside) for name, model in models.items()}
        test = self._template._problem(X_test, y_test, sensitive_features_test, positive=self._positive)
        judged = [[judge(model, test)] for model in fitted.values()]
        how = f"Measured on a held-out set of {test.own.n_rows:,} rows."
        evaluation = Evaluation.of(list(fitted), judged, test.groups.names, how, by="name")
        return TradeoffCurve(evaluation, picks, self._search.limits.scoring)


def tune(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    positive: Any = None,
    minimize: Minimize = "fairness",
    max_accuracy_drop: float = 0.01,
    max_auc_drop: float | None = None,
    scoring: str = "accuracy",
    attribute_at_prediction: bool | None = None,
    max_edits: int | float | None = None,
    candidates: Sequence[str] | Mapping[str, Any] | None = None,
    n_folds: int | None = None,
    n_repeats: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> Tuning:
    """Try many remedies by cross-validation and say which to take.

    The candidates are the plain remedies (dropping the column, reweighing, counterfactual rows), weights of
    other strengths, edited cells with and without weights, soft labels, proxy corrections, and the
    reductions and thresholds of fairlearn if it is installed. In each fold they share the models,
    explanations and posteriors that several need. After 2, 4, 8, ... folds those that are surely beyond the
    limits, or surely worse than the best, are dropped. A candidate that cannot be trained is left out with a
    warning.

    Of the candidates within the limits and within one standard error of the best, the simplest is
    recommended: which of them comes out best on folds is chance. The order is baseline, dropping the column,
    reweighing, other weights, counterfactual rows, cells, cells with weights, soft labels, corrections and
    reductions, thresholds by group.

    Parameters that are not listed are those of :func:`fairshap.evaluate`.

    Parameters
    ----------
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X. No model sees it then, when it is trained or when
        it predicts.
    minimize : str or mapping, default="fairness"
        What is made small: "demographic_parity", "equal_opportunity", "equalized_odds",
        "discriminative_risk", "flips", or "fairness", the mean of DR, DP and EO, each relative to the
        baseline's. Or a mapping of weights, such as ``{"dr": 1, "dp": 6}``. A model that has no use for the
        attribute has a DR of 0, and so a low mean even if it hardly lowers the others. Weights say what
        counts.
    max_accuracy_drop : float, default=0.01
        How much of ``scoring`` a candidate may lose on held-out rows against the baseline. Models of folds
        are trained on fewer rows and tend to lose more than one of the whole table.
    max_auc_drop : float, optional
        How much ROC AUC it may lose; by default that is not limited.
    scoring : str, default="accuracy"
        The performance that ``max_accuracy_drop`` limits: "accuracy", "balanced_accuracy", "auc", "ap",
        "log_loss" or "brier".
    attribute_at_prediction : bool, optional
        False: only candidates that predict without the sensitive attribute are recommended, and beside the
        baseline only these are tried.
    max_edits : int or float, optional
        How many cells may be edited: a number for the whole table, or a share below 1.
    candidates : sequence of str or mapping, optional
        The families to try: "plain", "weights", "cells", "labels", "corrections", "peers"; by default all.
        Or a mapping of your own names to classifiers, :class:`fairshap.FairSHAP` or objects of
        :mod:`fairshap.mitigation`. The baseline and dropping the column are always tried.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets
    >>> from fairshap.model_selection import tune
    >>> d = datasets.make_biased(400, random_state=0)
    >>> who = {"sensitive": d.sensitive, "privileged": d.privileged}
    >>> tuning = tune(d.X, d.y, LogisticRegression(), **who, minimize="demographic_parity",
    ...               candidates=["plain"], n_folds=2, random_state=0)
    >>> tuning.frame()["name"].tolist()[0]
    'baseline'
    >>> model = tuning.estimator.fit(d.X, d.y)
    """
    check_minimize(minimize)
    if attribute_at_prediction not in (None, False, True):
        message = f"attribute_at_prediction={attribute_at_prediction!r} must be False, True or None."
        raise InputError(message, parameter="attribute_at_prediction")
    if params.get("selector") is not None or params.get("threshold") is not None:
        raise InputError(
            "tune tries several thresholds; for a repair of your own give it as one of candidates, such as "
            "candidates={'mine': FairSHAP(...)}."
        )
    # Before the table is read: a wrong limit is an error at once.
    limits = Limits(scoring, max_accuracy_drop, max_auc_drop)
    seed = draw_seed(random_state)
    who = {"sensitive": sensitive, "privileged": privileged}
    estimator = default_estimator(seed) if estimator is None else estimator
    template = FairSHAP(estimator, **who, random_state=seed, n_jobs=n_jobs, **params)
    check_unfitted(estimator, "tune")
    cv = CrossValidation.read("tune", template, X, y, positive, n_folds, n_repeats, sensitive_features)
    n_cells = cv.problem.own.n_rows * len(cv.problem.own.names)
    limits = replace(limits, max_share=_share(max_edits, n_cells))
    maker = Maker(template, cv.problem, minimize, positive)
    known = {one.name: one for one in maker.make(candidates, attribute_at_prediction is False)}
    search = _Search(known, minimize, limits, attribute_at_prediction is False)
    trials = [trial_of(name, one.model if k else None, cv) for k, (name, one) in enumerate(known.items())]
    run = cv.run(
        trials, title="Tuning", by="name", n_jobs=n_jobs, verbose=verbose, skip=True, race=search.beaten
    )
    warn_of_skipped(run.failed)
    run.evaluation.warn_if_noise(cv.problem.groups.name)
    # The held-out set of a curve may lack some of the privileged values that the table has.
    return search.finish(run, cv.template, positive)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What is searched for, among which candidates."""

    known: dict[str, Candidate]
    minimize: Minimize
    limits: Limits
    is_blind: bool

    def rank(self, evaluation: Evaluation) -> Ranking:
        """Return the ranking of candidates."""
        complexity = [self.known[name].complexity for name in evaluation.names]
        return Ranking(evaluation, self.minimize, self.limits, complexity)

    def eligible(self, names: Sequence[str]) -> Bools:
        """Say which candidates may be recommended."""
        return np.array([not (self.is_blind and self.known[name].needs_attribute) for name in names])

    def beaten(self, evaluation: Evaluation) -> list[str]:
        """Return the candidates not to go on with; baseline and plain remedies are told of to the end."""
        names = evaluation.names
        is_slow = np.array([self.known[name].is_slow for name in names])
        beaten = self.rank(evaluation).beaten(self.eligible(names), is_slow)
        kept = ("baseline", "column dropped", "reweighing", "counterfactual rows")
        return [
            name for name, one in zip(names, beaten, strict=True) if one and self.known[name].kind not in kept
        ]

    def finish(self, run: Run, template: FairSHAP, positive: Any) -> Tuning:
        """Return what to take, and why."""
        ranking, names = self.rank(run.evaluation), run.evaluation.names
        eligible = self.eligible(names)
        allowed = ranking.is_allowed()
        among = eligible & allowed
        if among.any():
            taken = ranking.simplest(among)
        else:
            # None is within the limits: the one that loses the least.
            taken = int(np.flatnonzero(eligible)[ranking.performance[eligible].argmax()])
        frame = self._frame(run, ranking, allowed, taken)
        plain = [k for k, name in enumerate(names) if self.known[name].is_plain]
        reason = _reason(ranking, taken, among, plain, self.known[names[taken]].action)
        model = copy_estimator(self.known[names[taken]].model)
        return Tuning(names[taken], reason, model, run.evaluation, frame, self, template, positive)

    def _frame(self, run: Run, ranking: Ranking, allowed: Bools, taken: int) -> pd.DataFrame:
        """Return a line for each candidate, also for those that were dropped."""
        parts = []
        for evaluation, names, n_folds in [
            (run.evaluation, run.evaluation.names, len(run.evaluation.folds or ())),
            *run.dropped,
        ]:
            is_whole = evaluation is run.evaluation
            ranked = ranking if is_whole else self.rank(evaluation)
            lines = evaluation.frame().drop(columns=["raw_dr", "dr_noise"])
            lines.insert(1, "minimized", ranked.value)
            lines = lines.assign(n_folds=n_folds, allowed=allowed if is_whole else False)
            parts.append(lines[lines["name"].isin(list(names))])
        frame = pd.concat(parts, ignore_index=True)
        known = [self.known[name] for name in frame["name"]]
        frame.insert(1, "kind", [one.kind for one in known])
        value, level = frame["minimized"].to_numpy(), frame[self.limits.scoring].to_numpy()
        level = level if MEASURES[self.limits.scoring].higher_is_better else -level
        frame = frame.assign(
            n_fits=[run.n_fits[name] for name in frame["name"]],
            needs_attribute=[one.needs_attribute for one in known],
            on_front=on_front(value, level),
            recommended=np.arange(len(frame)) == taken,
        )
        order = np.lexsort((value, ~frame["allowed"], ~frame["recommended"], np.arange(len(frame)) > 0))
        return frame.iloc[order].reset_index(drop=True)


def _share(max_edits: int | float | None, n_cells: int) -> float:
    if max_edits is None:
        return 1.0
    if not is_number(max_edits) or not max_edits >= 0:
        message = f"max_edits={max_edits!r} must be a number of cells, or a share of all cells below 1."
        raise InputError(message, parameter="max_edits")
    return max_edits if max_edits < 1 else max_edits / n_cells


def _reason(ranking: Ranking, taken: int, among: Bools, plain: Sequence[int], action: str) -> str:
    """Return what to do and what that does, why, and what each plain remedy would have done."""
    said = [f"{action}: {_effect(ranking, taken)}."]
    if not among.any():
        said.append("No candidate that may be taken is within the limits; this one loses the least.")
    elif (best := ranking.best(among)) == taken:
        if taken:
            said.append(
                "It is the best within the limits, and nothing simpler is within a standard error of it."
            )
    else:
        levels = f"{ranking.names[best]} ({_levels(ranking, best)})"
        said.append(f"It is the simplest within a standard error of the best, {levels}.")
    others = [k for k in plain if k != taken]
    if others:
        lines = (f"{ranking.names[k]}, {_levels(ranking, k)}" for k in others)
        said.append(f"Plain remedies: {'; '.join(lines)}.")
    return " ".join(said)


def _effect(ranking: Ranking, taken: int) -> str:
    """Say what a candidate does to the measures, and whether a constant or the baseline does as well."""
    name = ranking.limits.scoring
    constant = ranking.measures.constant_accuracy
    also = ""
    if _level(ranking, taken, "accuracy") <= constant:
        also = f"; a constant prediction, which has no gap, is as accurate ({constant:.3f})"
    if taken == 0:
        labels = [MEASURES[one].label for one in weights_of(ranking.minimize)]
        minimized = labels[0] if len(labels) == 1 else f"the mean of {', '.join(labels)}"
        return f"nothing within the limits makes {minimized} measurably smaller{also}"
    shown = dict.fromkeys([*weights_of(ranking.minimize), "dr", "dp", "eo"])
    parts = [
        f"{MEASURES[one].label} {_level(ranking, 0, one):.3f} -> {_level(ranking, taken, one):.3f}"
        for one in shown
    ]
    # A limit on accuracy alone can hide what the scores lose.
    costs = [one for one in dict.fromkeys([name, "auc"]) if not np.isnan(_level(ranking, taken, one))]
    paid = (
        f"{_article(one)} of {_level(ranking, taken, one):.3f} instead of {_level(ranking, 0, one):.3f}"
        for one in costs
    )
    return f"{', '.join(parts)} at {' and '.join(paid)}{also}"


def _levels(ranking: Ranking, k: int) -> str:
    names = [*weights_of(ranking.minimize), ranking.limits.scoring]
    return ", ".join(f"{MEASURES[name].label} {_level(ranking, k, name):.3f}" for name in names)


def _level(ranking: Ranking, k: int, name: str) -> float:
    return float(ranking.measures.values[k, list(MEASURES).index(name)])


def _article(name: str) -> str:
    label = MEASURES[name].label
    label = label if label.isupper() else label.lower()
    return f"an {label}" if label[0] in "aeiouA" else f"a {label}"


def _pick(frame: pd.DataFrame, scoring: str, at: Sequence[float], axes: Sequence[str]) -> pd.DataFrame:
    """Return for each measure and limit the best performing candidate within it, or else the lowest one."""
    limited = [name for name, measure in MEASURES.items() if measure.is_fairness]
    if isinstance(axes, str) or not np.iterable(axes):
        raise InputError(f"axes={axes!r} must be a list, such as ['dp', 'flips'].", parameter="axes")
    for axis in axes:
        check_choice(axis, "axes", limited)
    if not np.iterable(at) or not len(at) or not all(is_number(limit) and limit >= 0 for limit in at):
        raise InputError(f"at={at!r} must be levels from 0 on, such as [0.05, 0.1].", parameter="at")
    sign = -1 if MEASURES[scoring].higher_is_better else 1
    frame, lines = frame.assign(worse=sign * frame[scoring]), []
    for axis, limit in product(axes, at):
        within = frame[frame[axis] <= limit]
        lowest, among = ("worse", within) if len(within) else (axis, frame)
        chosen = among.sort_values([lowest, "needs_attribute", "n_fits", "name"]).iloc[0]
        line = {"axis": axis, "at": limit, "name": chosen["name"], "expected": chosen[axis]}
        lines.append(line | {name: chosen[name] for name in ("n_fits", "needs_attribute")})
    return pd.DataFrame(lines)
