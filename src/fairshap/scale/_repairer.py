"""A repair that is fitted once and applied to batches; a row's result does not depend on its batch."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from fairshap._frames import Players, Table, is_missing, open_store
from fairshap._kernels.hashing import mix64
from fairshap._messages import check_count, did_you_mean, listing
from fairshap._models import Risk, Scorer
from fairshap._problem import Problem, warn_of_copies
from fairshap._problem.parts import Whole
from fairshap._typing import Bools, Floats, Hashes, Ints, Native
from fairshap.attribution._calls import Game
from fairshap.attribution._explain import explain_risk, is_small
from fairshap.attribution._explanation import Options, default_threshold, make_explainer
from fairshap.edits import Budget, EditConstraints, Edits, OptimalSubset, Selector, Threshold
from fairshap.edits._selectors import make_constraints, make_selector
from fairshap.estimators import FairSHAP
from fairshap.exceptions import ColumnError, InputError
from fairshap.matching import MatchPlan, NearestMatcher
from fairshap.matching._match import join_pairs, make_matcher, match_rows, read_column_weights
from fairshap.matching._plan import Metric
from fairshap.scale._references import References, choose_references
from fairshap.scale._sums import Sums

#: References of a stratum, a label of one side, by default: matching 100,000 rows then takes about a second.
MAX_REFERENCES = 20_000
# Rows up to which a table may be small enough to be explained by calling the model.
_MAY_BE_SMALL = 23_000
# Rows whose references are compared with the nearest of all rows.
_COMPARED = 1000


class RepairedBatch(NamedTuple):
    """A batch with its edits made, the ledger of these, and what its rows add up to."""

    X: Native
    edits: Edits
    sums: Sums


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repairer:
    """A repair that is fitted once and applied to batches of rows.

    It holds the model, the rows that others are matched with, and everything else that a repair takes from a
    whole table: scales, groups, labels and thresholds. The result of a row does not depend on the batch that
    it comes in: with all rows as references, the batches of a table are repaired as ``FairSHAP.fit_resample``
    repairs the table, byte for byte if fairshap walks the model's trees. (Other models round the last digits
    of Shapley values by how many rows they are given.) It can be pickled and sent to other processes and
    machines, and :meth:`repair` may run in many at a time.

    **It holds people's data**: its references are rows of the table, with the sensitive column.

    Attributes
    ----------
    model : classifier or regressor
        The fitted model that is explained.
    n_rows : int
        The number of rows of the table that it was fitted on.
    references : References
        The rows that others are matched with, without the target.
    diagnostics : dict
        By stratum, a label of one side: ``rows`` in the table and ``references`` used. If these are fewer,
        the ``distance_ratio``: the mean distance to the nearest reference over that to the nearest of
        ``candidates`` rows, for ``compared`` rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap import FairSHAP, Repairer, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> repair = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = Repairer.fit(repair, d.X, d.y)
    >>> first = repairer.repair(d.X[:150], d.y[:150])
    >>> second = repairer.repair(d.X[150:], d.y[150:], first_row=150)
    >>> pd.concat([first.X, second.X]).equals(repair.fit_resample(d.X, d.y)[0])
    True
    >>> first.sums + second.sums == repairer.repair(d.X, d.y).sums
    True
    """

    scorer: Scorer
    #: A frame without rows: the columns and their types as the model knows them.
    template: pd.DataFrame
    #: The positions of the columns of numbers.
    numeric: Ints
    whole: Whole
    references: References
    #: A row for each value that the attribute is set to.
    donors: pd.DataFrame
    matcher: NearestMatcher
    players: Players
    selector: Selector
    constraints: EditConstraints
    options: Options
    unit: float
    n_rows: int
    target: Any
    diagnostics: dict[str, Any]

    @classmethod
    def fit(
        cls,
        repair: FairSHAP,
        X: Native,
        y: Any = None,
        *,
        target: Any = None,
        positive: Any = None,
        sample_weight: Any = None,
        max_references: int | None = None,
    ) -> "Repairer":
        """Return the repairer of a table.

        Parameters
        ----------
        repair : FairSHAP
            How the table is repaired. What looks at all rows at once cannot be done in batches and is an
            error: optimal transport, :class:`Budget`, :class:`Iterative`, ``plausible``, counterfactuals, and
            a random comparison. A fitted model goes in as ``sklearn.frozen.FrozenEstimator(model)``.
        X : pandas frame or pyarrow table
            The rows that the model is fitted on and that references are taken from.
        y : array-like, optional
            The target of each row; without it, ``target`` names its column.
        target : column name, optional
            The target's column in X, if y is not given, and in batches.
        positive : label, optional
            The positive label, for the figures in the sums; by default the larger of two.
        sample_weight : array-like, optional
            Weights for the fit of the explained model.
        max_references : int, optional
            The most references of a stratum, that is of one label on one side. A stratum with more rows is
            sampled so that rare categories and the ends of numbers keep rows; ``diagnostics`` then says how
            much farther the references are. By default all rows are references, and matching is exact.
        """
        frame = X.to_pandas(ignore_metadata=True) if isinstance(X, pa.Table) else X
        if not isinstance(frame, pd.DataFrame):
            kind = type(X).__name__
            raise InputError(f"a repairer takes pandas frames and pyarrow tables, not {kind}.", parameter="X")
        if y is None:
            y, frame = frame[_named(frame, target)], frame.drop(columns=target)
        problem = read_problem(repair, frame, y, positive, sample_weight)
        warn_of_copies(problem)
        numbers = np.arange(problem.own.n_rows)
        return make_repairer(repair, problem, numbers, target=target, max_references=max_references)

    def __repr__(self) -> str:
        model = type(self.model).__name__
        return f"Repairer({model} of {self.n_rows} rows, {len(self.references)} references)"

    @property
    def model(self) -> Any:
        """The fitted model that is explained."""
        return self.scorer.model

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns that a batch must have, beside its target; others are passed through."""
        return tuple(self.template.columns)

    def repair(
        self, batch: Native, y: Any = None, *, first_row: int = 0, n_jobs: int | None = None
    ) -> RepairedBatch:
        """Return a batch repaired, its ledger and its sums.

        Parameters
        ----------
        batch : pandas frame, or pyarrow table or record batch
            Rows of the fitted table, or new ones. It comes back in its own type, with the same rows, columns
            and types; columns that the repairer does not know stay as they are.
        y : array-like, optional
            The target of each row; without it, the column that was named when fitting.
        first_row : int, default=0
            The number of the first row in the whole table, from which the ledger counts on.
        n_jobs : int, optional
            The number of threads, on which the result does not depend; all cores by default.
        """
        if isinstance(batch, pa.RecordBatch):
            batch = pa.Table.from_batches([batch])
        is_arrow = isinstance(batch, pa.Table)
        frame, y = self._read(batch, y)
        if not len(frame):
            raise InputError("the batch has no rows; leave it out.", parameter="batch")
        own = Table.read(frame)
        self._check_kinds(own)
        n, donors = own.n_rows, len(self.donors)
        groups = self.whole.groups_of(own, n + np.arange(donors))
        target = self.whole.target_of(y, n)
        n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        row, reference, weight, distance = self._match(own, groups, target.codes, n_threads)
        used, place = np.unique(reference, return_inverse=True)
        below = pd.concat([self.donors, self.references.take(used, self.template.dtypes)], ignore_index=True)
        table = Table.of(own.store.stack(open_store(below)))
        number = np.concatenate([np.full(n + donors, -1), self.references.number[used]])
        problem = Problem(
            *(own, table, self.whole.columns, groups, self.whole.privileged),
            target=target,
            numbers=number,
        )
        plan = MatchPlan(table.n_rows, row, n + donors + place, weight, distance)
        options = replace(self.options, n_jobs=n_jobs)
        explanation = explain_risk(Risk(self.scorer, problem, self.unit), plan, self.players, options)
        edits = self.selector.select(explanation, self.constraints)
        # What is missing to pandas is null in Arrow, also among whole numbers.
        new = [None if is_missing(value) else value for value in edits.new] if is_arrow else edits.new
        repaired = replace(edits, new=new).apply(batch)
        sums = self._sums(explanation, edits)
        is_numbered = is_arrow or batch.index.equals(pd.RangeIndex(n))
        index = (edits.row + first_row).tolist() if is_numbered else edits.index
        library = open_store(batch).library
        edits = replace(edits, row=edits.row + first_row, index=index, library=library)
        return RepairedBatch(repaired, edits, sums)

    def _match(self, own: Table, groups: Any, labels: Ints, n_threads: int) -> Any:
        """Return the pairs of a batch, by position among the references."""
        each, k = self.matcher.pairing == "each", int(self.matcher.n_neighbors)
        group = groups.group if each else np.minimum(groups.group, 0)
        last = int(self.references.group.max(initial=-1))
        pairs = []
        for label in np.unique(labels).tolist():
            for g in range(last + 1):
                for rows, of in ((group == g, -1), (groups.side == 1, g)):
                    mine = np.flatnonzero(rows & (labels == label))
                    others, nearest, squared = self.references.nearest(own, mine, label, of, k, n_threads)
                    if nearest.shape[1]:
                        pairs.append(self.matcher.weighed(mine, others, nearest, squared))
        return join_pairs(pairs, each=each)

    def _sums(self, explanation: Any, edits: Edits) -> Sums:
        """Return what an explained batch adds up to."""
        problem, risk = explanation.problem, explanation.risk.copy()
        unknown = np.flatnonzero(np.isnan(risk))
        if problem.groups.by_row:
            unknown = unknown[problem.groups.side[unknown] >= 0]
        if len(unknown):
            risk[unknown] = explanation.risk_function.of_rows(unknown)
        positive = self.whole.target.positive_value
        true = predicted = np.zeros(len(risk), dtype=np.bool_)
        if positive is not None:
            true = np.asarray(problem.y.values == positive)
            predicted = np.asarray(np.asarray(self.model.predict(problem.own.native)) == positive)
        return Sums.of(explanation, edits, risk, true, predicted)

    def _read(self, batch: Native, y: Any) -> tuple[pd.DataFrame, Any]:
        """Return the columns of a batch that the model knows, in the types that it knows, and the target."""
        store = open_store(batch)
        names = list(self.template.columns)
        lacking = [name for name in names if name not in store.names]
        if lacking:
            raise ColumnError(
                f"the batch lacks the columns {listing(lacking)}; it has {listing(store.names)}."
                f"{did_you_mean(lacking[0], store.names)}",
                parameter="batch",
            )
        if y is None:
            y = batch[_named(batch, self.target)]
        frame = batch.select(names).to_pandas(ignore_metadata=True) if isinstance(batch, pa.Table) else batch
        if not isinstance(frame, pd.DataFrame):
            kind = type(batch).__name__
            raise InputError(f"a batch is a pandas frame or a pyarrow table, not {kind}.", parameter="batch")
        return conform(frame[names], self.template.dtypes), y

    def _check_kinds(self, table: Table) -> None:
        """Raise an error if a column holds something else than when the repairer was fitted."""
        changed = np.setxor1d(table.numeric_columns, self.numeric)
        if len(changed):
            raise InputError(
                f"column {listing([table.names[j] for j in changed])} holds numbers in the batch or in the "
                "fitted table, but not in both. Give it the same type.",
                parameter="batch",
            )


