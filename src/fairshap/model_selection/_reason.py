"""Why a candidate is recommended, in plain words."""

from collections.abc import Sequence

import numpy as np

from fairshap._crossval.measures import MEASURES
from fairshap._crossval.ranking import Minimize, Ranking, weights_of
from fairshap._typing import Bools

_NAMES = list(MEASURES)


def explain_choice(
    ranking: Ranking, minimize: Minimize, taken: int, among: Bools, plain: Sequence[int], action: str
) -> str:
    """Return what to do and what that does, why, and what each plain remedy would have done."""
    said = [f"{action}: {_effect(ranking, minimize, taken)}."]
    if not among.any():
        said.append("No candidate that may be taken is within the limits; this one loses the least.")
    else:
        said.append(_why(ranking, minimize, taken, among))
    others = [k for k in plain if k != taken]
    if others:
        lines = (f"{ranking.names[k]}, {_levels(ranking, minimize, k)}" for k in others)
        said.append(f"Plain remedies: {'; '.join(lines)}.")
    return " ".join(said)


def _effect(ranking: Ranking, minimize: Minimize, taken: int) -> str:
    """Say what a candidate does to the measures, and whether a constant or the baseline does as well."""
    name = ranking.limits.scoring
    constant = ranking.measures.constant_accuracy
    also = ""
    if _level(ranking, taken, "accuracy") <= constant:
        also = f"; a constant prediction, which has no gap, is as accurate ({constant:.3f})"
    if taken == 0:
        return f"nothing within the limits makes {_label(minimize)} measurably smaller{also}"
    shown = dict.fromkeys([*weights_of(minimize), "dr", "dp", "eo"])
    parts = [
        f"{MEASURES[one].label} {_level(ranking, 0, one):.3f} -> {_level(ranking, taken, one):.3f}"
        for one in shown
    ]
    # A limit on accuracy alone can hide what the scores lose.
    costs = [one for one in dict.fromkeys([name, "auc"]) if not np.isnan(_level(ranking, taken, one))]
    paid = (
        f"{_article(one)} of {_level(ranking, taken, one):.3f} instead of {_level(ranking, 0, one):.3f}"
        for one in costs
    )
    return f"{', '.join(parts)} at {' and '.join(paid)}{also}"


def _why(ranking: Ranking, minimize: Minimize, taken: int, among: Bools) -> str:
    """Say how the candidate stands to the best."""
    best = ranking.best(among)
    if best == taken:
        return "It is the best within the limits, and nothing simpler is within a standard error of it."
    levels = _levels(ranking, minimize, best)
    return f"It is the simplest within a standard error of the best, {ranking.names[best]} ({levels})."


def _levels(ranking: Ranking, minimize: Minimize, k: int) -> str:
    names = [*weights_of(minimize), ranking.limits.scoring]
    return ", ".join(f"{MEASURES[name].label} {_level(ranking, k, name):.3f}" for name in names)


def _level(ranking: Ranking, k: int, name: str) -> float:
    return float(ranking.measures.values[k, _NAMES.index(name)])


def _label(minimize: Minimize) -> str:
    labels = [MEASURES[name].label for name in weights_of(minimize)]
    return labels[0] if len(labels) == 1 else f"the mean of {', '.join(labels)}"


def _article(name: str) -> str:
    label = MEASURES[name].label
    label = label if label.isupper() else label.lower()
    return f"an {label}" if label[0] in "aeiouA" else f"a {label}"
