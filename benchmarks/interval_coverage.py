"""How often 95 % intervals of gaps hold the true gap: made predictions, groups of 5 to 50 %, gaps of 0 to .3.

Beside the intervals in use (Newcombe's, of all held-out rows together) stands a plain peer: the mean over
folds of absolute gaps, with a bootstrap of rows around it. One JSON line at the end.

    python benchmarks/interval_coverage.py [--draws 2000]
"""

import argparse
import json

import numpy as np

from fairshap._crossval import GAPS, MEASURES
from fairshap._crossval.evaluation import Measures
from fairshap._crossval.folds import Predictions

N_FOLDS = 5


def make(
    rng: np.random.Generator, n: int, share: float, gap: float
) -> tuple[list[Predictions], dict[str, float]]:
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
    truth = {"dp": of["high"] - of["low"], "eo": hit - low_hit}
    truth["pqp"] = 0.4 * hit / of["high"] - 0.4 * low_hit / of["low"]
    # Each group has its share in every fold; its rows are in no order.
    folds = [
        Predictions(rows, true[rows], predicted[rows], group[rows], np.zeros(len(rows)))
        for rows in (np.arange(start, n, N_FOLDS) for start in range(N_FOLDS))
    ]
    return folds, truth


def bootstrap_of_fold_means(folds: list[Predictions], rng: np.random.Generator) -> tuple[float, float]:
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
    places = {name: list(MEASURES).index(name) for name in GAPS}
    header = "".join(f"{MEASURES[name].label:>8}" for name in GAPS)
    print(f"{'rows':>6}{'group':>8}{'gap':>6}{header}   DP by bootstrap", flush=True)
    results = {}
    for n in (500, 2000):
        for share in (0.05, 0.1, 0.2, 0.5):
            for gap in (0.0, 0.05, 0.3):
                rng = np.random.default_rng(0)
                held, peer = dict.fromkeys(GAPS, 0), 0
                for _ in range(draws):
                    folds, truth = make(rng, n, share, gap)
                    measures = Measures.of([folds], ["high", "low"])
                    for name, k in places.items():
                        # An interval is that of the group of the higher rate over the other one.
                        pair = measures.pair(0, name)
                        sign = 1 if pair is None or pair[0] == "high" else -1
                        held[name] += measures.low[0, k] <= sign * truth[name] <= measures.high[0, k]
                    low, high = bootstrap_of_fold_means(folds, rng)
                    peer += low <= abs(truth["dp"]) <= high
                cells = "".join(f"{held[name] / draws:8.3f}" for name in GAPS)
                print(f"{n:6}{share:8.0%}{gap:6.2f}{cells}{peer / draws:18.3f}", flush=True)
                shares = {name: held[name] / draws for name in GAPS}
                results[f"{n} rows, {share:.0%}, {gap:g}"] = shares | {"dp by bootstrap": peer / draws}
    print(json.dumps({"benchmark": "interval_coverage", "draws": draws, **results}))


if __name__ == "__main__":
    main()