def read_problem(
    repair: FairSHAP, X: pd.DataFrame, y: Any, positive: Any = None, sample_weight: Any = None
) -> Problem:
    """Return the problem of a table that a repairer is fitted on; what no batch can follow is an error."""
    matcher = make_matcher(repair.matcher)
    selector = make_selector(repair.selector, None if repair.threshold == "auto" else repair.threshold)
    refused = {
        "matcher": not isinstance(matcher, NearestMatcher),
        "selector": selector.max_rounds > 1 or isinstance(selector, Budget),
        "constraints": make_constraints(repair.constraints).plausible,
        "counterfactuals": repair.counterfactuals is not None,
        "explainer": make_explainer(repair.explainer).comparison == "random",
    }
    for name in (name for name, is_refused in refused.items() if is_refused):
        raise InputError(
            f"{name}={getattr(repair, name)!r} looks at all rows at once, which batches cannot. A repairer "
            "takes NearestMatcher, Threshold or OptimalSubset, constraints that are not plausible=True, no "
            "counterfactuals, and the comparisons 'max' and 'mean'.",
            parameter=name,
        )
    return repair._problem(X, y, sample_weight=sample_weight, positive=positive)


def make_repairer(
    repair: FairSHAP,
    problem: Problem,
    number: Ints,
    *,
    target: Any = None,
    max_references: int | None = None,
    is_trained_on: Bools | None = None,
    scale: Floats | None = None,
    holes: Bools | None = None,
    n_rows: int | None = None,
    strata: tuple[Ints, Ints] | None = None,
) -> Repairer:
    """Return the repairer of a table, or of a larger one that the rows of ``problem`` are taken from.

    ``number`` are the numbers of the rows there, ``scale`` and ``holes`` the spread of its columns of numbers
    and which of them have missing ones; the model is fitted on the rows ``is_trained_on``. ``strata`` has a
    number for the stratum of each row, and the sizes that the strata have in the larger table.
    """
    if max_references is not None:
        check_count(max_references, "max_references", ", such as 100000, or None for all rows")
    threshold = repair.threshold
    if isinstance(threshold, str):
        from fairshap._crossval import best_threshold

        threshold = best_threshold(repair, problem)
    explainer, matcher = make_explainer(repair.explainer), make_matcher(repair.matcher)
    selector = _settled(make_selector(repair.selector, threshold), default_threshold(problem.target))
    constraints, players = make_constraints(repair.constraints), explainer.players(problem.own)
    constraints.features(problem.own, players)
    matcher.check()
    seed = check_random_state(repair.random_state).randint(np.iinfo(np.int32).max)
    is_seed = isinstance(repair.random_state, (int, np.integer))
    reach = selector.reach(np.inf)
    reach = reach if reach is not None and np.isfinite(reach) else None
    options = explainer.options(reach, int(repair.random_state) if is_seed else seed)
    model = repair._fitted_model(_part(problem, is_trained_on))
    risk = Risk(Scorer(model), problem)
    is_few = False
    if is_trained_on is None and problem.own.n_rows <= _MAY_BE_SMALL:
        plan = match_rows(problem, matcher, n_jobs=repair.n_jobs)
        is_few = is_small(Game(risk, players, plan.row, plan.reference), options)
    weights = read_column_weights(matcher.column_weights, problem)
    weights[list(problem.columns)] = 0.0
    metric = Metric.of(problem.own, weights, scale)
    if holes is not None:
        metric = replace(metric, holes=holes[metric.columns])
    whole = Whole.of(problem, is_cut=matcher.bins is not None)
    groups = problem.groups
    group = groups.group if matcher.pairing == "each" else np.minimum(groups.group, 0)
    facts = problem.own, number, problem.y.codes, groups.side, group, metric
    rank = ranks(number, seed)
    rows, found = _choose(facts, problem.y.names, max_references, rank, strata)
    references = References.of(facts[0], rows, *facts[1:])
    if len(rows) < sum(one["rows"] for one in found.values()):
        found |= _compare(facts, references, rank, repair.n_jobs)
    # Of a quantity the medians of both sides, of values a row that has each of them.
    at = (
        [int(groups.donors[groups.side == 1 - s][0, 1]) for s in (0, 1)]
        if groups.by_row
        else groups.donors[0]
    )
    frame = problem.own.native
    return Repairer(
        risk.scorer,
        frame.iloc[:0],
        problem.own.numeric_columns,
        whole,
        references,
        frame.iloc[at].reset_index(drop=True),
        matcher,
        players,
        selector,
        constraints,
        replace(options, is_small=is_few),
        risk.unit,
        len(number) if n_rows is None else n_rows,
        target,
        found,
    )


