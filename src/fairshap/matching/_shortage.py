"""Rows that have no reference, or little choice of one, in words."""

import numpy as np

from fairshap._messages import warn
from fairshap._problem import Labels, Setting
from fairshap.exceptions import FewReferencesWarning, UnmatchedRowsWarning
from fairshap.matching._plan import MatchPlan
from fairshap.matching._strata import Stratum

# Rows from which on it is worth saying that all of them share one reference.
_MANY = 10


def warn_unmatched(setting: Setting, labels: Labels, plan: MatchPlan, others: list[str]) -> None:
    """Say which rows have no reference, and why."""
    if not len(plan.unmatched):
        return
    groups = setting.groups
    reasons = []
    if groups.n_missing:
        reasons.append(f"{groups.n_missing} rows have no value of {groups.name!r}")
    for side, word in ((0, "unprivileged"), (1, "privileged")):
        for code, label in enumerate(labels.names):
            same = labels.codes == code
            if (same & (groups.side == 1 - side)).any():
                continue
            alone = int(np.count_nonzero(same & (groups.side == side)))
            if alone:
                reasons.append(f"{alone} {word} rows have {label}, which the other group never has")
    hint = " Fewer bins would leave out fewer." if reasons and labels.classes is None else ""
    warn(
        f"{len(plan.unmatched)} of {plan.n_rows} rows have no reference and stay as they are: "
        f"{'; '.join([*reasons, *others])}.{hint}",
        UnmatchedRowsWarning,
    )


def warn_few(strata: list[Stratum], labels: Labels, k: int) -> None:
    """Say of which labels a side has fewer than k rows, or one that is the reference of many."""
    few, lone = [], []
    for stratum in strata:
        for rows, others, word in ((*stratum, "privileged"), (*stratum[::-1], "unprivileged")):
            if not len(rows) or not len(others):
                continue
            text = f"{len(others)} {word} for {len(rows)} rows with {labels.names[labels.codes[rows[0]]]}"
            if len(others) < k:
                few.append(text)
            elif len(others) == 1 and len(rows) >= _MANY:
                lone.append(text)
    if few:
        warn(
            f"Some rows have fewer than k={k} references, because the other group has no more rows with "
            f"their label: {_some(few)}. They have all there are; give a smaller k to treat all rows alike.",
            FewReferencesWarning,
        )
    if lone:
        hint = " Fewer bins would give more choice." if labels.classes is None else ""
        warn(
            "Many rows share their only reference, because the other group has one row with their label: "
            f"{_some(lone)}.{hint}",
            FewReferencesWarning,
        )


def _some(texts: list[str], limit: int = 4) -> str:
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return "; ".join(texts[:limit]) + more
