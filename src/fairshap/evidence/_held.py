"""What models do on held-out rows, as plain arrays, and how they are asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import t as student

from fairshap._crossval import judge, make_folds, shuffled_risk
from fairshap._crossval.folds import Folds
from fairshap._frames import open_store, show
from fairshap._messages import Progress, listing
from fairshap._models import Risk, Scorer, Weighing, fit_model
from fairshap._models.scorer import told_of_categories
from fairshap._problem import Problem
from fairshap._typing import Floats, Ints, Native, Sides
from fairshap.exceptions import ModelError
from fairshap.metrics import row_risks

# In each fold a model is trained with the attribute shuffled, as in ``evaluate``, and at least so many: of
# two, nothing can be told from their spread.
_SHUFFLES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What one model does on held-out rows; with repeats, on average for each row.

    ``true`` and ``predicted`` have the shape (rows, labels): how often a row has, and is predicted, each of
    the ``labels`` that tables are made for. A quantity has no labels and one column. ``folds`` has the
    positions and the scores, shape (rows of the fold, labels), of each fold.
    """

    labels: tuple[str, ...]
    true: Floats
    predicted: Floats
    #: How often each row's label is predicted; NaN for a quantity.
    right: Floats
    folds: list[tuple[Ints, Floats]]
    #: The mean score of each row and label.
    score: Floats
    is_probability: bool
    #: By how much the output changes, and how often the decision, when only the attribute does.
    risk: Floats
    flips: Floats
    risk_by_fold: Floats
    weight: Floats
    #: Whether rows count one each and are judged once, so that they can be counted in a test.
    is_counted: bool
    how: str
    #: The mean risk of each fold under a model that was trained with the attribute shuffled.
    noise: Floats | None = None
    #: How many rows alike each row stands for; None if for itself alone. There are no scores then.
    times: Floats | None = None

    @property
    def is_noise(self) -> bool:
        """Whether the risk is indistinguishable from that of a shuffled attribute."""
        if self.noise is None or not np.nan_to_num(self.risk).any():
            return False
        n = len(self.noise)
        margin = student.ppf(0.95, n - 1) * self.noise.std(ddof=1) * np.sqrt(1 + 1 / n)
        return bool(self.risk_by_fold.mean() <= self.noise.mean() + margin)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The columns of a table that a model takes, and whether the sensitive ones are among them."""

    problem: Problem
    columns: tuple[int, ...]
    sees: bool

    @classmethod
    def by(cls, model: Any, problem: Problem) -> "Seen":
        """Return what a fitted model takes of the table, or say what it lacks."""
        table, own = problem.table, range(len(problem.own.names))
        names = getattr(model, "feature_names_in_", None)
        if names is not None and not table.is_array:
            known = {str(name): k for k, name in enumerate(table.names)}
            absent = [name for name in map(str, names) if name not in known]
            if absent:
                raise ModelError(
                    f"the model was fitted with columns that X does not have: {listing(absent)}; give the "
                    "columns that it takes."
                )
            columns = tuple(known[str(name)] for name in names)
            return cls(problem, columns, any(column in columns for column in problem.columns))
        rest = tuple(column for column in own if column not in problem.columns)
        takes = getattr(model, "n_features_in_", len(table.names))
        if takes == len(rest) < len(table.names):
            return cls(problem, rest, sees=False)
        return cls(problem, tuple(range(len(table.names))), sees=True)

    def rows(self, rows: Ints) -> Native:
        """Return rows of the table as the model takes them."""
        return self._take([rows] * len(self.problem.table.names), rows)

    def _take(self, sources: Sequence[Ints], labels: Ints) -> Native:
        store = self.problem.table.store
        mixed = store.mix(sources, labels=labels)
        if self.columns == tuple(range(len(store.names))):
            return mixed
        return open_store(mixed).compose(list(self.columns))

    def risks(self, model: Any, rows: Ints) -> Floats:
        """Return the risk of rows; of a model that does not see the attribute it is 0."""
        if not self.sees:
            return np.zeros(len(rows))
        return row_risks(Risk(Scorer(model), self.problem), rows)

    def flips(self, model: Any, rows: Ints) -> Floats:
        """Return whether the decision on each row changes when only the attribute does."""
        groups, table = self.problem.groups, self.problem.table
        if not self.sees:
            return np.zeros(len(rows))
        decided = []
        for donors in groups.donors[rows].T:
            sources = [donors if k in self.problem.columns else rows for k in range(len(table.names))]
            decided.append(np.asarray(model.predict(self._take(sources, rows))))
        found = np.any([decided[a] != decided[b] for a, b in groups.contrasts], axis=0).astype(np.float64)
        if groups.by_row:
            found[groups.side[rows] < 0] = np.nan
        return np.asarray(found)


class _Asked:
    """Collects what the models of the folds say about their rows."""

    def __init__(self, seen: Seen, labels: Sequence[Any]) -> None:
        problem = seen.problem
        self.seen, self.labels = seen, list(labels)
        n, width = problem.table.n_rows, max(1, len(labels))
        self.predicted, self.right = np.zeros((n, width)), np.zeros(n)
        self.risk, self.flips, self.times = np.zeros(n), np.zeros(n), np.zeros(n)
        self.folds: list[tuple[Ints, Floats]] = []
        self.risk_by_fold: list[float] = []
        self.is_probability = True

    def add(self, model: Any, rows: Ints) -> None:
        """Ask a model about rows that it was not trained on."""
        problem = self.seen.problem
        self.times[rows] += 1
        if self.seen.sees and len(self.labels) == 1:
            found = judge(model, problem, rows)
            self.predicted[rows] += found.predicted[:, None]
            self.right[rows] += found.predicted == found.true
            self._add_risk(rows, found.risk)
            self.flips[rows] += np.asarray(found.flips)
            self.is_probability &= found.is_probability
            self.folds.append((rows, np.asarray(found.score)[:, None]))
            return
        table, values = self.seen.rows(rows), problem.y.values[rows]
        with told_of_categories(model):
            predicted = np.asarray(model.predict(table))
        if self.labels:
            shares = np.column_stack([predicted == label for label in self.labels]).astype(np.float64)
            scorer = Scorer(model)
            scores = self._scores(model, scorer, table)
            self.is_probability &= scorer.has_probabilities
            self.right[rows] += predicted == values
            self.flips[rows] += self.seen.flips(model, rows)
        else:
            shares = scores = predicted.astype(np.float64)[:, None]
            self.is_probability = False
        self.predicted[rows] += shares
        self._add_risk(rows, self.seen.risks(model, rows))
        self.folds.append((rows, scores))

    def _add_risk(self, rows: Ints, risk: Floats) -> None:
        self.risk[rows] += risk
        self.risk_by_fold.append(float(np.nanmean(risk)))

    def _scores(self, model: Any, scorer: Scorer, table: Native) -> Floats:
        """Return a score for each label: its probability, or the margin of the second of two."""
        found, classes = scorer(table), list(model.classes_)
        sides = [classes.index(label) for label in self.labels]
        if found.ndim > 1:
            return found[:, sides]
        flipped = 1 - found if scorer.has_probabilities else -found
        return np.column_stack([found if side else flipped for side in sides])

    def held(self, weight: Floats | None, how: str, noise: Sequence[float] = ()) -> Held:
        """Return what was collected."""
        problem, times = self.seen.problem, self.times
        values = problem.y.values
        true = np.column_stack([values == label for label in self.labels]) if self.labels else values[:, None]
        nothing = np.full(len(times), np.nan)
        return Held(
            tuple(show(label, 60) for label in self.labels),
            true.astype(np.float64),
            self.predicted / times[:, None],
            self.right / times if self.labels else nothing,
            self.folds,
            mean_scores(self.folds, true.shape),
            self.is_probability,
            self.risk / times,
            self.flips / times if self.labels else nothing,
            np.array(self.risk_by_fold),
            np.ones(len(times)) if weight is None else weight,
            weight is None and bool(times.max() == 1),
            how,
            np.array(noise) if len(noise) else None,
        )


def mean_scores(folds: Sequence[tuple[Ints, Floats]], shape: tuple[int, ...]) -> Floats:
    """Return the mean score of each row and label over the folds that hold it."""
    total, times = np.zeros(shape), np.zeros(shape[0])
    for at, scores in folds:
        total[at] += scores
        times[at] += 1
    return np.asarray(total / np.maximum(times, 1)[:, None])


def labels_of(problem: Problem) -> list[Any]:
    """Return the labels that tables are made for: the favorable one of two; of several, all of them."""
    target = problem.y
    if target.classes is None:
        return []
    if target.positive is None:
        return list(target.classes)
    others = [label for k, label in enumerate(target.classes) if k != target.positive]
    return [target.positive_value, *(others if len(target.classes) > 2 else [])]


def ask_fitted(model: Any, seen: Seen) -> Held:
    """Return what a fitted model does on all rows of a table."""
    asked = _Asked(seen, labels_of(seen.problem))
    asked.add(model, np.arange(seen.problem.table.n_rows))
    how = "On all rows of the table; a model looks better than it is on rows that it was trained on."
    return asked.held(seen.problem.sample_weight, how)


def cross_validate(
    estimator: Any, seen: Seen, n_folds: int | None, n_repeats: int | None, seed: int, verbose: int = 0
) -> tuple[Held, Folds]:
    """Return what models of a kind do on rows that they were not trained on, by the folds of ``evaluate``."""
    problem = seen.problem
    folds = make_folds(problem.y, _sides(problem), n_folds, n_repeats, seed)
    asked, noise = _Asked(seen, labels_of(problem)), []
    fit = trainer(estimator, seen)
    with Progress("Auditing", len(folds), verbose) as progress:
        for at, (train, test) in enumerate(folds):
            asked.add(fit(train, seen.rows(train)), test)
            if seen.sees:
                noise += [
                    shuffled_risk(problem, train, partial(fit, train), problem, test, seed + k)
                    for k in range(at, max(_SHUFFLES, len(folds)), len(folds))
                ]
            progress.advance(len(test), 1)
    how = f"By cross-validation with {folds}: each row is judged by a model that was not trained on it."
    return asked.held(problem.sample_weight, how, noise), folds


def _sides(problem: Problem) -> Sides:
    """Return what folds are stratified by beside the label: the largest group, whichever is privileged."""
    groups = problem.groups
    if groups.by_row:
        return groups.side
    known = groups.code >= 0
    largest = np.bincount(groups.code[known]).argmax()
    return np.where(known, groups.code == largest, -1).astype(groups.side.dtype)


def trainer(estimator: Any, seen: Seen) -> Callable[[Ints, Native], Any]:
    """Return what fits the estimator on rows of a table, with their weights if it takes any."""
    problem, values = seen.problem, seen.problem.y.values
    weight = problem.sample_weight
    if weight is not None:
        rows = np.arange(problem.table.n_rows)
        weight = weight if Weighing.of(estimator, seen.rows(rows), values).is_taken else None

    def fit(rows: Ints, X: Native) -> Any:
        params = {} if weight is None else {"sample_weight": weight[rows]}
        return fit_model(estimator, X, values[rows], params)

    return fit
