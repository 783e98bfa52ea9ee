"""The best rule without the attribute at given prices of the gaps between groups, and the search for prices.

A rule f(x) in {0, 1} that must not use the group s can only know the joint posterior P(s, y | x). Accuracy
minus a price for each gap is then linear in f, so the best rule predicts 1 where its margin

    w11 P(1, 1 | x) + w01 P(0, 1 | x) - w10 P(1, 0 | x) - w00 P(0, 0 | x)

is positive, with a weight w for each group and label (in this order). Training with these weights and the
rule itself are two ways to the same decisions. For out-of-fold posteriors any prices can be tried without a
fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from fairshap._crossval.measures import is_compared
from fairshap._messages import check_number, is_number, listing
from fairshap._typing import Bools, Floats, Ints, Sides
from fairshap.exceptions import InputError
from fairshap.metrics import rates

#: The gaps that can be made small.
Minimize: TypeAlias = Literal["demographic_parity", "equal_opportunity", "equalized_odds"]
#: The gaps that have a price: in the positive rate, the true and the false positive rate.
PRICED = ("demographic_parity", "equal_opportunity", "predictive_equality")

# The two prices that are searched; the third is 0.
_PLANE = {"demographic_parity": (0, 1), "equal_opportunity": (0, 1), "equalized_odds": (1, 2)}
# The largest strength that is tried, the steps of the first grid on either side of 0, and of those around
# the best point.
_MOST, _STEPS, _FINER = 2.0, 20, 5
# The rules that are tried at a time, and by how much numbers differ that are equal but for rounding.
_BATCH, _ROUNDING = 64, 1e-12
# The weights of strength 0.
_NEUTRAL = np.full((2, 2), 0.5)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much accuracy and ROC AUC may fall against strength 0, and other gaps rise, in standard errors."""

    accuracy: float
    auc: float
    margin: float = 0.5


def read_strengths(strengths: Any) -> Floats | None:
    """Return given strengths as three numbers, None if they are to be searched."""
    if strengths is None:
        return None
    if not isinstance(strengths, Mapping) or not set(strengths) <= set(PRICED):
        raise InputError(
            f"strengths={strengths!r} must map some of {listing(PRICED)} to numbers, or be None.",
            parameter="strengths",
        )
    for name, value in strengths.items():
        what = f"a number; give for example {{{name!r}: 0.3}}."
        check_number(value, "strengths", what, low=-np.inf)
    return np.array([float(strengths.get(name, 0.0)) for name in PRICED])


def check_drop(drop: Any, name: str) -> float:
    """Return a limit as a number, infinite for None."""
    if drop is None:
        return np.inf
    if not is_number(drop) or not drop >= 0:
        raise InputError(f"{name}={drop!r} must be a number from 0 on, or None for no limit.", parameter=name)
    return float(drop)


def shares_of(side: Sides, positive: Bools, weight: Floats) -> Floats:
    """Return the shares of the rows, or of their weight, by side and label, shape (2, 2)."""
    known = side >= 0
    sums = np.zeros((2, 2))
    np.add.at(sums, (side[known], positive[known].astype(np.int64)), weight[known])
    if not sums.all():
        raise InputError(
            "a label of one of the groups has no rows, or none that weigh anything. Weights and rules by "
            "group and label need rows of both labels in both groups."
        )
    return np.asarray(sums / sums.sum())


def rule_weights(strengths: Floats, shares: Floats) -> Floats:
    """Return the weights by group and label, shape (..., 2, 2), of strengths of shape (..., 3).

    ``shares`` are the shares of the rows by group and label; 1/2 is the weight at strength 0. A strength of 1
    alone makes one weight, of the smaller group, 0 or 1, so that strengths mean the same on any table.
    """
    by_group = shares.sum(axis=1)
    unit = np.array([by_group.min(), shares[:, 1].min(), shares[:, 0].min()]) / 2
    a, b, c = np.moveaxis(strengths * unit, -1, 0)
    weights = np.full((*a.shape, 2, 2), 0.5)
    for group, sign in ((0, 1.0), (1, -1.0)):
        weights[..., group, 1] += sign * (a / by_group[group] + b / shares[group, 1])
        weights[..., group, 0] -= sign * (a / by_group[group] + c / shares[group, 0])
    return weights


def margins(joint: Floats, weights: Floats) -> Floats:
    """Return the margins of rules, shape (rows, ...), from P(s, y | x) of shape (rows, 2, 2)."""
    signed = weights * np.array([-1.0, 1.0])
    by_rule = signed.reshape(*weights.shape[:-2], 4)
    return np.asarray(joint.reshape(len(joint), 4) @ np.moveaxis(by_rule, -1, 0))


