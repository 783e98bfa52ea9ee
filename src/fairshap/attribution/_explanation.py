"""The explanation, one fitted model explained on one table, and how it is computed."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fairshap._display import bars, histogram, panel, table
from fairshap._frames import Players, PlayersLike, Table, make_frame
from fairshap._messages import check_choice, check_count, import_extra, is_number
from fairshap._models import Risk
from fairshap._problem import Comparison, Problem, Target
from fairshap._problem.target import exceeds
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError
from fairshap.matching import MatchPlan

Method: TypeAlias = Literal["auto", "exact", "permutation"]
METHODS = ("auto", "exact", "permutation")
#: What is attributed: the discriminative risk of a row, or the gap between its score and its reference's.
GameName: TypeAlias = Literal["risk", "gap"]
GAMES = ("risk", "gap")

# The paper's threshold. A regressor's is this many standard deviations of the target.
_THRESHOLD = 0.05


class Explainer(BaseEstimator):
    """What the Shapley values explain, and how they are computed.

    Parameters
    ----------
    method : {"auto", "exact", "permutation"}, default="auto"
        "exact" enumerates all coalitions of the features that differ. "permutation" averages over random
        orders. "auto" is exact for rows that differ from their reference in at most ``max_exact`` features.
    max_exact : int, default=None
        See ``method``. None is 20 where fairshap reads the model's trees, and 12 where it calls the model.
    n_permutations : int, default=128
        The most random orders of an estimate, each walked in both directions. A row stops early once each of
        its values is clear of the threshold by its standard error.
    feature_groups : mapping of names to lists of columns, default=None
        Columns that are switched together, such as the one-hot columns of one category, or those of which a
        pipeline makes one feature: otherwise it cannot be read (``Explanation.route`` names them).
    comparison : {"max", "mean", "random"}, default="max"
        The risk of a row if the attribute has more than two values; see
        :func:`fairshap.metrics.discriminative_risk`.
    game : {"risk", "gap"}, default="risk"
        "risk" attributes the discriminative risk of a row, as in the paper: what a switch of the attribute
        alone does to its score. "gap" attributes the gap between the scores of the privileged and the
        unprivileged person of a pair, whether the model sees the attribute or not; the score is the
        probability of the positive label, or a regressor's prediction. The attribute is a feature like any
        other there, whose value is its direct effect. It is never edited. A model does not see an attribute
        that is given as ``sensitive_features``.
    positive : label, default=None
        The label whose probability is the score in the gap game; the larger of two by default.

    Examples
    --------
    >>> from fairshap import Explainer
    >>> Explainer(method="exact")
    Explainer(method='exact')
    """

    def __init__(
        self,
        method: Method = "auto",
        *,
        max_exact: int | None = None,
        n_permutations: int = 128,
        feature_groups: PlayersLike = None,
        comparison: Comparison = "max",
        game: GameName = "risk",
        positive: Any = None,
    ) -> None:
        self.method = method
        self.max_exact = max_exact
        self.n_permutations = n_permutations
        self.feature_groups = feature_groups
        self.comparison = comparison
        self.game = game
        self.positive = positive

    def players(self, table: Table) -> Players:
        """Return which columns of a table are switched together."""
        return Players.read(table, self.feature_groups)

    def options(self, *run_with: Any) -> "Options":
        """Return the checked options of one computation, which runs with a threshold, a seed and so on."""
        return Options(self.game, self.method, self.max_exact, self.n_permutations, *run_with)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one computation: those of the explainer, and what it runs with."""

    game: GameName = "risk"
    method: Method = "auto"
    max_exact: int | None = None
    n_permutations: int = 128
    #: The smallest value that matters; None if there is none.
    threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    #: Whether the rows count as a small table; None if that goes by themselves, and not by a larger table.
    is_small: bool | None = None

    def __post_init__(self) -> None:
        check_choice(self.game, "game", GAMES)
        check_choice(self.method, "method", METHODS)
        check_count(self.n_permutations, "n_permutations", ": fewer have no standard error", 2)
        if self.max_exact is not None:
            check_count(self.max_exact, "max_exact", ": it is a number of features", 0)
        check_threshold(self.threshold)


def check_threshold(threshold: Any, name: str = "threshold") -> None:
    """Raise an error unless the threshold, if there is one, is a positive number."""
    if threshold is not None and not (is_number(threshold) and threshold > 0):
        raise InputError(
            f"{name}={threshold!r} must be a number above 0: the smallest Shapley value that leads to "
            "an edit. The paper uses 0.05."
            + (" 'relative' and 'auto' find one for the table." if isinstance(threshold, str) else ""),
            parameter=name,
        )


