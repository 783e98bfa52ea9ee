"""Exact nearest rows, both ways, against faiss (IndexFlatL2) and scikit-learn (brute force).

The protocol's first training fold, raw columns, the largest pair of strata. The peers get the same rows as
float32, numbers standardized and categories one-hot, and as many threads; what takes them too long
they do for the stated number of queries against all references, and their time is scaled up.
Ours: median of three, warm. One JSON line at the end.
"""

import json
import os
import sys
import time
from collections.abc import Callable

import faiss
import numpy as np
from common import median_seconds, training_fold
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from fairshap import FairSHAP
from fairshap._kernels.neighbors.distance import nearest_both_ways
from fairshap.matching._plan import Space, strata_of

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
# The queries that a peer is asked at most, in either direction.
FAISS_QUERIES, SKLEARN_QUERIES = 5_000, 1_000

Dense = NDArray[np.float32]
Peer = Callable[[Dense, Dense], Dense]


def largest_pair(name: str):
    """Return the space of a table, and the rows of its largest pair of strata."""
    X, y, who = training_fold(name)
    problem = FairSHAP(**who)._problem(X, y)
    strata = strata_of(problem.groups, problem.y, each=False)
    return Space.of(problem.table, problem.columns), *max(strata, key=lambda s: len(s[0]) * len(s[1]))


def one_hot(space: Space) -> Dense:
    """Return the same rows as float32 columns, whose squared distances are ours."""
    scaled = (space.numbers - space.numbers.mean(axis=0)) * np.sqrt(space.costs.weights)
    parts = [np.nan_to_num(scaled).astype(np.float32)]
    for column in space.codes.T:
        values, places = np.unique(column, return_inverse=True)
        parts.append(np.eye(len(values), dtype=np.float32)[places])
    return np.ascontiguousarray(np.hstack(parts))


def by_faiss(queries: Dense, references: Dense) -> Dense:
    index = faiss.IndexFlatL2(references.shape[1])
    index.add(references)
    squared, _ = index.search(queries, 1)
    return np.sqrt(np.maximum(squared[:, 0], 0))


def by_sklearn(queries: Dense, references: Dense) -> Dense:
    search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(references)
    return search.kneighbors(queries)[0][:, 0]


def ask(peer: Peer, dense: list[Dense], ours: list[NDArray[np.float64]], limit: int) -> tuple[float, float]:
    """Return the seconds that a peer takes for both directions, and how far its distances are from ours."""
    taken, difference = 0.0, 0.0
    rng = np.random.default_rng(0)
    for queries, references, distances in ((*dense, ours[0]), (*dense[::-1], ours[1])):
        rows = np.sort(rng.permutation(len(queries))[:limit])
        start = time.perf_counter()
        found = peer(queries[rows], references)
        taken += (time.perf_counter() - start) * len(queries) / len(rows)
        difference = max(difference, float(np.abs(found - distances[rows]).max()))
    return taken, difference


def run(name: str) -> dict[str, float]:
    space, a, b = largest_pair(name)
    numbers, codes = space.numbers, space.codes

    def search():
        return nearest_both_ways(
            numbers[a], codes[a], numbers[b], codes[b], space.costs, compiled=True, n_threads=THREADS
        )

    _, squared_a, _, squared_b = search()
    ours = median_seconds(search)
    dense = one_hot(space)
    sides, distances = [dense[a], dense[b]], [np.sqrt(squared_a[:, 0]), np.sqrt(squared_b[:, 0])]
    del dense
    result = {"rows": len(a), "other_rows": len(b), "columns": sides[0].shape[1], "seconds": round(ours, 3)}
    faiss.omp_set_num_threads(THREADS)
    for word, peer, limit in (
        ("faiss", by_faiss, FAISS_QUERIES),
        ("sklearn", by_sklearn, SKLEARN_QUERIES),
    ):
        with threadpool_limits(THREADS):
            seconds, difference = ask(peer, sides, distances, limit)
        result |= {
            f"{word}_queries": min(limit, len(a)) + min(limit, len(b)),
            f"{word}_seconds": round(seconds, 3),
            f"{word}_ratio": round(seconds / ours, 1),
            f"{word}_difference": round(difference, 6),
        }
    return result


def main() -> None:
    names = sys.argv[1:] or ["adult", "credit", "census_kdd"]
    results = {}
    for name in names:
        result = results[name] = run(name)
        print(
            f"{name:12} {result['rows']} x {result['other_rows']} rows, {result['columns']} one-hot columns, "
            f"{THREADS} threads: {result['seconds']:.3f} s"
        )
        for word in ("faiss", "sklearn"):
            print(
                f"  {word:8} {result[f'{word}_seconds']:9.3f} s ({result[f'{word}_queries']} queries)  "
                f"ratio {result[f'{word}_ratio']:7.1f}  largest difference {result[f'{word}_difference']:.2g}"
            )
    print(json.dumps({"benchmark": "matching", "threads": THREADS, **results}))


if __name__ == "__main__":
    main()
