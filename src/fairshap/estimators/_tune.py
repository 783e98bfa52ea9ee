"""Tuning: which repair does the most within what the user can accept."""

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state

from fairshap._figures.tuning import draw_trade_off
from fairshap._frames import PlayersLike
from fairshap._problem import Privileged
from fairshap._typing import Bools, Native
from fairshap.edits import Guard, check_guard, describe_guard
from fairshap.estimators._sampler import FairSHAP
from fairshap.estimators._trying import THRESHOLDS, FoldedTable
from fairshap.exceptions import InputError
from fairshap.model_selection import (
    MEASURES,
    Consultant,
    Objective,
    Outcome,
    Table,
    Trial,
    check_objective,
    describe_objective,
    is_within_noise,
    warn_if_noise,
    warn_of_skipped,
)
from fairshap.repair import Augment, Recipe, describe_twins, is_risk

_STRATEGIES = ("threshold", "optimal", "iterative")
# A strategy has as many thresholds of these as it takes time to try them.
_FEWER = {"optimal": (0, 1, 3), "iterative": (1,)}

# How often measures are drawn, to tell how sure a candidate's are.
_DRAWS = 500

_EACH, _GIVEN = "each column", "players"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuning:
    """What was tried, what came of it, and which to take.

    Parameters
    ----------
    recommended : str
        The name of the one to take.
    reason : str
        Why, in a sentence.
    repair : FairSHAP
        Ready to fit: the recommended repair. If it is recommended to keep the model as it is, or to drop the
        sensitive column, the best repair that was tried within the limits.
    table : Table
        The measures of all candidates.
    objective : str, mapping or function
        What was made small.
    allowed : ndarray of bool
        Which candidates are within the limits.
    taken : int
        The position of the recommended one.
    """

    recommended: str
    reason: str
    repair: FairSHAP
    table: Table
    objective: Objective
    allowed: Bools
    taken: int

    def __repr__(self) -> str:
        return f"Tuning({len(self.table.trials)} candidates; {self.reason})"

    def frame(self) -> pd.DataFrame:
        """Return all candidates: the baseline, the recommended one, then the best within the limits.

        Each measure has its level on all held-out rows together and the ends of its 95 % interval, ``_low``
        and ``_high``; see :meth:`fairshap.Comparison.frame`.
        """
        return self.table.frame(self.objective, self.allowed, self.taken)

    @property
    def noise_level(self) -> float:
        """The DR of a model of the same kind whose attribute was shuffled among the rows."""
        assert self.table.noise is not None  # noqa: S101
        return float(self.table.noise.mean())

    @property
    def is_noise(self) -> bool:
        """Whether the baseline's DR is indistinguishable from that level."""
        assert self.table.noise is not None  # noqa: S101
        return is_within_noise(self.table.measured, self.table.noise)

    def front(self) -> pd.DataFrame:
        """Return the candidates that no other beats in both accuracy and the objective."""
        frame = self.frame()
        return frame[frame["on_front"]].sort_values("objective", ignore_index=True)

    def plot(self, ax: Any = None) -> Any:
        """Draw accuracy against the objective, with the front and the recommended one; return the axes."""
        label = describe_objective(self.objective)
        value = self.table.objective(self.objective)[0]
        accuracy = self.table.measures[:, MEASURES.index("accuracy")]
        return draw_trade_off(accuracy, value, self.table.front(self.objective), self.taken, label, ax)