def probabilities(joint: Floats, weights: Floats) -> Floats:
    """Return the probability of the positive label if rows weighed as one rule has it.

    It is above 1/2 where the margin is above 0. The margin itself ranks rows badly: it is small for every row
    of a group whose rows weigh little. What would weigh less than nothing speaks for the other label.
    """
    kept, turned = np.maximum(weights, 0), np.maximum(-weights, 0)
    of_label = np.einsum("rsy,sy->ry", joint, kept) + np.einsum("rsy,sy->ry", joint, turned)[:, ::-1]
    total = of_label.sum(axis=1)
    share = np.divide(of_label[:, 1], total, out=np.full(len(total), 0.5), where=total > 0)
    return np.asarray(share)


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """What accuracy and gaps are measured on: the label, the side and the group of each row, and its weight.

    The group is one of all that are compared, -1 where it is missing, as is the side then.
    """

    positive: Bools
    side: Sides
    group: Ints
    weight: Floats

    @cached_property
    def shares(self) -> Floats:
        """The shares of the rows by side and label."""
        return shares_of(self.side, self.positive, self.weight)

    @cached_property
    def _strata(self) -> tuple[Any, Floats]:
        """The weight of each row in its stratum, and the side of each group: 1, 0, or -1 for rows of none."""
        n_rows, n_groups = len(self.group), int(self.group.max()) + 1
        place = 2 * np.where(self.group < 0, n_groups, self.group) + self.positive
        strata = csr_array((self.weight, (place, np.arange(n_rows))), shape=(2 * n_groups + 2, n_rows))
        side = np.full(n_groups + 1, -1)
        side[self.group] = self.side
        return strata, side

    def measure(self, predicted: Bools) -> dict[str, Floats]:
        """Return accuracy and gaps of rules, whose predictions have the shape (rows, rules).

        ``signed`` are the gaps of the privileged side from the rest, shape (rules, 3), in the order of
        prices.
        """
        strata, side = self._strata
        total = strata.sum(axis=1).reshape(-1, 2)
        chosen = (strata @ predicted).T.reshape(-1, *total.shape)
        correct = chosen[..., 1].sum(axis=1) + (total[:, 0] - chosen[..., 0]).sum(axis=1)
        compared = is_compared(np.bincount(self.group[self.group >= 0]))
        # A group without rows of a label has no such rate (NaN) and is not compared in it.
        by_group = _rates(chosen, total)[:, np.flatnonzero(compared)]
        gaps = np.fmax.reduce(by_group, axis=1) - np.fmin.reduce(by_group, axis=1)
        sides = np.array([side == 0, side == 1], dtype=np.float64)
        by_side = _rates(sides @ chosen, sides @ total)
        found = {"accuracy": correct / self.weight.sum(), "signed": by_side[:, 1] - by_side[:, 0]}
        found |= {name: gaps[:, k] for k, name in enumerate(PRICED)}
        return found | {"equalized_odds": gaps[:, 1:].max(axis=1)}

    def auc(self, score: Floats) -> float:
        """Return the ROC AUC of a score: the share of pairs of both labels in the right order.

        scikit-learn's takes 30 times as long for few rows, and many rules are tried.
        """
        order = np.argsort(score, kind="stable")
        starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf) > 0)
        parts = (self.weight[order] * label for label in (self.positive[order], ~self.positive[order]))
        positive, negative = (np.add.reduceat(part, starts) for part in parts)
        below = np.cumsum(negative) - negative / 2
        return float(positive @ below / (positive.sum() * negative.sum()))

    def error(self, name: str, predicted: Bools) -> float:
        """Return the standard error of a gap between the two sides."""
        of_label = {"equal_opportunity": self.positive, "predictive_equality": ~self.positive}
        among = of_label.get(name, self.side >= 0)
        variance = 0.0
        for side in (0, 1):
            weight = self.weight * among * (self.side == side)
            rate = weight @ predicted / weight.sum()
            variance += rate * (1 - rate) * (weight @ weight) / weight.sum() ** 2
        return float(np.sqrt(variance))

    def measured(self, scores: Mapping[str, Floats]) -> dict[str, list[Any]]:
        """Return accuracy, ROC AUC and gaps of rules by their scores, positive ones of which say yes."""
        found = self.measure(np.column_stack(list(scores.values())) > 0)
        data = {"rule": list(scores), "accuracy": found["accuracy"].tolist()}
        data |= {"auc": [self.auc(one) for one in scores.values()]}
        return data | {name: found[name].tolist() for name in (*PRICED, "equalized_odds")}


def _rates(chosen: Floats, total: Floats) -> Floats:
    """Return positive, true and false positive rate of each rule and group."""
    among = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    return rates(chosen @ among, np.broadcast_to(total @ among, (*chosen.shape[:-1], 3)))


@dataclass(frozen=True, eq=False)
class Posteriors(LabeledRows):
    """Rows with P(s, y | x) by side and label, ``joint``, from models that were not fitted on them."""

    joint: Floats

    def margins(self, weights: Floats = _NEUTRAL) -> Floats:
        """Return the margins of rules, by default of strength 0."""
        return margins(self.joint, weights)


