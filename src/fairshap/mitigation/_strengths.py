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
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from fairshap._crossval.measures import is_compared
from fairshap._messages import check_choice, check_number, is_number, listing
from fairshap._typing import Bools, Floats, Ints, Sides
from fairshap.exceptions import InputError
from fairshap.metrics import rates

#: The gaps that can be made small.
Minimize: TypeAlias = Literal["demographic_parity", "equal_opportunity", "equalized_odds"]
#: The gaps that have a price: in the positive rate, the true and the false positive rate.
PRICED = ("demographic_parity", "equal_opportunity", "predictive_equality")

# The two prices that are searched; the third is 0.
_PLANE = {
    "demographic_parity": (0, 1),
    "equal_opportunity": (0, 1),
    "equalized_odds": (1, 2),
}
# The largest strength that is tried, the steps of the first grid on either side of 0, and of those around
# the best point.
_MOST, _STEPS, _FINER = 2.0, 20, 5
# The rules that are tried at a time.
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """How much accuracy and ROC AUC may fall against strength 0, and other gaps rise, in standard errors."""

    accuracy: float
    auc: float
    margin: float = 0.0


def check_minimize(minimize: Any) -> None:
    """Raise an error unless it is known which gap to make small."""
    check_choice(minimize, "minimize", get_args(Minimize))


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
            "a label of one of the groups has no rows, or none that weigh anything. Parity weights need rows "
            "of both labels in both groups."
        )
    return np.asarray(sums / sums.sum())


def rule_weights(strengths: Floats, shares: Floats) -> Floats:
    """Return the weights by group and label, shape (..., 2, 2), of strengths of shape (..., 3).

    ``shares`` are the shares of the rows by group and label; 1/2 is the weight at strength 0. A strength of 1
    alone makes the smallest weight 0, so that strengths mean the same on any table.
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


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Out-of-fold posteriors of rows whose group and label are known, and what gaps are measured on.

    ``joint`` is P(s, y | x) by privileged side and label, ``group`` the group of each row among all that are
    compared, -1 where it is missing.
    """

    joint: Floats
    positive: Bools
    side: Sides
    group: Ints
    weight: Floats

    @cached_property
    def shares(self) -> Floats:
        """The shares of the rows by side and label."""
        return shares_of(self.side, self.positive, self.weight)

    @cached_property
    def _strata(self) -> tuple[Any, Ints]:
        """The weight of each row in its stratum of group and label, shape (strata, rows); those compared."""
        n_groups = int(self.group.max()) + 1
        place = 2 * np.where(self.group < 0, n_groups, self.group) + self.positive
        at = (place, np.arange(len(place)))
        strata = csr_array((self.weight, at), shape=(2 * n_groups + 2, len(place)))
        compared = is_compared(np.bincount(self.group[self.group >= 0], minlength=n_groups))
        return strata, np.flatnonzero(compared)

    def counts(self, weights: Floats) -> Floats:
        """Return the weight of all rows, and of those that each rule predicts positive, by stratum.

        The shape is (1 + rules, groups + 1, 2); the last group is that of the rows without one.
        """
        strata, _ = self._strata
        parts = [
            strata @ (margins(self.joint, weights[start : start + _BATCH]) > 0)
            for start in range(0, len(weights), _BATCH)
        ]
        found = np.hstack([strata.sum(axis=1)[:, None], *parts])
        return found.T.reshape(found.shape[1], -1, 2)

    def measure(self, weights: Floats) -> dict[str, Floats]:
        """Return accuracy and gaps of each rule, and the signed gaps of the privileged side from the rest."""
        counts = self.counts(weights)
        total, chosen = counts[0], counts[1:]
        compared = self._strata[1]
        correct = chosen[..., 1].sum(axis=1) + (total[:, 0] - chosen[..., 0]).sum(axis=1)
        found = {"accuracy": correct / total.sum()}
        all_of = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
        by_rate = rates(chosen @ all_of.T, np.broadcast_to(total @ all_of.T, (*chosen.shape[:-1], 3)))
        dp, eo, pe = np.moveaxis(np.ptp(by_rate[:, compared], axis=1), -1, 0)
        found |= dict(zip(PRICED, (dp, eo, pe), strict=True), equalized_odds=np.maximum(eo, pe))
        return found

    def signed(self, weights: Floats) -> Floats:
        """Return the gaps of the privileged side from the rest, shape (rules, 3), in the order of prices."""
        two = Posteriors(self.joint, self.positive, self.side, self.side.astype(np.int64), self.weight)
        counts = two.counts(weights)
        all_of = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]).T
        by_rate = counts[1:, :2] @ all_of / (counts[0, :2] @ all_of)
        return np.asarray(by_rate[:, 1] - by_rate[:, 0])

    def auc(self, weights: Floats) -> float:
        """Return the ROC AUC of the margin of one rule."""
        return float(roc_auc_score(self.positive, margins(self.joint, weights), sample_weight=self.weight))

    def error(self, name: str) -> float:
        """Return about how far a gap of the rule of strength 0 is from that of all rows of its kind."""
        of_label = {"equal_opportunity": self.positive, "predictive_equality": ~self.positive}
        among = of_label.get(name, self.side >= 0)
        predicted = margins(self.joint, np.full((2, 2), 0.5)) > 0
        variance = 0.0
        for side in (0, 1):
            weight = self.weight * among * (self.side == side)
            rate = weight @ predicted / weight.sum()
            variance += rate * (1 - rate) * (weight @ weight) / weight.sum() ** 2
        return float(np.sqrt(variance))

    def frame(self, rules: Mapping[str, Floats]) -> pd.DataFrame:
        """Return accuracy, ROC AUC and gaps of rules by their weights."""
        weights = np.array(list(rules.values()))
        found = self.measure(weights)
        data = {"accuracy": found.pop("accuracy"), "auc": [self.auc(one) for one in weights], **found}
        return pd.DataFrame(data, index=pd.Index(rules, name="rule"))


