"""Why a repair made no edit, in words."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from fairshap._ties import exceeds, reaches
from fairshap._typing import Floats

if TYPE_CHECKING:
    from fairshap.estimators._sampler import FairSHAP

# What can keep an attribution that is large enough from becoming an edit, and what it is where it does not.
_LIMITS = {
    "budget": None,
    "guard": False,
    "frozen": None,
    "editable": None,
    "column_thresholds": None,
    "direction": "both",
    "max_row_edits": None,
    "plausible": False,
}


def why_nothing(fs: "FairSHAP", attribute: Hashable) -> str:
    """Return why a fitted sampler has no edits."""
    found = fs.attributions_
    largest, span, risk = (_largest(v) for v in (found.values, np.abs(found.values), found.risk))
    if not len(fs.matches_):
        return "no row has a reference."
    if not (risk or span > 0):
        return (
            f"the consulted model never uses column {attribute!r}: its output is the same whatever "
            "the value. Unfairness that other columns carry is not what FairSHAP measures."
        )
    mean = np.nanmean(found.risk)
    if span < 1e-12 * risk:
        return (
            f"the risk is {mean:.3g} whatever the other columns hold, as in a margin that is "
            f"linear in column {attribute!r}; no edit can lower it."
        )
    return f"{_why_no_cell(fs, largest)}, and the mean risk is {mean:.3g}."


def _why_no_cell(fs: "FairSHAP", largest: float) -> str:
    """Return why no cell was chosen though the attributions differ."""
    limits = [f"{name}={getattr(fs, name)!r}" for name, none in _LIMITS.items() if getattr(fs, name) != none]
    unit = fs.attributions_.unit
    if fs.strategy == "budget":
        is_enough = bool(exceeds(largest, 0.0, unit))
    else:
        is_enough = fs.strategy == "optimal" or bool(reaches(largest, fs.threshold_, unit))
    if limits and is_enough:
        return f"the largest attribution is {largest:.3g}, but none is left within {', '.join(limits)}"
    if fs.strategy == "budget":
        return "no attribution is above 0"
    if fs.strategy == "optimal":
        return f"no edits of a row lower its risk by threshold={fs.threshold_:.6g} for each cell"
    known = f"; the largest is {largest:.3g}" if np.isfinite(largest) else ""
    return f"no attribution reaches threshold={fs.threshold_:.6g}{known}"


def _largest(values: Floats) -> float:
    """Return the largest of the values that are known, minus infinity if there are none."""
    return float(np.max(values, where=~np.isnan(values), initial=-np.inf))