def tune(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    positive: Any = None,
    objective: Objective = "fairness",
    max_accuracy_drop: float = 0.01,
    max_edits: int | float | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    strategies: Sequence[str] = _STRATEGIES,
    augments: Sequence[Augment] = (None, "edited", "all"),
    guards: Sequence[Guard] | None = None,
    players: PlayersLike = None,
    each_column: bool = True,
    n_folds: int | None = None,
    n_repeats: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> Tuning:
    """Try many repairs on folds of a table and say which to take.

    The candidates are the strategies with several thresholds, each with and without counterfactual
    twins, and what needs no edits: the model as it is, the model without the sensitive column, and
    twins alone. In each fold the rows are matched and the model is asked once for all of them; a guard asks
    it once more.
    What cannot be trained is left out, with a warning; for an estimator that takes no weights rows with twins
    are weighed by repeating the others.
    A pipeline that may name the sensitive column keeps it, with the same value in all rows, instead.

    Of the repairs within the limits that are within one standard error of the best the most accurate is
    recommended: which of them comes out best on folds is chance. The model as it is is kept if the best
    cannot be told from it; what needs no edits is recommended if it is the best, or at least as good in
    accuracy, DR, DP and EO.

    Parameters
    ----------
    X : data frame or array
        The table, which holds the sensitive attribute.
    y : array-like
        The label of each row, two values.
    estimator : classifier, optional
        The classifier that is repaired; see :class:`FairSHAP`.
    sensitive, privileged, positive
        See :class:`FairSHAP`.
    objective : {"fairness", "dr", "dp", "eo", "pqp"}, mapping or function, default="fairness"
        What is made small: the mean of DR, DP and EO, each relative to the baseline's; one of the measures;
        a mean with weights, such as ``{"dr": 1, "dp": 6}``; or a function of two dicts, the measures of a
        candidate and of the baseline. Whatever leaves the attribute without use has a DR of 0, and so a low
        mean even if it hardly lowers the others; and what has the lowest EO on folds of few rows is mostly
        chance: weights say what counts.
    max_accuracy_drop : float, default=0.01
        How much accuracy a candidate may lose on held-out rows. Models of folds are trained on
        fewer rows, and tend to lose more than one of the whole table.
    max_edits : int or float, optional
        How many cells may be edited: a number for the whole table, or a share below 1.
    thresholds : sequence of float, optional
        The thresholds that are tried, the largest first.
    strategies : sequence of str, optional
        The strategies that are tried: "threshold", "optimal", "iterative".
    augments : sequence, optional
        Which rows get twins: None, "edited", "all", or a number for those whose risk is at least that. Of
        numbers, as of "all", twins alone are tried as well.
    guards : sequence, optional
        The guards that are tried: False, "risk", "label"; by default ``guard`` alone. That of labels lowers
        DP and EO further on some tables, and undoes what edits do on others.
    players : mapping or list of lists, optional
        Columns that belong together.
    each_column : bool, default=True
        Whether, if players are given, each column by itself is tried as well. Edits of half a category can
        leave rows that no encoding makes.
    n_folds, n_repeats : int, optional
        The folds, those of :func:`fairshap.evaluate`: by default 5, repeated up to four times for a small
        table, and 3 from 100,000 rows on. With ``n_folds`` alone there are no repeats.
    random_state : int, RandomState instance or None
        The source of the folds, and of whatever the estimators draw.
    n_jobs, verbose
        See :class:`FairSHAP`.
    **params
        Other parameters of :class:`FairSHAP`, such as ``frozen=["age"]``.

    Returns
    -------
    Tuning
        All candidates as a frame, the front, the recommended one with the reason, and a ready ``FairSHAP``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets, tune
    >>> d = datasets.make_biased(400, random_state=0)
    >>> who = {"sensitive": d.sensitive, "privileged": d.privileged}
    >>> tuning = tune(d.X, d.y, LogisticRegression(), **who, thresholds=[0.05],
    ...               strategies=["threshold"], n_repeats=1, random_state=0)
    >>> tuning.frame()["name"].tolist()[0]
    'the model as it is'
    """
    check_objective(objective)
    augments = _each_once(
        "augments", augments, "[None, 'all', 0.1]", lambda rows: Recipe(augment=rows).augment
    )
    if guards is not None:
        guards = _each_once("guards", guards, "[False, 'label']", _read_guard)
        if "guard" in params:
            raise InputError(
                "guard and guards are both given; guards alone says which are tried.", parameter="guard"
            )
    if not 0 <= max_accuracy_drop <= 1:
        raise InputError(
            f"max_accuracy_drop={max_accuracy_drop!r} must be between 0 and 1.", parameter="max_accuracy_drop"
        )
    if not len(thresholds):
        raise InputError(
            "thresholds is empty; give some, for example [0.1, 0.05, 0.02].", parameter="thresholds"
        )
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    template = FairSHAP(
        estimator,
        sensitive=sensitive,
        privileged=privileged,
        positive=positive,
        random_state=seed,
        n_jobs=n_jobs,
        **params,
    )
    guards = [template.guard] if guards is None else guards
    if len(guards) == 1:
        template.set_params(guard=guards[0])
    table = FoldedTable.read("tune", template, X, y, n_folds, n_repeats, seed)
    kinds = [_EACH] if players is None else [_EACH, _GIVEN] if each_column else [_GIVEN]
    trials, makers = _candidates(template, thresholds, strategies, augments, guards, kinds)
    # Values are estimated, and rows screened, for the smallest threshold of all.
    screen = template.screen and set(strategies) <= {"threshold", "iterative"}
    asking = clone(template).set_params(threshold=min(thresholds), screen=screen)
    consultants: dict[Hashable, Consultant] = {
        kind: clone(asking).set_params(players=players) if kind == _GIVEN else asking for kind in kinds
    }
    tried = table.run(trials, consultants, "Tuning", verbose, noise_seed=seed, skip=True)
    kept = _trained(trials, tried.outcomes, makers)
    trials, makers = [trials[k] for k in kept], [makers[k] for k in kept]
    tried = replace(tried, outcomes=[tried.outcomes[k] for k in kept])
    found = Table.of(trials, tried, _DRAWS, seed)
    warn_if_noise(found.measured, found.noise, table.setting.groups.name)
    n_cells = table.setting.table.n_rows * len(table.setting.own.names)
    allowed = found.is_allowed(max_accuracy_drop, _share(max_edits, n_cells))
    # The baseline loses nothing and edits nothing.
    allowed[0] = True
    taken, reason = found.recommend(objective, allowed)
    best = taken if makers[taken] else _best_repair(found, objective, allowed, makers)
    repair = clone(template).set_params(**{**(makers[best] or {}), "random_state": random_state})
    if trials[best].consultant == _GIVEN:
        repair.set_params(players=players)
    return Tuning(trials[taken].name, reason, repair, found, objective, allowed, taken)


def _candidates(
    template: FairSHAP,
    thresholds: Sequence[float],
    strategies: Sequence[str],
    augments: Sequence[Augment],
    guards: Sequence[Guard],
    kinds: Sequence[str],
) -> tuple[list[Trial], list[dict[str, Any] | None]]:
    """Return what is tried, and the parameters that make each repair."""
    trials = [Trial("the model as it is"), Trial("the model without the sensitive column", drops=True)]
    makers: list[dict[str, Any] | None] = [None, None]

    def add(name: str, kind: str, changes: dict[str, Any]) -> None:
        sampler = clone(template).set_params(**changes)
        recipe: Recipe = sampler._recipe(changes["threshold"], changes["augment"])
        trials.append(Trial(name, recipe, kind))
        makers.append(changes)

    alone: list[Augment] = ["all", *(rows for rows in augments if is_risk(rows))]
    for rows in alone:
        changes = {"strategy": "threshold", "threshold": np.inf, "column_thresholds": None, "augment": rows}
        add(f"{describe_twins(rows)}, no edits", kinds[0], changes)
    for kind, strategy, guard in itertools.product(kinds, strategies, guards):
        places = _FEWER.get(strategy, range(len(thresholds)))
        for threshold in [thresholds[k] for k in places if k < len(thresholds)] or thresholds[:1]:
            for augment in augments:
                parts = [f"{strategy} {threshold:g}"]
                parts += [describe_guard(guard)] if guard and len(guards) > 1 else []
                parts += [describe_twins(augment)] if augment is not None else []
                parts += [kind] if len(kinds) > 1 else []
                changes = {"strategy": strategy, "threshold": threshold, "augment": augment, "guard": guard}
                add(", ".join(parts), kind, changes)
    return trials, makers


def _trained(
    trials: Sequence[Trial], outcomes: Sequence[Outcome], makers: Sequence[dict[str, Any] | None]
) -> list[int]:
    """Return which trials could be trained in all folds; say which could not, or raise if no repair could."""
    errors = [(trial.name, outcome.error) for trial, outcome in zip(trials, outcomes, strict=True)]
    kept = [k for k, (_, error) in enumerate(errors) if error is None]
    failed = {name: error for name, error in errors if error is not None}
    if failed and not any(makers[k] for k in kept):
        raise next(iter(failed.values()))
    warn_of_skipped(failed)
    return kept


def _each_once(name: str, values: Any, example: str, read: Callable[[Any], Any]) -> list[Any]:
    """Return what is tried of something, each of which must be known."""
    found = [] if isinstance(values, str) or not np.iterable(values) else [read(value) for value in values]
    if not found:
        raise InputError(
            f"{name}={values!r} must be a list of at least one, such as {example}.", parameter=name
        )
    return list(dict.fromkeys(found))


def _read_guard(guard: Any) -> Guard:
    """Return a guard by its name, or False; True is another word for "risk"."""
    check_guard(guard)
    if isinstance(guard, str):
        return cast(Guard, guard)
    return "risk" if guard else False


def _best_repair(
    table: Table, objective: Objective, allowed: Bools, makers: Sequence[dict[str, Any] | None]
) -> int:
    """Return the best repair within the limits, or without them if there is none."""
    is_repair = np.array([maker is not None for maker in makers])
    return table.steady(objective, is_repair & allowed if (is_repair & allowed).any() else is_repair)


def _share(max_edits: int | float | None, n_cells: int) -> float:
    if max_edits is None:
        return 1.0
    if isinstance(max_edits, bool) or not max_edits >= 0:
        raise InputError(
            f"max_edits={max_edits!r} must be a number of cells, or a share of all cells below 1.",
            parameter="max_edits",
        )
    return max_edits if max_edits < 1 else max_edits / n_cells