def _choose(
    facts: Any, names: tuple[str, ...], most: int | None, rank: Ints, strata: tuple[Ints, Ints] | None
) -> tuple[Ints, dict[str, Any]]:
    """Return the rows that are references, and by stratum how many there are of how many."""
    table, _, label, side, group, _ = facts
    kept, found = [], {}
    for code, name in enumerate(names):
        for s, word in ((0, "unprivileged"), (1, "privileged")):
            for g in np.unique(group[side == s]).tolist():
                rows = np.flatnonzero((label == code) & (side == s) & (group == g))
                chosen = choose_references(table, rows, len(rows) if most is None else most, rank)
                kept.append(chosen)
                key = f"{word}, {name}" + (f", group {g}" if group.max() > 0 and s == 0 else "")
                of = len(rows) if strata is None else int(strata[1][np.unique(strata[0][rows])].sum())
                found[key] = {"rows": of, "references": len(chosen)}
    return np.sort(np.concatenate(kept)), found


def _compare(facts: Any, references: References, rank: Ints, n_jobs: int | None) -> dict[str, Any]:
    """Return how much farther references are than the nearest of all rows that could be."""
    table, _, label, side, group, _ = facts
    everyone = References.of(table, np.flatnonzero(side >= 0), *facts[1:])
    n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    some = np.argsort(rank, kind="stable")
    some = np.sort(some[side[some] >= 0][:_COMPARED])
    sums = np.zeros(2)
    for code in np.unique(label[some]).tolist():
        for s in (0, 1):
            rows = some[(label[some] == code) & (side[some] == s)]
            for of in [-1] if s == 0 else np.unique(group[side == 0]).tolist():
                for k, among in enumerate((references, everyone)):
                    squared = among.nearest(table, rows, code, of, 1, n_threads)[2]
                    sums[k] += np.sqrt(squared).sum()
    ratio = float(sums[0] / sums[1]) if sums[1] > 0 else 1.0
    return {"distance_ratio": ratio, "compared": len(some), "candidates": len(everyone)}


