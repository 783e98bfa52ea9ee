"""A repair that is fitted once and applied to batches; a row's result does not depend on its batch."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from joblib import effective_n_jobs

from fairshap._crossval.folds import cut_of, tells_decisions, when_switched
from fairshap._frames import Players, Table, is_missing, open_store
from fairshap._messages import did_you_mean, listing
from fairshap._models import Risk, Scorer
from fairshap._problem import Problem, Whole, warn_of_copies
from fairshap._typing import Bools, Floats, Ints, Native
from fairshap.attribution._explain import explain_risk
from fairshap.attribution._explanation import Options
from fairshap.edits import EditConstraints, Edits, Selector
from fairshap.edits._ledger import to_text
from fairshap.estimators import FairSHAP
from fairshap.exceptions import ColumnError, InputError
from fairshap.matching import MatchPlan, NearestMatcher
from fairshap.matching._match import join_pairs
from fairshap.scale._references import References
from fairshap.scale._sums import Judged, Sums

# How much of a unit scores may be rounded by.
_NEAR = 1e-6
# The rows that are asked for decisions where scores may tell them.
_ASKED = 1000
#: The column that holds a row's edits until they are taken apart.
EDITS = "__fairshap_edits"
#: An edit: the column, the old and the new value as text with their types, the Shapley value, the reference.
FIELDS = {
    "column": pa.string(),
    "old": pa.string(),
    "new": pa.string(),
    "phi": pa.float64(),
    "reference": pa.int64(),
    "old_type": pa.string(),
    "new_type": pa.string(),
}


class RepairedBatch(NamedTuple):
    """A batch with its edits made, the ledger of these, and what its rows add up to.

    Examples
    --------
    >>> from fairshap import FairSHAP, Repairer, datasets
    >>> d = datasets.make_biased(200, random_state=0)
    >>> repair = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> batch = Repairer.fit(repair, d.X, d.y).repair(d.X[:50], d.y[:50])
    >>> batch.X.shape, batch.sums.n_edits == len(batch.edits)
    ((50, 5), True)
    """

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
            error: optimal transport, :class:`Budget`, :class:`Iterative`, ``plausible``, ``direction``,
            counterfactuals, and a random comparison. A fitted model goes in as
            ``sklearn.frozen.FrozenEstimator(model)``.
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
        # Not at the top: it makes one of these.
        from fairshap.scale._fitting import make_repairer, read_problem

        if not issubclass(given := type(repair), FairSHAP):
            raise InputError(
                f"a repairer is made of a FairSHAP, not of {given.__name__}.", parameter="repair"
            )
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
        """Return what an explained batch adds up to, as it is and as it is repaired."""
        problem, risk = explanation.problem, explanation.risk.copy()
        unknown = np.flatnonzero(np.isnan(risk))
        if problem.groups.by_row:
            unknown = unknown[problem.groups.side[unknown] >= 0]
        if len(unknown):
            risk[unknown] = explanation.risk_function.of_rows(unknown)
        none = np.zeros(len(risk), dtype=np.bool_)
        before, true = Judged(risk, none, none), none
        has_labels = self.whole.target.positive is not None
        if has_labels:
            true = np.asarray(problem.y.values == self.whole.target.positive_value)
            before = self._judge(explanation, risk)
        after = Judged(before.risk.copy(), before.predicted.copy(), before.flips.copy())
        if len(edits):
            # An edited cell is that of the reference; all other rows stay as they were judged.
            rows, at = np.unique(edits.row, return_inverse=True)
            sources = [rows.copy() for _ in problem.table.names]
            for name in set(edits.column):
                chosen = at[[column == name for column in edits.column]]
                sources[problem.table.position(name)][chosen] = explanation.best[rows[chosen]]
            if has_labels:
                predicted, _, tells = self._ask(explanation, sources)
                moved, flips = when_switched(explanation.risk_function, rows, tells=tells, sources=sources)
                found = Judged(moved, predicted, flips > 0)
            else:
                found = Judged(explanation.risk_function.of_mixes(sources, rows), none[rows], none[rows])
            for part, changed in zip(after, found, strict=True):
                part[rows] = changed
        return Sums.of(explanation, edits, true, before, after)

    def _judge(self, explanation: Any, risk: Floats) -> Judged:
        """Return what the model does on the rows of a batch, whose risk is known."""
        rows, groups = np.arange(len(risk)), explanation.problem.groups
        predicted, score, tells = self._ask(explanation, [rows] * len(explanation.problem.table.names))
        if tells and not groups.is_mean:
            # The scores for two values are at most the risk apart, so that only rows near the cut can flip.
            reach = (1 if len(groups.contrasts) == 1 else 2) * risk + _NEAR * self.unit
            rows = np.flatnonzero((np.abs(score - cut_of(self.scorer)) <= reach) | (groups.code < 0))
        flips = np.zeros(len(risk), dtype=np.bool_)
        if len(rows):
            flips[rows] = when_switched(explanation.risk_function, rows, tells=tells)[1] > 0
        return Judged(risk, predicted, flips)

    def _ask(self, explanation: Any, sources: list[Ints]) -> tuple[Bools, Floats, bool]:
        """Return which rows are predicted positive, their scores, and whether these tell the former.

        Column j of the rows has the cells of the rows ``sources[j]``.
        """
        target, risk, n = self.whole.target, explanation.risk_function, len(sources[0])
        is_first = target.positive == 0
        parts = np.split(np.arange(n), range(risk.call_rows, n, risk.call_rows))
        score = np.concatenate([risk.score([source[at] for source in sources]) for at in parts])
        if score.ndim == 1:
            # Thresholds of the model's own show in the rows that are nearest to the cut, if anywhere.
            distance = np.abs(score - cut_of(self.scorer))
            few = np.argpartition(distance, _ASKED)[:_ASKED] if n > _ASKED else np.arange(n)
            few = np.union1d(few, np.linspace(0, n - 1, min(n, _ASKED)).astype(np.int64))
            predicted = self._predict(explanation, [source[few] for source in sources])
            if tells_decisions(self.scorer, score[few], predicted, is_first=is_first):
                return np.asarray((score > cut_of(self.scorer)) != is_first), score, True
        return self._predict(explanation, sources), score, False

    def _predict(self, explanation: Any, sources: list[Ints]) -> Bools:
        labels = self.model.predict(explanation.problem.table.store.mix(sources))
        return np.asarray(np.asarray(labels) == self.whole.target.positive_value)

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


def with_edits(batch: Any, repairer: Repairer) -> Any:
    """Return a repaired batch, a frame or an Arrow table, with the edits of each row as a last column."""
    rows: list[list[dict[str, Any]]] = [[] for _ in range(len(batch))]
    X = batch
    if len(batch):
        X, edits, _ = repairer.repair(batch, n_jobs=1)
        for k, row in enumerate(edits.row.tolist()):
            (old_type, old), (new_type, new) = to_text(edits.old[k]), to_text(edits.new[k])
            values = str(edits.column[k]), old, new, float(edits.phi[k]), int(edits.reference[k])
            rows[row].append(dict(zip(FIELDS, (*values, old_type, new_type), strict=True)))
    if isinstance(batch, pd.DataFrame):
        cells = np.empty(len(batch), dtype=object)
        cells[:] = rows
        return X.assign(**{EDITS: cells})
    kind = pa.list_(pa.struct(list(FIELDS.items())))
    return X.append_column(EDITS, pa.array(rows, type=kind))


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
