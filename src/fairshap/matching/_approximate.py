"""Near rows that are nearest for the most part, by way of a graph that is searched greedily."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairshap._kernels.neighbors.distance import is_large, nearest_both_ways
from fairshap._progress import in_threads
from fairshap._typing import Floats, Ints
from fairshap.exceptions import MissingExtraError
from fairshap.matching._embedding import Points, embed
from fairshap.matching._space import Space

# The graph: neighbours of a point, and candidates that are kept while it is built and while it is searched.
_NEIGHBOURS, _WHILE_BUILT, _WHILE_SEARCHED = 16, 40, 64
# Candidates beyond k, so that rounding to 32 bits and missing numbers cost no reference.
_MORE = 8
# References up to which a graph does not pay.
_FEW = 1_000
# The rows of the sample that is searched exactly too.
SAMPLE = 500
# The cells of candidates compared at a time.
_BLOCK_CELLS = 1 << 22

#: Rows, those that may be their references, and the nearest and how far they are, squared.
Direction = tuple[Ints, Ints, Ints, Floats]


def search_approximately(
    space: Space,
    directions: list[tuple[Ints, Ints]],
    k: int,
    n_threads: int,
    advance: Callable[[int], None],
) -> list[Direction]:
    """Return k near rows among the others for each of the rows, as exact searches do.

    Each direction is one piece of work for one thread, so that the number of threads changes nothing.
    """
    faiss = _faiss()
    points = embed(space)
    # Squares of 32 bits overflow early; a common scale changes no order.
    points /= max(1.0, float(np.abs(points).max(initial=0.0)))
    found: dict[int, tuple[Ints, Floats]] = {}

    def work(i: int) -> tuple[Ints, Floats]:
        rows, others = directions[i]
        if len(others) <= max(_FEW, k + _MORE) or not len(rows):
            return _exactly(space, rows, others, k)
        candidates = _candidates(faiss, points[others], points[rows], k + _MORE)
        nearest, squared = _first(space, rows, others, candidates, k)
        # A graph can have parts that are not reached from everywhere.
        lost = np.flatnonzero(~np.isfinite(squared[:, -1]))
        if len(lost):
            nearest[lost], squared[lost] = _exactly(space, rows[lost], others, k)
        return nearest, squared

    def keep(item: tuple[int, ...], part: tuple[Ints, Floats]) -> None:
        found[item[0]] = part
        advance(len(part[0]))

    in_threads(work, [(i,) for i in range(len(directions))], n_threads, keep)
    return [(*directions[i], *found[i]) for i in range(len(directions))]


def measure(space: Space, found: list[Direction], k: int, rng: np.random.RandomState) -> dict[str, Any]:
    """Return how near the found rows are to the nearest, in a sample of rows.

    ``recall`` is the share of the found references that are no farther than the k-th nearest row;
    ``distance_ratio`` what all found distances sum to, over what the nearest do.
    """
    sizes = [len(rows) if len(others) else 0 for rows, others, _, _ in found]
    total = sum(sizes)
    sample = np.sort(rng.choice(total, min(SAMPLE, total), replace=False))
    n_hits, n_pairs, ours, least = 0, 0, 0.0, 0.0
    for (rows, others, _, squared), start in zip(found, np.cumsum([0, *sizes]), strict=False):
        chosen = sample[(sample >= start) & (sample < start + len(rows))] - start
        if not len(others) or not len(chosen):
            continue
        nearest, _ = _exactly(space, rows[chosen], others, k)
        # Taken of the pairs, as those of the found ones are: they have the same last bit.
        mine = np.repeat(rows[chosen], nearest.shape[1])
        exact = space.squared_of_pairs(mine, others[nearest.ravel()]).reshape(nearest.shape)
        n_hits += int((squared[chosen] <= exact.max(axis=1, keepdims=True)).sum())
        n_pairs += exact.size
        ours += float(np.sqrt(squared[chosen]).sum())
        least += float(np.sqrt(exact).sum())
    ratio = ours / least if least > 0 else 1.0 if ours == 0 else np.inf
    return {"sampled_rows": len(sample), "recall": n_hits / max(n_pairs, 1), "distance_ratio": ratio}


def _faiss() -> Any:
    """Return the library that makes and searches graphs."""
    try:
        # Not at the top: it is an extra.
        import faiss
    except ImportError as error:
        raise MissingExtraError("search='approximate'", "faiss-cpu", "approximate") from error
    return faiss


def _candidates(faiss: Any, references: Points, queries: Points, size: int) -> Ints:
    """Return places of near references, -1 where none was found."""
    with _one_thread(faiss):
        index = faiss.IndexHNSWFlat(references.shape[1], _NEIGHBOURS)
        index.hnsw.efConstruction = _WHILE_BUILT
        index.hnsw.efSearch = max(_WHILE_SEARCHED, 2 * size)
        index.add(references)
        _, places = index.search(queries, min(size, len(references)))
    return np.asarray(places, dtype=np.int64)


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """Keep the library from starting threads: a graph that several build is another one every time."""
    n_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(n_threads)


def _first(space: Space, rows: Ints, others: Ints, candidates: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the k nearest of each row's candidates; ties go to the lowest row."""
    nearest, squared = np.empty((len(rows), k), dtype=np.int64), np.empty((len(rows), k))
    width = candidates.shape[1]
    size = max(1, _BLOCK_CELLS // (width * max(1, space.width)))
    for start in range(0, len(rows), size):
        block = slice(start, start + size)
        places = candidates[block]
        mine = np.repeat(rows[block], width)
        distances = space.squared_of_pairs(mine, others[places.ravel()]).reshape(places.shape)
        distances[places < 0] = np.inf
        order = np.lexsort((places, distances), axis=1)[:, :k]
        nearest[block] = np.take_along_axis(places, order, axis=1)
        squared[block] = np.take_along_axis(distances, order, axis=1)
    return nearest, squared


def _exactly(space: Space, rows: Ints, others: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the k nearest of the others for each row."""
    numbers, codes = space.numbers, space.codes
    nearest, squared, _, _ = nearest_both_ways(
        *(numbers[rows], codes[rows], numbers[others], codes[others], space.costs),
        k=k,
        compiled=is_large([(len(rows), len(others))], space.width),
    )
    return nearest, squared
