"""What was to be reached, and whether the lines of `effect.py` reach it."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from effect import (
    BASELINE,
    CONSTANT,
    DEFAULT,
    DIRECTED,
    DIRECTED_BLIND,
    DROPPED,
    EDITS_BLIND,
    GRID,
    MODELS,
    PAPER,
    PROXY,
    REWEIGHING,
    SETTINGS,
    SQUARED,
    TUNED,
    WITHIN,
)
from scipy.stats import t as student

#: Remedies that need no search, which nothing that is recommended should be dominated by.
PLAIN = (BASELINE, DROPPED, REWEIGHING, SQUARED, "counterfactual rows")
#: Levels that differ by less are equal.
TIE = 5e-4
#: What was to be reached, the bar, whether it is met (None: not measured, or not in all settings), and the
#: numbers.
Verdict = tuple[str, str, bool | None, str]


class Lines:
    """The lines by setting, model and method, each fold a vector of measures."""

    def __init__(self, lines: Iterable[dict[str, Any]]) -> None:
        self.failed = [line for line in lines if "error" in line]
        self.found: dict[tuple[str, str, str], dict[tuple[int, int], dict[str, Any]]] = defaultdict(dict)
        self.points = [line for line in lines if line.get("point") is not None]
        for line in lines:
            if "error" in line or line.get("point") is not None:
                continue
            models = MODELS if line["method"] == CONSTANT else (line["model"],)
            for model in models:
                key = line["setting"], model, line["method"]
                self.found[key][line["seed"], line["fold"]] = line

    def needs_attribute(self, method: str) -> bool:
        """Say whether the rows to predict must hold the attribute."""
        own = [folds for (_, _, name), folds in self.found.items() if name == method]
        return any(line["attribute"] for folds in own for line in folds.values())

    def settings(self, model: str) -> list[str]:
        """Return the settings in which dropping the column was measured with a model."""
        return [one for one in SETTINGS if (one, model, DROPPED) in self.found]

    def models(self) -> list[str]:
        """Return the models that were measured."""
        return [model for model in MODELS if self.settings(model)]

    def level(self, setting: str, model: str, method: str, name: str, like: str | None = None) -> float:
        """Return the mean of a measure over the folds, or those of another method; NaN if not measured."""
        folds = self.found.get((setting, model, method), {})
        same = folds.keys() & self.found.get((setting, model, like), {}).keys() if like else folds.keys()
        return float(np.mean([folds[fold][name] for fold in sorted(same)])) if same else np.nan

    def compared(self, setting: str, model: str, method: str, name: str) -> float:
        """Return the level on all folds of dropping the column, also of a method that has fewer of them."""
        change = self.change(setting, model, method, name)
        if not len(change):
            return self.level(setting, model, method, name)
        # No measure is below 0.
        return max(0.0, self.level(setting, model, DROPPED, name) + float(change.mean()))

    def change(self, setting: str, model: str, method: str, name: str, than: str = DROPPED) -> np.ndarray:
        """Return the difference of a measure from another method, fold by fold."""
        one, other = (self.found.get((setting, model, which), {}) for which in (method, than))
        return np.array([one[fold][name] - other[fold][name] for fold in sorted(one.keys() & other.keys())])

    def overall(self, model: str, method: str, name: str, than: str = DROPPED) -> tuple[float, float, int]:
        """Return the mean over settings of a paired difference, half of its interval, and their number."""
        means = [
            change.mean()
            for setting in self.settings(model)
            if len(change := self.change(setting, model, method, name, than))
        ]
        return (*interval(np.array(means)), len(means))


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return a mean and half of its 95 % interval (Student's)."""
    if len(values) < 2:
        return (float(values.mean()) if len(values) else np.nan), np.nan
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(half)


def number(value: float, sign: bool = False, digits: int = 3) -> str:
    """Return a number without its leading zero, nothing if it is not known."""
    if np.isnan(value):
        return ""
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    # A rounded zero has no sign.
    text = text.replace("-", "+") if sign and float(text) == 0 else text
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def bars(lines: Lines, model: str = "xgboost") -> list[Verdict]:
    """Return what was to be reached, and whether it is."""
    return [
        bar_default(lines, model),
        *(bar_direction(lines, model, *pair) for pair in ((DIRECTED, PAPER), (DIRECTED_BLIND, EDITS_BLIND))),
        bar_undominated(lines, model),
        bar_tuned(lines, model),
        bar_acs(lines, model),
    ]


