"""How often the 95 % intervals of evidence hold the truth, on made data whose truth is known.

    python benchmarks/interval_coverage.py [SIMULATIONS]

Each line draws that many tables and counts. A share among few rows is discrete, so that its coverage swings
around 95 % with the truth: such lines average over truths that are drawn too. The aim is 95 +- 1.5 %.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import norm

from fairshap.evidence._figures import Figure, auc, average, change, difference, ratio, share

Draw = Iterator[tuple[Figure, float]]


def flips(rng: np.random.Generator, n: int, p: float) -> np.ndarray:
    return (rng.uniform(size=n) < p) * 1.0


def shares(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    p = rng.uniform(0.05, 0.95)
    return share(flips(rng, n, p), np.ones(n), np.ones(n)).figure(), p


def weighted_shares(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    # Weights that go with the outcome, as in a survey that asks some people more often than others.
    p, odd = rng.uniform(0.1, 0.9), rng.uniform(0.2, 0.8)
    kind = rng.uniform(size=n) < odd
    hit = np.where(kind, flips(rng, n, p), flips(rng, n, 0.5))
    weight = np.where(kind, 2.0, 0.5) * rng.uniform(0.5, 1.5, n)
    truth = (2.0 * odd * p + 0.5 * (1 - odd) * 0.5) / (2.0 * odd + 0.5 * (1 - odd))
    return share(hit, np.ones(n), weight).figure(), truth


def two(rng: np.random.Generator, n: int) -> tuple[tuple, tuple[float, float]]:
    truths = rng.uniform(0.1, 0.9, 2)
    sizes = (n, max(10, n // 3))
    levels = tuple(
        share(flips(rng, m, p), np.ones(m), np.ones(m)) for m, p in zip(sizes, truths, strict=True)
    )
    # The reference is the higher one, as in an audit.
    order = sorted(range(2), key=lambda k: levels[k].value)
    return tuple(levels[k] for k in order), tuple(truths[k] for k in order)


def differences(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    levels, truths = two(rng, n)
    return difference(*levels), truths[0] - truths[1]


def ratios(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    levels, truths = two(rng, n)
    return ratio(*levels), truths[0] / truths[1]


def precisions(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    p = rng.uniform(0.1, 0.9)
    among = flips(rng, n, 0.4)
    return share(among * flips(rng, n, p), among, np.ones(n)).figure(), p


def aucs(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    shift = rng.uniform(0.0, 1.5)
    true = flips(rng, n, 0.4)
    score = rng.normal(size=n) + shift * true
    found = auc(true, [(np.arange(n), score)], np.ones(n, dtype=bool), np.ones(n)).figure()
    return found, float(norm.cdf(shift / np.sqrt(2)))


def means(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    weight = rng.uniform(0.5, 1.5, n)
    return average(rng.exponential(2.0, n), np.ones(n), weight).figure(), 2.0


def changes(rng: np.random.Generator, n: int) -> tuple[Figure, float]:
    # Two models that agree about most rows.
    before = flips(rng, n, 0.4)
    after = np.where(rng.uniform(size=n) < 0.1, flips(rng, n, 0.1), before)
    one, other = (share(hit, np.ones(n), np.ones(n)) for hit in (before, after))
    return change(one, other), 0.1 * (0.1 - 0.4)


KINDS: dict[str, Callable[[np.random.Generator, int], tuple[Figure, float]]] = {
    "share (Wilson)": shares,
    "weighted share": weighted_shares,
    "precision (share of a random number of rows)": precisions,
    "difference of two groups (Newcombe)": differences,
    "ratio of two groups (MOVER)": ratios,
    "ROC AUC (DeLong)": aucs,
    "weighted mean": means,
    "change between two models": changes,
}


def main(n_simulations: int = 4000) -> None:
    print(f"Coverage of 95 % intervals in {n_simulations:,} made tables, by the number of rows")
    print(f"{'figure':<46}" + "".join(f"{n:>8}" for n in (30, 100, 500, 2000)))
    for name, draw in KINDS.items():
        cells = []
        for n in (30, 100, 500, 2000):
            rng = np.random.default_rng(n)
            held = [
                figure.low <= truth <= figure.high
                for figure, truth in (draw(rng, n) for _ in range(n_simulations))
            ]
            cells.append(np.mean(held))
        print(f"{name:<46}" + "".join(f"{100 * one:>7.1f}%" for one in cells))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
