"""How good a match plan is: how near its references are, and how alike they make the groups."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from fairshap._frames import Library, make_frame
from fairshap._typing import AnyCodes, Floats, Ints, Native, Sides
from fairshap.exceptions import InputError

if TYPE_CHECKING:
    from fairshap.matching._plan import Basis, MatchPlan


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diagnostics:
    """How near the references of a plan are, how alike they make the groups, and how often each is used.

    Parameters
    ----------
    matched, random : ndarray of float, shape (matched rows,)
        The distance of each matched row to its reference, the weighted mean where it has several, and to a
        random row that it could have been matched with.
    side : ndarray of int8, shape (matched rows,)
        1 where the row is privileged, 0 where it is not.
    columns, differences : tuple, and ndarray of float, shape (columns, 3)
        The columns without the sensitive attribute, and the numbers of :attr:`balance`.
    reuse : ndarray of int, shape (rows,)
        How many rows each row of the table is a reference of.
    unmatched : ndarray of int
        The rows without a reference.
    notes, library : dict, str
        What the matcher reports about how it matched; the library of the frames.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap import match
    >>> X = pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [30, 31, 50, 52]})
    >>> diagnostics = match(X, [0, 0, 1, 1], sensitive="sex", privileged="m").diagnostics()
    >>> diagnostics.reuse.tolist(), diagnostics.unmatched.tolist()
    ([1, 1, 1, 1], [])
    """

    matched: Floats
    random: Floats
    side: Sides
    columns: tuple[Hashable, ...]
    differences: Floats
    reuse: Ints
    unmatched: Ints
    notes: dict[str, Any] = field(default_factory=dict)
    library: Library = "pandas"

    def frame(self) -> Native:
        """Return the distances, one line for the rows of either group and one for all.

        ``cohens_d`` is the difference of the means over ``sqrt((s_matched^2 + s_random^2) / 2)``;
        ``t_statistic`` that of two samples of one size n, Student's and Welch's, ``d sqrt(n / 2)``: it grows
        with the table while d does not.
        """
        return make_frame(self.library, self.summary())

    @property
    def balance(self) -> Native:
        """The standardized mean differences as a frame, one line for each column of the table.

        ``before``: privileged minus unprivileged rows, in units of ``sqrt((s0^2 + s1^2) / 2)``.
        ``after_unprivileged`` and ``after_privileged``: the rows of either group against their weighted
        references, in the same units and the same way round. Missing numbers are left out. A category has
        one difference without sign for all its values, that of Yang and Dalton; a missing one is a value. A
        column that varies only between the groups has no scale: its difference is infinite.
        """
        names = ("before", "after_unprivileged", "after_privileged")
        data = {"column": list(self.columns), **dict(zip(names, self.differences.T, strict=True))}
        return make_frame(self.library, data, ["column"])

    def plot(self, ax: Any = None) -> Any:
        """Draw the distances, and each column's difference before and after, on two axes; return these.

        On one that is given, only the distances are drawn.
        """
        from fairshap._plotting import draw_matching

        names = [str(name) for name in self.columns]
        return draw_matching(self.matched, self.random, names, self.differences.T, ax)

    def __repr__(self) -> str:
        lines = ["distance        rows   matched (std)    random (std)   Cohen's d        t"]
        for group, rows, near, near_std, far, far_std, d, t in zip(*self.summary().values(), strict=True):
            matched, random = f"{near:.3f} ({near_std:.3f})", f"{far:.3f} ({far_std:.3f})"
            lines.append(f"{group:12} {rows:7} {matched:>15} {random:>15} {d:11.2f} {t:8.1f}")
        over = np.count_nonzero(np.abs(self.differences) > 0.1, axis=0)
        used = self.reuse[self.reuse > 0]
        mean, most = (used.mean(), used.max()) if len(used) else (0.0, 0)
        lines += [
            f"columns over 0.1 standard deviations apart: {over[0]} of {len(self.columns)} before matching, "
            f"{over[1]} after it for unprivileged rows, {over[2]} for privileged ones",
            f"references: {len(used)} rows, each used {mean:.1f} times, {most} at most",
            f"unmatched: {len(self.unmatched)} of {len(self.reuse)} rows",
        ]
        lines += [f"{name}: {value}" for name, value in self.notes.items()]
        return "\n".join(lines)

    def summary(self) -> dict[str, list[Any]]:
        """Return the columns of :meth:`frame` as lists, whatever the library."""
        parts = {"unprivileged": self.side == 0, "privileged": self.side == 1, "all": self.side >= 0}
        lines = [
            [group, int(chosen.sum()), *_compare(self.matched[chosen], self.random[chosen])]
            for group, chosen in parts.items()
        ]
        names = ("group", "rows", "matched_mean", "matched_std", "random_mean", "random_std", "cohens_d")
        return dict(zip((*names, "t_statistic"), map(list, zip(*lines, strict=True)), strict=True))


def diagnose(plan: "MatchPlan", random_state: Any = 0) -> Diagnostics:
    """Return how good a plan is."""
    if plan.basis is None:
        raise InputError(
            "this match plan does not know the table that it is for, as one made by hand does not; judge "
            "a plan of fairshap.match, or of one of the matchers of fairshap.matching."
        )
    basis = plan.basis
    rows = np.unique(plan.row)
    matched = np.zeros(plan.n_rows)
    np.add.at(matched, plan.row, plan.weight * plan.distance)
    reference = random_references(basis, plan.n_rows, random_state)[rows]
    table, side = basis.problem.table, basis.problem.groups.side
    columns = np.setdiff1d(np.arange(len(table.names)), basis.problem.columns).tolist()
    samples = samples_of(side, plan.row, plan.reference, plan.weight)
    differences = np.empty((len(columns), 3))
    for k, column in enumerate(columns):
        of_kind = of_numbers if table.is_numeric(column) else of_categories
        differences[k] = of_kind(table.column(column), samples)
    return Diagnostics(
        matched=matched[rows],
        random=np.sqrt(basis.space.squared(rows, reference)),
        side=side[rows],
        columns=tuple(table.names[column] for column in columns),
        differences=differences,
        reuse=np.bincount(plan.reference[plan.weight > 0], minlength=plan.n_rows),
        unmatched=plan.unmatched,
        notes=dict(basis.notes),
        library=plan.library,
    )


def random_references(basis: "Basis", n_rows: int, random_state: Any = 0) -> Ints:
    """Return for each row one of those that it could have been matched with, any with equal chance; or -1."""
    rng = check_random_state(random_state)
    drawn, known = np.full(n_rows, -1, dtype=np.int64), np.zeros(n_rows)
    for stratum in basis.strata:
        for rows, others in (stratum, stratum[::-1]):
            # A row of several strata is drawn for in each; the new draw is kept by the share of its stratum.
            known[rows] += len(others)
            taken = rows[rng.random_sample(len(rows)) * known[rows] < len(others)]
            drawn[taken] = others[rng.randint(len(others), size=len(taken))]
    return drawn


def _compare(matched: Floats, random: Floats) -> list[float]:
    """Return mean and standard deviation of two samples of one size, Cohen's d and t."""
    n = len(matched)
    means = [float(part.mean()) if n else np.nan for part in (matched, random)]
    stds = [float(part.std(ddof=1)) if n > 1 else np.nan for part in (matched, random)]
    scale = np.sqrt((stds[0] ** 2 + stds[1] ** 2) / 2)
    d = (means[1] - means[0]) / scale if scale else np.nan
    return [means[0], stds[0], means[1], stds[1], float(d), float(d * np.sqrt(n / 2))]