def search(posteriors: Posteriors, minimize: Minimize, limits: Limits, is_clipped: bool) -> Floats:
    """Return the strengths within the limits that make a gap smallest, and of these the most accurate.

    ``is_clipped`` makes negative weights 0, as for training. The gap never changes its sign.
    """
    plane = list(_PLANE[minimize])
    own = PRICED.index(minimize) if minimize in PRICED else None
    neutral = np.full((1, 2, 2), 0.5)
    before, sign = posteriors.measure(neutral), np.sign(posteriors.signed(neutral)[0])
    others = [name for name in PRICED[:2] if name != minimize]
    if minimize == "equalized_odds":
        others = ["demographic_parity"]
    least_auc = posteriors.auc(neutral[0]) - limits.auc

    def best_of(points: Floats) -> Floats:
        weights = rule_weights(points, posteriors.shares)
        if is_clipped:
            weights = np.maximum(weights, 0)
        found = posteriors.measure(weights)
        allowed = found["accuracy"] >= before["accuracy"] - limits.accuracy - 1e-12
        for name in others:
            most = before[name] + limits.margin * posteriors.error(name)
            allowed &= found[name] <= most + 1e-12
        if own is not None:
            allowed &= posteriors.signed(weights)[:, own] * sign[own] >= 0
        order = np.lexsort((np.abs(points).sum(axis=1), -found["accuracy"], found[minimize].round(6)))
        for k in order[allowed[order]]:
            if limits.auc == np.inf or posteriors.auc(weights[k]) >= least_auc:
                return np.asarray(points[k])
        return np.zeros(3)

    best = best_of(_grid(plane, np.zeros(3), _MOST, _STEPS))
    return best_of(np.vstack([best, _grid(plane, best, _MOST / _STEPS, _FINER)]))


def _grid(plane: list[int], middle: Floats, half: float, steps: int) -> Floats:
    """Return points of a plane around a middle, which is the first."""
    line = np.linspace(-half, half, 2 * steps + 1)
    points = np.repeat(middle[None], len(line) ** 2, axis=0)
    points[:, plane] += np.array(np.meshgrid(line, line)).reshape(2, -1).T
    return points