def ranks(number: Ints, seed: int) -> Ints:
    """Return a fixed random number of each row, which goes by its number and the seed alone."""
    keys: Hashes = number.astype(np.uint64) ^ mix64(np.array([seed], dtype=np.uint64))
    return (mix64(keys) >> np.uint64(1)).astype(np.int64)


def _settled(selector: Selector, threshold: float) -> Selector:
    """Return a selector whose threshold does not depend on the rows that it is shown."""
    if isinstance(selector, Threshold):
        return Threshold(selector.reach(threshold))
    if isinstance(selector, OptimalSubset):
        return OptimalSubset(threshold if selector.cost is None else selector.cost)
    return selector


def _part(problem: Problem, chosen: Bools | None) -> Problem:
    """Return the problem of some rows, as far as fitting a model needs it."""
    if chosen is None:
        return problem
    rows, target = np.flatnonzero(chosen), problem.y
    own = Table.read(problem.own.native.iloc[rows].reset_index(drop=True))
    weight = None if problem.sample_weight is None else problem.sample_weight[rows]
    fitted = replace(target, codes=target.codes[rows], values=target.values[rows])
    return replace(problem, own=own, table=own, target=fitted, sample_weight=weight)


def conform(frame: pd.DataFrame, dtypes: "pd.Series[Any]") -> pd.DataFrame:
    """Return a frame with the types of another one, as far as its cells allow."""
    changed = {}
    for name, dtype in dtypes.items():
        now = frame[name].dtype
        if now == dtype:
            continue
        cells = frame[name]
        if isinstance(dtype, pd.CategoricalDtype):
            unknown = cells[cells.notna() & ~cells.isin(dtype.categories)]
            if len(unknown):
                raise InputError(
                    f"column {name!r} holds {listing(unknown.unique())}, which the fitted table's categories "
                    "lack. Fit the repairer with rows that have them.",
                    parameter="batch",
                )
        # Whole numbers that are missing here and there are not whole numbers to pandas.
        if not (dtype.kind in "iu" and now.kind == "f"):
            changed[name] = dtype
    try:
        return frame.astype(changed)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"a column of the batch has another type than in the fitted table: {error}", parameter="batch"
        ) from error


def _named(batch: Native, target: Any) -> Any:
    """Return the name of the target's column; an error if there is none."""
    if target is None:
        raise InputError("y is not given; give it, or name the target's column in fit.", parameter="y")
    return open_store(batch).names[open_store(batch).position(target, "target")]