def samples_of(side: Sides, row: Ints, reference: Ints, weight: Floats) -> Floats:
    """Return what each row counts in three comparisons of two samples, shape (3, 2, rows).

    These are both groups, and the matched rows of either with their references, privileged rows second.
    """
    n = len(side)
    samples = np.empty((3, 2, n))
    samples[0] = side == 0, side == 1
    # The two are not averaged: where they go opposite ways, that would hide both.
    for s in (0, 1):
        pairs = side[row] == s
        samples[1 + s, s] = np.bincount(row[pairs], minlength=n) > 0
        samples[1 + s, 1 - s] = np.bincount(reference[pairs], weight[pairs], minlength=n)
    return samples


@np.errstate(divide="ignore", invalid="ignore")
def of_numbers(values: Floats, samples: Floats) -> Floats:
    """Return the three differences of a column of numbers, in units of its deviation before matching."""
    present = ~np.isnan(values)
    samples = samples * present
    totals = samples.sum(axis=2)
    means = samples @ np.where(present, values, 0.0) / totals
    spread = np.where(present, values - means[0][:, None], 0.0) ** 2
    scale = np.sqrt(((samples[0] * spread).sum(axis=1) / totals[0]).mean())
    gaps = means[:, 1] - means[:, 0]
    return np.where(gaps == 0, 0.0, gaps / scale)


@np.errstate(invalid="ignore")
def of_categories(codes: AnyCodes, samples: Floats) -> Floats:
    """Return the three differences of a column of categories, each from 0 on.

    With d the differences of the categories' shares, e half of those before matching and S the mean of the
    two groups' multinomial covariances, it is ``sqrt(d' S^-1 d)``: for two categories the
    difference of the shares over their pooled standard deviation. S is a diagonal D of the mean shares, less
    two products, so that ``d' S^-1 d = d' D^-1 d + (e' D^-1 d)^2 / (1 - e' D^-1 e)``. A missing category is
    a category.
    """
    codes = codes.astype(np.int64) + 1
    counts = np.array([[np.bincount(codes, weights) for weights in pair] for pair in samples])
    shares = counts / counts.sum(axis=2, keepdims=True)
    gaps, mean = shares[:, 1] - shares[:, 0], shares[0].mean(axis=0)
    inverse = np.divide(1.0, mean, out=np.zeros(len(mean)), where=mean > 0)
    half = inverse * gaps[0] / 2
    rest, along = 1.0 - half @ gaps[0] / 2, gaps @ half
    if rest < 1e-12:
        # No category occurs in both groups: the difference has no scale.
        return np.where(np.abs(along) > 1e-12, np.inf, 0.0)
    return np.asarray(np.sqrt(gaps**2 @ inverse + along**2 / rest))