def bar_default(lines: Lines, model: str) -> Verdict:
    what = "the default, against dropping the column"
    bar = (
        "flips under .5 %; DP lower by .03, its interval below 0; EO not higher; accuracy within .004; "
        "no table with higher DP"
    )
    settings = [one for one in lines.settings(model) if (one, model, DEFAULT) in lines.found]
    if not settings:
        return what, bar, None, ""
    (dp, half, _), (eo, *_), (accuracy, *_) = (
        lines.overall(model, DEFAULT, name) for name in ("dp", "eo", "accuracy")
    )
    flips = max(lines.level(setting, model, DEFAULT, "flips") for setting in settings)
    higher = [one for one in settings if lines.change(one, model, DEFAULT, "dp").mean() > 0]
    met = flips < 0.005 and dp <= -0.03 and dp + half < 0 and eo <= 0 and accuracy >= -0.004 and not higher
    numbers = (
        f"flips at most {number(flips)}; DP {number(dp, True)} ± {number(half)}; EO {number(eo, True)}; "
        f"accuracy {number(accuracy, True, 4)}; DP higher on {', '.join(higher) or 'no table'}"
    )
    return what, bar, bool(met), numbers


def bar_direction(lines: Lines, model: str, directed: str, edits: str) -> Verdict:
    what = f"{directed}, against {edits}"
    bar = "DP lower on 8 of 10 settings, accuracy not lower"
    changes = [
        [lines.change(setting, model, directed, name, edits).mean() for name in ("dp", "accuracy")]
        for setting in lines.settings(model)
        if len(lines.change(setting, model, directed, "dp", edits))
    ]
    if not changes:
        return what, bar, None, ""
    lower = sum(dp < 0 for dp, _ in changes)
    (gap, wide), (accuracy, half) = (interval(np.array(own)) for own in zip(*changes, strict=True))
    met = lower >= 0.8 * len(changes) and accuracy >= 0
    numbers = (
        f"lower on {lower} of {len(changes)} ({number(gap, True)} ± {number(wide)}); "
        f"accuracy {number(accuracy, True, 4)} ± {number(half, digits=4)}"
    )
    return what, bar, met, numbers


def bar_undominated(lines: Lines, model: str) -> Verdict:
    what, bar = "tune (DP, a point of accuracy), blind", "dominated by no plain remedy in any setting"
    settings = [one for one in lines.settings(model) if (one, model, TUNED) in lines.found]
    if not settings:
        return what, bar, None, ""
    lost = {}
    for setting in settings:
        own = _point(lines, setting, model, TUNED)
        better = [plain for plain in PLAIN if _dominates(_point(lines, setting, model, plain), own)]
        if better:
            lost[setting] = better[0]
    numbers = "; ".join(f"{setting} by {plain}" for setting, plain in lost.items()) or "by none"
    met = True if len(settings) == len(SETTINGS) else None
    met = False if lost else met
    return what, bar, met, f"dominated on {len(lost)} of {len(settings)}: {numbers}"


def _point(lines: Lines, setting: str, model: str, method: str) -> np.ndarray:
    """Return a method's error, flips, DP and EO on the folds of tune."""
    names = ("accuracy", "flips", "dp", "eo")
    point = np.array([lines.level(setting, model, method, name, like=TUNED) for name in names])
    point[0] = 1 - point[0]
    return point


def _dominates(one: np.ndarray, other: np.ndarray) -> bool:
    """Say whether one is at least as good in all, and better in one; what differs by less is a tie."""
    return bool((one <= other + 1e-9).all() and (one < other - TIE).any())


def bar_tuned(lines: Lines, model: str) -> Verdict:
    what = "tune, against reweighing squared, GridSearch and proxy correction alone"
    bar = "DP at most theirs, each at its own accuracy, in 7 of 10 settings"
    settings = [one for one in lines.settings(model) if (one, model, TUNED) in lines.found]
    if not settings:
        return what, bar, None, ""
    names, is_met = [], True
    for other in (SQUARED, GRID, PROXY):
        measured = [one for one in settings if (one, model, other) in lines.found]
        lower, level = 0, partial(lines.level, model=model, like=TUNED)
        less_accurate = []
        for one in measured:
            mine, theirs = (
                [level(one, method=method, name=name) for name in ("dp", "accuracy")]
                for method in (TUNED, other)
            )
            lower += mine[0] <= theirs[0] + TIE
            less_accurate += [one] if mine[0] > theirs[0] + TIE and mine[1] > theirs[1] + TIE else []
        is_met &= lower >= 0.7 * len(measured)
        aside = f" (and less accurate on {len(less_accurate)} of the others)" if less_accurate else ""
        names.append(f"{other}: {lower} of {len(measured)}{aside}")
    met = None if is_met and len(settings) < len(SETTINGS) else is_met
    return what, bar, met, "; ".join(names)


def bar_acs(lines: Lines, model: str) -> Verdict:
    what = "accuracy at DP <= .10 on ACS Income (SEX), blind"
    bar = "within .005 of thresholds that use the attribute"
    setting = "acs_income:SEX"
    mine = [
        line["accuracy"] for line in lines.points
        if line["setting"] == setting and line["model"] == model and line["point"] == ["dp", 0.1]
    ]  # fmt: skip
    theirs = lines.level(setting, model, WITHIN, "accuracy", like=TUNED)
    if not mine or np.isnan(theirs):
        return what, bar, None, ""
    gap = float(np.mean(mine)) - theirs
    return (
        what,
        bar,
        gap >= -0.005,
        f"{number(float(np.mean(mine)), digits=4)} against {number(theirs, digits=4)}",
    )