def make_explainer(explainer: Any) -> Explainer:
    """Return the explainer that was given, or the default one."""
    if explainer is None:
        return Explainer()
    if not isinstance(explainer, Explainer):
        raise InputError(
            f"explainer={explainer!r} is not an Explainer; give fairshap.Explainer(...), for example "
            "Explainer(method='exact').",
            parameter="explainer",
        )
    return explainer


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation:
    """One fitted model explained on one table.

    Each row has a discriminative risk, a reference, and the Shapley values of its risk against that
    reference: ``values.sum(axis=1)`` is ``risk - reference_risk``. In the gap game they are the Shapley
    values of the gap between its score and the reference's, and their sum is ``gap``. Repairs, reports and
    tuning work from it; it holds the table and the model.

    Attributes
    ----------
    values, standard_errors : ndarray, shape (rows, features)
        The Shapley values, NaN for rows without a reference, and their errors, 0 where a value is exact.
    status : ndarray of str, shape (rows,)
        "exact", "estimated", or "unmatched" for rows without a reference.
    game : {"risk", "gap"}
        What is attributed; see :class:`Explainer`.
    risk, reference_risk : ndarray, shape (rows,)
        The discriminative risk of each row, and of its reference seen from the row's own group; NaN for rows
        without a reference. In the gap game the size of the row's gap, and 0.
    gap : ndarray, shape (rows,)
        In the gap game, the score of the privileged person of each row's pair minus that of the unprivileged
        one; the mean over several references.
    output, reference_output : ndarray, shape (rows,)
        What the model gives for each row and its reference: the risks, or the scores in the gap game.
    match_plan : MatchPlan
        The references of each row.
    route : str
        How the values were found: "trees" if the model's trees were walked, "weights" if it is linear,
        "parts" if it is made of such models, or "model calls" with the reason.

    See Also
    --------
    explain : Computes it.
    select_edits : Chooses edits from it.

    Examples
    --------
    >>> import numpy as np
    >>> from fairshap import FairSHAP, datasets
    >>> d = datasets.make_biased(200, random_state=0)
    >>> fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0).fit(d.X, d.y)
    >>> explanation = fs.explanation_
    >>> explanation.values.shape
    (200, 5)
    >>> bool(np.allclose(explanation.values.sum(axis=1), explanation.risk - explanation.reference_risk))
    True
    """

    risk_function: Risk
    match_plan: MatchPlan
    features: Players
    values: Floats
    errors: Floats | None
    status: NDArray[np.str_]
    output: Floats
    reference_output: Floats
    route: str
    options: Options

    @property
    def game(self) -> GameName:
        """What is attributed: the "risk" of a row, or the "gap" to its reference."""
        return self.options.game

    @property
    def risk(self) -> Floats:
        """The discriminative risk of each row; in the gap game the size of its gap."""
        return self.output if self.game == "risk" else np.abs(self.gap)

    @property
    def reference_risk(self) -> Floats:
        """The risk of each row's reference; in the gap game 0, since nobody has a gap to oneself."""
        return self.reference_output if self.game == "risk" else 0.0 * self.reference_output

    @property
    def gap(self) -> Floats:
        """The score gap of each pair in favor of its privileged person."""
        if self.game == "risk":
            raise InputError(
                "the risk was explained, not the gap between scores; use Explainer(game='gap').",
                parameter="game",
            )
        return self.problem.gap_sign * (self.output - self.reference_output)

    @property
    def problem(self) -> Problem:
        """The table with its groups and target."""
        return self.risk_function.problem

    @property
    def model(self) -> Any:
        """The model that is explained."""
        return self.risk_function.scorer.model

    @property
    def feature_names(self) -> tuple[Hashable, ...]:
        """The names of the features, in the order of the columns of ``values``."""
        return self.features.names

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each value: 0 where it is exact, NaN where there is no value."""
        return np.where(np.isnan(self.values), np.nan, 0.0) if self.errors is None else self.errors

    @property
    def unit(self) -> float:
        """The unit of differences of the output: 1 for probabilities, the spread of a regressor's output."""
        return self.risk_function.unit

    @property
    def best(self) -> Ints:
        """The row that each row's new values come from, -1 where there is none."""
        return self.match_plan.best[: len(self)]

    @property
    def mean_risk(self) -> float:
        """The mean risk of the rows that have a reference, as in ``risk``; NaN if none has."""
        known = self.risk[~np.isnan(self.risk)]
        return float(known.mean()) if len(known) else float("nan")

    @property
    def mean_difference(self) -> float:
        """The mean size of what a row's Shapley values add up to; 0 if no row has a reference.

        It is how far the risk of a row is from that of its reference, in the gap game the size of the gap.
        """
        known = np.abs(self.risk - self.reference_risk)[~np.isnan(self.risk)]
        return float(known.mean()) if len(known) else 0.0

    @property
    def default_threshold(self) -> float:
        """The paper's threshold in units of the model's output."""
        return default_threshold(self.problem.target)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{n} {name}" for name, n in self._kinds())
        way = self.route.partition(":")[0]
        return f"Explanation({len(self)} rows x {len(self.feature_names)} features: {kinds}, by {way})"

    def _repr_html_(self) -> str:
        facts: dict[str, Any] = {"rows": len(self), "features": len(self.feature_names)}
        facts |= dict(self._kinds())
        label = "mean risk" if self.game == "risk" else "mean size of the gap"
        facts |= {"by": self.route, label: self.mean_risk, "rows by it": histogram(self.risk)}
        sizes = self.mean_sizes()
        order = np.argsort(-sizes, kind="stable")
        largest = np.nanmax(self.values, axis=0, initial=-np.inf)[order]
        by_feature: dict[str, Any] = {
            "feature": [str(self.feature_names[k]) for k in order],
            "mean |\u03c6|": sizes[order],
            "": bars(sizes[order]),
            "largest \u03c6": np.where(np.isfinite(largest), largest, np.nan),
        }
        return panel("Explanation", facts, table(by_feature))

    def _kinds(self) -> list[tuple[str, int]]:
        """Return how many rows are exact, estimated and unmatched."""
        names, counts = np.unique(self.status, return_counts=True)
        return list(zip(names.tolist(), counts.tolist(), strict=True))

    def frame(self) -> Native:
        """Return one line per row: its status, its risks, and the Shapley value of each feature.

        In the gap game it has the gap, the score and the reference's score in place of the risks.
        """
        data: dict[str, Any] = {"row": np.arange(len(self)), "status": self.status.tolist()}
        if self.game == "risk":
            data |= {"risk": self.risk, "reference_risk": self.reference_risk}
        else:
            data |= {"gap": self.gap, "score": self.output, "reference_score": self.reference_output}
        for k, feature in enumerate(self.feature_names):
            # Names that read alike, such as 1 and "1", are told apart.
            name = f"phi_{feature}"
            data[name if name not in data else f"phi_{feature!r}"] = self.values[:, k]
        return make_frame(self.problem.table.store.library, data)

    def plot(self, ax: Any = None, *, max_display: int = 12, threshold: float = np.inf) -> Any:
        """Draw the Shapley values of the heaviest features as swarms, split by group; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on new ones.
        max_display, threshold : int, float, optional
            The largest number of features, and where to draw a dashed line.
        """
        from fairshap._plotting import draw_columns

        size = self.mean_sizes()
        order = [int(k) for k in np.argsort(-size, kind="stable")[:max_display] if size[k] > 0]
        names = [str(self.feature_names[k]) for k in order]
        side, side_names = self.problem.groups.side, self.problem.side_names
        return draw_columns(names, self.values[:, order], side, side_names, threshold, ax)

    def mean_sizes(self) -> Floats:
        """Return the mean absolute Shapley value of each feature; one that is mere rounding is 0."""
        known = np.abs(self.values[~np.isnan(self.values).any(axis=1)])
        size = known.mean(axis=0) if len(known) else np.zeros(len(self.feature_names))
        return np.where(exceeds(size, 0.0, self.unit), size, 0.0)

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, for shap's own plots.

        It holds the rows that have a reference, in their order. The base value of a row is the risk of its
        reference; in the gap game it is 0, and the values lead from there to the gap. A feature group of
        several columns shows their values together.

        Examples
        --------
        >>> import fairshap, shap
        >>> d = fairshap.datasets.make_biased(200, random_state=0)
        >>> fs = fairshap.FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
        >>> fs.fit(d.X, d.y).explanation_.to_shap().shape
        (200, 5)
        """
        shap = import_extra("shap", "Explanation.to_shap()", "shap")
        rows = np.flatnonzero(self.status != "unmatched")
        data = np.empty((len(rows), len(self.feature_names)), dtype=object)
        store = self.problem.table.store
        for k in range(len(self.feature_names)):
            columns = np.flatnonzero(self.features.of_column == k).tolist()
            first, *others = (store.values(column, rows) for column in columns)
            joined = (" ".join(map(str, cells)) for cells in zip(first, *others, strict=True))
            data[:, k] = list(joined) if others else first
        return shap.Explanation(
            values=self.values[rows],
            base_values=self.reference_risk[rows],
            data=data,
            feature_names=[str(name) for name in self.feature_names],
        )


def default_threshold(target: Target | None) -> float:
    """Return the paper's threshold in units of the output; a regressor's goes by the target's spread."""
    if target is None or target.classes is not None:
        return _THRESHOLD
    return _THRESHOLD * float(np.std(target.values))
