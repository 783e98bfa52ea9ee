"""Curves: the best performance at a limited gap, chosen on folds and measured once on a held-out set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairshap._crossval import Evaluation, judge
from fairshap._crossval.measures import MEASURES
from fairshap._messages import check_choice
from fairshap._problem import Problem
from fairshap.exceptions import InputError

#: The measures that a curve limits by default: the gaps between groups, and treatment.
AXES = ("dp", "eo", "eodds", "flips")
_LIMITED = tuple(name for name, measure in MEASURES.items() if measure.is_fairness)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TradeoffCurve:
    """The best performance at gaps of at most k, on a held-out set; what :meth:`Tuning.curve` returns."""

    evaluation: Evaluation
    _picks: pd.DataFrame
    _scoring: str

    @classmethod
    def of(
        cls, picks: pd.DataFrame, fitted: Mapping[str, Any], test: Problem, scoring: str
    ) -> "TradeoffCurve":
        """Return the curve of candidates that were picked and fitted, by what they do on a held-out set."""
        how = f"Measured on a held-out set of {test.own.n_rows:,} rows."
        judged = [[judge(model, test)] for model in fitted.values()]
        return cls(Evaluation.of(list(fitted), judged, test.groups.names, how, by="name"), picks, scoring)

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


def pick(frame: pd.DataFrame, scoring: str, at: Sequence[float], axes: Sequence[str]) -> pd.DataFrame:
    """Return for each measure and limit the best performing candidate within it, or else the lowest one."""
    for axis in axes:
        check_choice(axis, "axes", _LIMITED)
    if not len(at) or not all(limit >= 0 for limit in at):
        raise InputError(f"at={at!r} must be levels from 0 on, such as [0.05, 0.1].", parameter="at")
    sign = -1 if MEASURES[scoring].higher_is_better else 1
    lines = []
    for axis in axes:
        for limit in at:
            within = frame[frame[axis] <= limit]
            if len(within):
                keys = within.assign(worse=sign * within[scoring])
                chosen = keys.sort_values(["worse", "needs_attribute", "n_fits", "name"]).iloc[0]
            else:
                chosen = frame.sort_values([axis, "needs_attribute", "n_fits", "name"]).iloc[0]
            line = {"axis": axis, "at": limit, "name": chosen["name"], "expected": chosen[axis]}
            lines.append(line | {name: chosen[name] for name in ("n_fits", "needs_attribute")})
    return pd.DataFrame(lines)