class Judge:
    """Says which rules keep within the limits."""

    def __init__(self, rows: Posteriors, minimize: Minimize, limits: Limits) -> None:
        self.rows, self.minimize, self.limits = rows, minimize, limits
        neutral = rows.margins()
        before = rows.measure(neutral[:, None] > 0)
        #: The gap to make small, at strength 0.
        self.gap = float(before[minimize][0])
        self.least_accuracy = float(before["accuracy"][0]) - limits.accuracy
        self.least_auc = rows.auc(neutral) - limits.auc
        self.most = {
            name: float(before[name][0]) + limits.margin * rows.error(name, neutral > 0)
            for name in (["demographic_parity"] if minimize == "equalized_odds" else PRICED[:2])
            if name != minimize
        }
        #: The side that the gap is on: the sign of each gap of the privileged side from the rest.
        self.sign = np.sign(before["signed"][0])
        self.own = PRICED.index(minimize) if minimize in PRICED else None
        #: The gap that is worth weights: less than this is noise.
        self.most_gap = self.gap
        if self.own is not None:
            self.most_gap -= limits.margin * rows.error(minimize, neutral > 0)

    def gap_of(self, score: Floats) -> float:
        """Return the gap to make small of a rule, by its score."""
        return float(self.rows.measure(score[:, None] > 0)[self.minimize][0])

    def within(self, found: Mapping[str, Floats]) -> Bools:
        """Say which rules keep within the limits of accuracy and of the other gaps, and keep the sign."""
        allowed = found["accuracy"] >= self.least_accuracy - _ROUNDING
        for name, most in self.most.items():
            allowed &= found[name] <= most + _ROUNDING
        if self.own is not None:
            allowed &= found["signed"][:, self.own] * self.sign[self.own] >= 0
        return np.asarray(allowed)

    def follows(self, score: Floats) -> bool:
        """Say whether a model, by its score, narrows the gap and does not measurably lose what it must not.

        Of accuracy that means: two standard errors more than the limit.
        """
        rows = self.rows
        before, after = ((one > 0) == rows.positive for one in (rows.margins(), score))
        change = after.astype(np.float64) - before
        mean = float(np.average(change, weights=rows.weight))
        error = float(np.sqrt(np.sum((rows.weight * (change - mean)) ** 2)) / rows.weight.sum())
        is_accurate = mean + 2 * error >= -self.limits.accuracy
        return is_accurate and rows.auc(score) >= self.least_auc and self.gap_of(score) <= self.gap

    def accepts(self, score: Floats) -> bool:
        """Say whether a rule, by its score, keeps within all limits and does not widen the gap."""
        found = self.rows.measure(score[:, None] > 0)
        is_narrower = bool(found[self.minimize][0] <= self.gap + _ROUNDING)
        return is_narrower and bool(self.within(found)[0]) and self.rows.auc(score) >= self.least_auc


def search(posteriors: Posteriors, minimize: Minimize, limits: Limits, is_clipped: bool) -> Floats:
    """Return the strengths within the limits that make a gap smallest, and of these the most accurate.

    ``is_clipped`` makes negative weights 0, as for training.
    """
    plane, judge = _PLANE[minimize], Judge(posteriors, minimize, limits)

    def best_of(points: Floats) -> Floats:
        if judge.own is not None:
            # Out of fold a price against the gap can look good too; on other rows it seldom is.
            points = points[points[:, judge.own] * judge.sign[judge.own] >= 0]
        weights = rule_weights(points, posteriors.shares)
        if is_clipped:
            weights = np.maximum(weights, 0)
        starts = range(0, len(weights), _BATCH)
        parts = [posteriors.measure(posteriors.margins(weights[k : k + _BATCH]) > 0) for k in starts]
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        size = np.abs(points).sum(axis=1)
        order = np.lexsort((size, -found["accuracy"], found[minimize].round(6)))
        for k in order[judge.within(found)[order]]:
            if posteriors.auc(probabilities(posteriors.joint, weights[k])) >= judge.least_auc:
                return np.asarray(points[k])
        return np.zeros(3)

    best = best_of(_grid(plane, np.zeros(3), _MOST, _STEPS))
    return best_of(np.vstack([best, _grid(plane, best, _MOST / _STEPS, _FINER)]))


def _grid(plane: tuple[int, int], middle: Floats, half: float, steps: int) -> Floats:
    """Return points of a plane around a middle."""
    line = np.linspace(-half, half, 2 * steps + 1)
    points = np.repeat(middle[None], len(line) ** 2, axis=0)
    points[:, list(plane)] += np.array(np.meshgrid(line, line)).reshape(2, -1).T
    # A strength is 0 or it is not, and people read them.
    return points.round(9)
