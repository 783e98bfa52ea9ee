"""The result of everything that measures models: all measures of all of them, with intervals."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import t as student

from fairshap._crossval.folds import Folds, Predictions
from fairshap._crossval.measures import LEVEL, MEASURES, Estimate, HeldOut, critical_value, is_compared
from fairshap._display import panel, paragraph, table, with_interval
from fairshap._messages import did_you_mean, listing, quote_name, warn
from fairshap._typing import Floats, Ints
from fairshap.exceptions import InputError, NoiseWarning
from fairshap.metrics import rates, rates_of

_RISK = list(MEASURES).index("dr")

# The rows at a time whose moves are multiplied.
_BLOCK = 16_384

# The certainty with which a risk is called more than noise.
_SURE = 0.95


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measures:
    """All measures of models on the same held-out rows.

    The intervals of rates, gaps and scores hold for the trained models on other rows of the same kind. That
    of DR comes from the spread between folds, and so reflects training on other parts of the same table; on a
    single set of rows it is that of the rows. None of them covers another table: a link between attribute and
    target by chance is in every fold.

    ``values``, ``low`` and ``high``, shape (models, measures), are the levels of all held-out rows together
    and the ends of their intervals, NaN for what cannot be measured; gaps are signed. ``pairs`` has the two
    groups of each gap, ``counts`` for each group (the last is that of rows without one) what rates are made
    of and the sum of the risks, ``covariance`` that of levels, and ``floor`` the least variance of a change.
    """

    values: Floats
    low: Floats
    high: Floats
    pairs: Ints
    counts: Floats
    covariance: Floats
    floor: Floats
    risk_by_fold: Floats
    names: tuple[str, ...]

    @classmethod
    def of(cls, models: Sequence[Sequence[Predictions]], names: Sequence[str]) -> "Measures":
        """Return the measures of models whose folds are the same."""
        rows = HeldOut.of(models, len(names))
        found = [
            [measure.estimate(rows, model) for measure in MEASURES.values()] for model in range(len(models))
        ]
        levels = np.array([[one[:4] for one in line] for line in found])
        values, low, high, floor = np.ascontiguousarray(np.moveaxis(levels, -1, 0))
        risk_by_fold = np.array([[np.nanmean(fold.risk) for fold in model] for model in models])
        spread = _risk_covariance(rows, risk_by_fold, [len(fold.rows) for fold in models[0]])
        covariance = _covariance(found, len(rows.true))
        at = np.arange(len(models)) * len(MEASURES) + _RISK
        covariance[np.ix_(at, at)] = spread
        half = _risk_critical(risk_by_fold.shape[1]) * np.sqrt(np.diag(spread))
        low[:, _RISK] = np.maximum(values[:, _RISK] - half, 0)
        high[:, _RISK] = values[:, _RISK] + half
        codes = np.where(rows.group < 0, len(names), rows.group)
        risks = np.array([np.bincount(codes, risk, len(names) + 1) for risk in rows.risk])
        counts = np.concatenate([rows.counts, risks[..., None]], axis=-1)
        pairs = np.array([[one.pair for one in line] for line in found])
        return cls(values, low, high, pairs, counts, covariance, floor, risk_by_fold, tuple(names))

    @property
    def risk(self) -> float:
        """The discriminative risk of the first model."""
        return float(self.values[0, _RISK])

    @property
    def constant_accuracy(self) -> float:
        """The accuracy of a constant: the more frequent label for every row."""
        n, _, positive, *_ = self.counts[0].sum(axis=0)
        return float(max(positive, n - positive) / n)

    @property
    def by_model(self) -> Floats:
        """The covariance of levels, shape (models, measures, models, measures)."""
        return self.covariance.reshape(2 * self.values.shape)

    def only(self, models: Sequence[int]) -> "Measures":
        """Return the measures of some of the models."""
        covariance = self.by_model[models][:, :, models].reshape([len(MEASURES) * len(models)] * 2)
        kept = ("values", "low", "high", "pairs", "counts", "floor", "risk_by_fold")
        return replace(self, covariance=covariance, **{name: getattr(self, name)[models] for name in kept})

    def changes(self) -> tuple[Floats, Floats, Floats]:
        """Return the difference of each model from the first, and the ends of its 95 % interval."""
        k = np.arange(self.values.shape[1])
        own = self.by_model[:, k, :, k]  # measures, models, models
        errors = [errors_from(0, block, floor) for block, floor in zip(own, self.floor.T, strict=True)]
        critical = np.where(k == _RISK, _risk_critical(self.risk_by_fold.shape[1]), critical_value())
        change, half = self.values - self.values[:1], critical * np.column_stack(errors)
        half[0] = 0
        return change, change - half, change + half

    def pair(self, model: int, measure: str) -> tuple[str, str] | None:
        """Return the groups with the highest and the lowest rate; None for what is no gap, or not known."""
        high, low = self.pairs[model, list(MEASURES).index(measure)].tolist()
        return None if high < 0 else (self.names[high], self.names[low])

    def reversed(self, model: int) -> list[str]:
        """Return the gaps whose two groups have changed places since the first model."""
        pairs = ((name, self.pair(0, name), self.pair(model, name)) for name in MEASURES)
        return [name for name, one, other in pairs if one and other and other == one[::-1]]

    def groups(self, model: int) -> pd.DataFrame:
        """Return the rates of each group, the most frequent first; ``few`` are too small to be compared."""
        return groups_frame(self.counts[model], self.names)


def groups_frame(counts: Floats, names: Sequence[str]) -> pd.DataFrame:
    """Return the rates of groups, given what rates are made of and the sum of the risks of each."""
    n = counts[:, 0]
    data: dict[str, Any] = {"group": [*names, "missing"], "rows": n.round().astype(np.int64)}
    data |= rates_of(counts[:, :4])
    data |= {"dr": rates(counts[:, 4], n), "few": [*~is_compared(n[:-1]), False]}
    order = np.argsort(-n, kind="stable")
    frame: pd.DataFrame = pd.DataFrame(data).iloc[order[n[order] > 0]].reset_index(drop=True)
    return frame


def _covariance(found: Sequence[Sequence[Estimate]], n_rows: int) -> Floats:
    """Return the covariance of all levels: the sum over rows of the products of their moves."""
    estimates = enumerate(one for line in found for one in line)
    moves = [(k, one.moves) for k, one in estimates if one.moves is not None]
    total = np.zeros((len(found) * len(MEASURES),) * 2)
    at = [k for k, _ in moves]
    for start in range(0, n_rows, _BLOCK):
        block = np.column_stack([move(slice(start, start + _BLOCK)) for _, move in moves])
        total[np.ix_(at, at)] += block.T @ block
    return total


def _risk_covariance(rows: HeldOut, by_fold: Floats, sizes: Sequence[int]) -> Floats:
    """Return the covariance of the mean risks of models: between folds, or with one fold between its rows.

    The models of different folds share most of their training rows, so the variance of a mean is more than
    that between folds over their number (Nadeau and Bengio, Machine Learning 52, 2003).
    """
    n_folds = by_fold.shape[1]
    if n_folds == 1:
        known = ~np.isnan(rows.risk[0])
        moves = rows.risk[:, known] - rows.risk[:, known].mean(axis=1, keepdims=True)
        return np.asarray(moves @ moves.T / max(1, known.sum()) ** 2)
    held_out = float(np.mean(sizes))
    factor = 1 / n_folds + held_out / max(1.0, len(rows.true) - held_out)
    moves = by_fold - by_fold.mean(axis=1, keepdims=True)
    return np.asarray(moves @ moves.T / (n_folds - 1) * factor)


def errors_from(one: int, covariance: Floats, floor: Floats) -> Floats:
    """Return standard errors of the differences from one of several levels.

    By the floors, few rows that differ do not pass for certainty.
    """
    variance = np.diag(covariance) + covariance[one, one] - 2 * covariance[one]
    return np.asarray(np.sqrt(np.maximum(variance, 0) + np.maximum(floor, floor[one])))


def _risk_critical(n_folds: int) -> float:
    """Return the half width of the interval of a mean risk in standard errors."""
    return float(student.ppf((1 + LEVEL) / 2, n_folds - 1)) if n_folds > 1 else critical_value()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """Models side by side on rows that they were not trained on.

    Attributes
    ----------
    names : tuple
        What was measured: methods, candidates of a search, or budgets.
    measures : Measures
        All measures of each, on all held-out rows together.
    edits, share : ndarray, shape (models,)
        The mean number of edited cells in a fold, and their share of its cells.
    raw_dr : ndarray, shape (models,)
        The mean risk when the attribute is switched in the rows as they were recorded. It differs from DR
        only for methods that transform the rows to predict.
    noise : ndarray of float, or None
        The mean risk of each fold under a model that was trained with the attribute shuffled; None for a
        model that was not trained here.
    folds : Folds or None
        The training and test rows; None if there were no folds.
    how : str
        Which rows were held out, in a sentence.
    by : {"method", "name", "budget"}
        What the names are: the first column of every frame.
    rows : HeldOut or None
        Of methods, what each does on every held-out row, which evidence is made from.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets, evaluate
    >>> d = datasets.make_biased(300, random_state=0)
    >>> result = evaluate(d.X, d.y, LogisticRegression(), sensitive=d.sensitive, privileged=d.privileged,
    ...                   methods=["baseline", "rsa"], n_folds=3, random_state=0)
    >>> result
    Evaluation('baseline', 'rsa': 3 folds)
    >>> result.frame()["method"].tolist()
    ['baseline', 'rsa']
    >>> float(result.frame()["dr"].round(2)[1])
    0.0
    """

    names: tuple[Any, ...]
    measures: Measures
    edits: Floats
    share: Floats
    raw_dr: Floats
    noise: Floats | None = None
    folds: Folds | None = None
    how: str = ""
    by: Literal["method", "name", "budget"] = "method"
    rows: HeldOut | None = None

    def __repr__(self) -> str:
        return f"Evaluation({listing(self.names)}{f': {self.folds}' if self.folds else ''})"

    def _repr_html_(self) -> str:
        facts = {} if self.noise_level is None else {"DR of a shuffled attribute": self.noise_level}
        columns: dict[str, Any] = {self.by: [str(name) for name in self.names]}
        if self.edits.any():
            columns["edits"] = self.edits
        for label, (values, low, high) in self._levels().items():
            known = np.concatenate([values, low, high])
            known = known[np.isfinite(known)]
            span = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
            columns[label] = [with_interval(*one, span) for one in zip(values, low, high, strict=True)]
        return panel("Evaluation", facts, table(columns), paragraph(self.how))

    @classmethod
    def of(
        cls,
        names: Sequence[Any],
        models: Sequence[Sequence[Predictions]],
        groups: Sequence[str],
        how: str,
        **known: Any,
    ) -> "Evaluation":
        """Return the evaluation of models by what they do in each fold, or on one set of rows."""
        risks = [[one.risk if one.raw_risk is None else one.raw_risk for one in model] for model in models]
        raw_dr = np.array([np.nanmean(np.concatenate(one)) for one in risks])
        nothing = np.zeros(len(names))
        known = {"edits": nothing, "share": nothing, **known}
        if known.get("by", "method") == "method":
            known["rows"] = HeldOut.of(models, len(groups))
        return cls(tuple(names), Measures.of(models, groups), raw_dr=raw_dr, how=how, **known)

    def only(self, names: Sequence[Any]) -> "Evaluation":
        """Return the evaluation of some of the models."""
        at = [self.names.index(name) for name in names]
        kept = {name: getattr(self, name)[at] for name in ("edits", "share", "raw_dr")}
        return replace(self, names=tuple(names), measures=self.measures.only(at), **kept)

    @property
    def constant(self) -> str:
        """What a constant prediction does on the same rows, in a sentence: the least that models must do."""
        return (
            "A constant prediction, the more frequent label for every row, has an accuracy of "
            f"{self.measures.constant_accuracy:.3f}, a balanced accuracy of 0.5, and neither gaps nor risk."
        )

    @property
    def noise_level(self) -> float | None:
        """The DR of a model of the same kind whose attribute is shuffled; None if it was not measured."""
        return None if self.noise is None else float(self.noise.mean())

    @property
    def is_noise(self) -> bool:
        """Whether the DR of the first model is indistinguishable from that level.

        If the attribute were noise, the mean risk would be one more such value, or vary less, because folds
        share most of their training rows. So it is compared with the upper end of a prediction interval from
        the shuffles. A risk of 0 is not noise.
        """
        risk = self.measures.risk_by_fold[0]
        if self.noise is None or not risk.any():
            return False
        n = len(self.noise)
        margin = student.ppf(_SURE, n - 1) * self.noise.std(ddof=1) * np.sqrt(1 + 1 / n)
        return bool(risk.mean() <= self.noise.mean() + margin)

    def warn_if_noise(self, attribute: Any) -> None:
        """Warn if the first model's risk is indistinguishable from noise."""
        if self.is_noise:
            warn(
                f"The discriminative risk of {self.measures.risk:.3g} is indistinguishable from noise: "
                f"with {quote_name(attribute)} shuffled among the rows, a model of the same kind has "
                f"{self.noise_level:.3g}. Edits against such a risk may only follow chance. More repeats "
                "give a clearer answer.",
                NoiseWarning,
                parameter="n_repeats",
            )

    def frame(self) -> pd.DataFrame:
        """Return one line for each model: every measure with the ends of its 95 % interval, _low and _high.

        Gaps are differences between the group with the highest and the group with the lowest rate; if the
        interval reaches below 0, these two groups cannot be told apart. ``dr_noise`` is the noise level.
        ``flips`` is the share of decisions that change when only the attribute does.
        """
        found = self._frame(self.measures.values, self.measures.low, self.measures.high)
        noise = float("nan") if self.noise_level is None else self.noise_level
        return found.assign(raw_dr=self.raw_dr, dr_noise=noise)

    def differences(self) -> pd.DataFrame:
        """Return the difference of each model from the first, with 95 % intervals.

        All are measured on the same rows, so an interval without 0 says that two models differ. Gaps are
        compared by their size; ``reversed`` names those that now favor the group that was behind.
        """
        turned = [", ".join(self.measures.reversed(model)) for model in range(len(self.names))]
        return self._frame(*self.measures.changes()).assign(reversed=turned)

    def groups(self, name: Any = None) -> pd.DataFrame:
        """Return the rates of each group under a model, by default the first; the gaps follow from them."""
        name = self.names[0] if name is None else name
        if name not in self.names:
            hint = did_you_mean(name, self.names)
            raise InputError(f"{name!r} was not evaluated; there are {listing(self.names)}.{hint}")
        return self.measures.groups(self.names.index(name))

    def plot(self, axes: Any = None) -> Any:
        """Draw the main measures with their 95 % intervals; return the axes, one for each measure.

        Methods stand below each other; budgets are drawn as curves against the number of edited cells. By
        default the axes are new ones.
        """
        from fairshap._plotting import draw_curves, draw_levels

        if self.by == "budget":
            return draw_curves(self.edits, self._levels(), axes)
        return draw_levels(self.names, self._levels(), axes)

    def _levels(self) -> dict[str, tuple[Floats, ...]]:
        """Return the levels of the main measures and the ends of their intervals, by what they are called."""
        parts = (self.measures.values, self.measures.low, self.measures.high)
        return {
            one.label: tuple(part[:, k] for part in parts)
            for k, one in enumerate(MEASURES.values())
            if one.is_main
        }

    def _frame(self, values: Floats, low: Floats, high: Floats) -> pd.DataFrame:
        data: dict[Hashable, Any] = {self.by: list(self.names)}
        for k, name in enumerate(MEASURES):
            data[name] = values[:, k]
            data[f"{name}_low"], data[f"{name}_high"] = low[:, k], high[:, k]
        return pd.DataFrame(data | {"edits": self.edits, "share": self.share})
