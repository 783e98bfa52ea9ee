"""Exact nearest rows, both ways, against faiss (IndexFlatL2) and scikit-learn (brute force).

The protocol's first training fold, raw columns, the largest pair of strata. The peers get the same rows as
float32, numbers standardised and categories one-hot, and as many threads; what takes them too long
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
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from fairshap import datasets
from fairshap._kernels.neighbors.distance import nearest_both_ways
from fairshap._problem import Labels, Setting
from fairshap.matching._space import Space

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
# The queries that a peer is asked at most, in either direction.
FAISS_QUERIES, SKLEARN_QUERIES = 5_000, 1_000

Dense = NDArray[np.float32]
Peer = Callable[[Dense, Dense], Dense]


def largest_pair(name: str):
    """Return the space of a table, and the rows of its largest pair of strata."""
    data = datasets.load(name)
    train, _ = next(KFold(5, shuffle=True, random_state=1).split(data.X))
    X, y = data.X.iloc[train], data.y.iloc[train].to_numpy()
    setting = Setting.read(X, data.sensitive, data.privileged, None, is_fitted=False)
    labels, side = Labels.read(y, len(y)).codes, setting.groups.side
    pairs = [[np.flatnonzero((side == s) & (labels == label)) for s in (0, 1)] for label in (0, 1)]
    space = Space.of(setting.table, setting.columns)
    return space, *max(pairs, key=lambda p: len(p[0]) * len(p[1]))


def one_hot(space: Space) -> Dense:
    """Return the same rows as float32 columns, whose squared distances are ours."""
    scaled = (space.numbers - space.numbers.mean(axis=0)) * np.sqrt(space.weights)
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
    taken = []
    for _ in range(4):
        start = time.perf_counter()
        _, squared_a, _, squared_b = nearest_both_ways(
            numbers[a], codes[a], numbers[b], codes[b], space.costs, compiled=True, n_threads=THREADS
        )
        taken.append(time.perf_counter() - start)
    ours = float(np.median(taken[1:]))
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
    results = {name: run(name) for name in names}
    for name, result in results.items():
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
