"""How often 95 % intervals of gaps hold the true gap: made predictions, groups of 5 to 50 %, gaps of 0 to .3.

Beside the intervals in use (Newcombe's, of all held-out rows together) stands what was used before: the
mean over folds of absolute gaps, with a bootstrap of rows around it.

    python benchmarks/interval_coverage.py [--draws 2000]
"""

import argparse

import numpy as np

from fairshap.model_selection import MEASURES, Judgement, Measured

N_FOLDS = 5
GAPS = {"DP": 2, "EO": 3, "PQP": 4}


def make(
    rng: np.random.Generator, n: int, share: float, gap: float
) -> tuple[list[Judgement], dict[str, float]]:
    """Return folds of made predictions, and the true gaps.

    Positive rows are predicted positive at .75 and .75 - gap, negative ones at .25 and .25 less as much; both
    groups have as many positive rows.
    """
    group = (np.arange(n) < round(n * share)).astype(int)
    true = rng.random(n) < 0.4
    hit, false = 0.75, 0.25
    low_hit, low_false = hit - gap, max(0.02, false - gap)
    rate = np.where(true, np.where(group, low_hit, hit), np.where(group, low_false, false))
    predicted = rng.random(n) < rate
    of = {"high": 0.4 * hit + 0.6 * false, "low": 0.4 * low_hit + 0.6 * low_false}
    truth = {"DP": of["high"] - of["low"], "EO": hit - low_hit}
    truth["PQP"] = 0.4 * hit / of["high"] - 0.4 * low_hit / of["low"]
    # Each group has its share in every fold; its rows are in no order.
    folds = [
        Judgement(rows, true[rows], predicted[rows], group[rows], np.zeros(len(rows)))
        for rows in (np.arange(start, n, N_FOLDS) for start in range(N_FOLDS))
    ]
    return folds, truth


def bootstrap_of_fold_means(folds: list[Judgement], rng: np.random.Generator) -> tuple[float, float]:
    """Return the interval of DP as a mean over folds of absolute gaps, by a bootstrap of the rows of each."""
    drawn = np.zeros(200)
    for fold in folds:
        own = [fold.predicted[fold.group == g] for g in (0, 1)]
        rates = [rng.binomial(len(part), part.mean(), 200) / len(part) for part in own]
        drawn += np.abs(rates[0] - rates[1]) / len(folds)
    mean = np.mean([abs(f.predicted[f.group == 0].mean() - f.predicted[f.group == 1].mean()) for f in folds])
    moved = drawn - drawn.mean() + mean
    low, high = np.quantile(moved, [0.025, 0.975])
    return max(low, 0.0), high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    print(f"{'rows':>6}{'group':>8}{'gap':>6}" + "".join(f"{name:>8}" for name in GAPS) + "   DP before")
    for n in (500, 2000):
        for share in (0.05, 0.1, 0.2, 0.5):
            for gap in (0.0, 0.05, 0.3):
                rng = np.random.default_rng(0)
                held, before = dict.fromkeys(GAPS, 0), 0
                for _ in range(draws):
                    folds, truth = make(rng, n, share, gap)
                    measured = Measured.of([folds], ["high", "low"])
                    for name, k in GAPS.items():
                        # An interval is that of the group of the higher rate over the other one.
                        pair = measured.pair(0, MEASURES[k])
                        sign = 1 if pair is None or pair[0] == "high" else -1
                        held[name] += measured.low[0, k] <= sign * truth[name] <= measured.high[0, k]
                    low, high = bootstrap_of_fold_means(folds, rng)
                    before += low <= abs(truth["DP"]) <= high
                cells = "".join(f"{held[name] / draws:8.3f}" for name in GAPS)
                print(f"{n:6}{share:8.0%}{gap:6.2f}{cells}{before / draws:12.3f}", flush=True)


if __name__ == "__main__":
    main()
