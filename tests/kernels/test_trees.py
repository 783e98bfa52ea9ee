"""The tree walker against a plain twin: every coalition's row through every tree, one at a time."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fairshap._kernels.shapley import AllCoalitions, shapley_values
from fairshap._kernels.trees import Trees, active_counts, attribute_trees, coalition_risks, margins

N_FEATURES, N_CUTS = 5, 3


def random_trees(rng, n_trees, depth, with_categories):
    """Grow trees of random splits on ranks 0 to N_CUTS; feature 4 may be a category."""
    nodes = {name: [] for name in ("feature", "cut", "left", "right", "default_left", "table_start", "value")}
    table = []

    def grow(level):
        here = len(nodes["left"])
        for name in nodes:
            nodes[name].append(0)
        nodes["left"][here] = nodes["right"][here] = nodes["table_start"][here] = -1
        nodes["value"][here] = rng.normal()
        nodes["default_left"][here] = bool(rng.integers(2))
        if level < depth and rng.random() < 0.9:
            feature = int(rng.integers(N_FEATURES))
            nodes["feature"][here], nodes["cut"][here] = feature, int(rng.integers(N_CUTS))
            if with_categories and feature == N_FEATURES - 1:
                nodes["table_start"][here] = len(table)
                table.extend(bool(b) for b in rng.integers(0, 2, N_CUTS + 1))
            nodes["left"][here], nodes["right"][here] = grow(level + 1), grow(level + 1)
        return here

    roots = [grow(0) for _ in range(n_trees)]
    kinds = {"default_left": np.bool_, "value": np.float64}
    arrays = {name: np.array(column, dtype=kinds.get(name, np.int32)) for name, column in nodes.items()}
    return Trees(roots=np.array(roots, dtype=np.int32), table=np.array(table, dtype=np.bool_), **arrays)


def plain_margin(trees, row):
    total = 0.0
    for root in trees.roots:
        node = root
        while trees.left[node] >= 0:
            rank = row[trees.feature[node]]
            if rank < 0:
                left = trees.default_left[node]
            elif trees.table_start[node] >= 0:
                left = trees.table[trees.table_start[node] + rank]
            else:
                left = rank <= trees.cut[node]
            node = trees.left[node] if left else trees.right[node]
        total += trees.value[node]
    return total


def solve(trees, ranks, rows, references, switched, contrasts, player, sensitive, is_logistic):
    counts = active_counts(ranks, rows, references, player, int(player.max()) + 1)
    most = int(counts.max(initial=0))
    weights = np.zeros((most + 1, most + 2))
    for q in range(1, most + 1):
        weights[q, 1 : q + 1] = [1 / (q * comb(q - 1, size)) for size in range(q)]
    phi = np.zeros((len(rows), int(player.max()) + 1))
    full, empty = np.empty(len(rows)), np.empty(len(rows))
    uses = np.array(
        [
            any(trees.left[n] >= 0 and sensitive[trees.feature[n]] for n in range(start, stop))
            for start, stop in zip(trees.roots, [*trees.roots[1:], len(trees.left)], strict=True)
        ]
    )
    attribute_trees(
        trees, uses, ranks, rows, references, switched, contrasts, player, sensitive, phi.shape[1],
        0.25, 0.5, is_logistic, 10, most, np.bitwise_count(np.arange(1 << most)).astype(np.int32),
        weights, phi, full, empty,
    )  # fmt: skip
    return phi, full, empty, counts


def plain_solution(trees, x, r, switched, contrasts, player, sensitive, is_logistic):
    """Return phi and the two risks of one pair from the rows of all coalitions of all players."""
    players = sorted(set(player[~sensitive]))
    values = np.empty(1 << len(players))
    for coalition in range(len(values)):
        outputs = []
        for alternative in switched:
            row = r.copy()
            for k, p in enumerate(players):
                if coalition >> k & 1:
                    row[player == p] = x[player == p]
            row[sensitive] = alternative[sensitive]
            output = 0.25 + 0.5 * plain_margin(trees, row)
            outputs.append(1 / (1 + np.exp(-output)) if is_logistic else output)
        values[coalition] = max(abs(outputs[a] - outputs[b]) for a, b in contrasts)
    phi = np.zeros(int(player.max()) + 1)
    phi[players] = shapley_values(values[None])[0]
    return phi, values[-1], values[0]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.integers(2, 3), st.booleans())
def test_the_walker_finds_what_the_definition_says(seed, categories, logistic, n_values, by_row):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, 5, categories)
    ranks = rng.integers(-1, N_CUTS + 1, size=(6, N_FEATURES)).astype(np.int32)
    rows, references = np.array([0, 1, 2]), np.array([3, 4, 5])
    switched = rng.integers(0, N_CUTS + 1, size=(3 if by_row else 1, n_values, N_FEATURES)).astype(np.int32)
    contrasts = np.array([[0, k] for k in range(1, n_values)])
    sensitive = np.array([True, False, False, False, False])
    player = np.array([-1, 0, 1, 1, 2], dtype=np.int32)
    phi, full, empty, counts = solve(
        trees, ranks, rows, references, switched, contrasts, player, sensitive, logistic
    )
    for i in range(3):
        x, r = ranks[rows[i]], ranks[references[i]]
        expected = plain_solution(
            trees, x, r, switched[i if by_row else 0], contrasts, player, sensitive, logistic
        )
        assert_allclose(phi[i], expected[0], atol=1e-12)
        assert_allclose([full[i], empty[i]], expected[1:], atol=1e-12)
        assert counts[i] == len(set(player[(x != r) & ~sensitive]))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.booleans())
def test_single_coalitions_have_the_risks_that_the_walker_sums_up(seed, logistic):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, 5, with_categories=True)
    x = rng.integers(0, 2, N_FEATURES)
    ranks = np.stack([x, x + 2]).astype(np.int32)
    switched = rng.integers(0, N_CUTS + 1, size=(1, 2, N_FEATURES)).astype(np.int32)
    sensitive = np.array([True, False, False, False, False])
    player = np.array([-1, 0, 1, 1, 2], dtype=np.int32)
    pair, contrasts = (np.array([0]), np.array([1])), np.array([[0, 1]])
    phi, full, empty, counts = solve(trees, ranks, *pair, switched, contrasts, player, sensitive, logistic)
    assert counts.tolist() == [3]
    risks, active = np.empty((1, 8)), np.empty((1, 3), dtype=np.int32)
    uses = np.ones(len(trees.roots), dtype=np.bool_)
    coalition_risks(
        trees, uses, ranks, *pair, switched, contrasts, player, sensitive, 3, 0.25, 0.5, logistic,
        AllCoalitions(3)[:], active, risks,
    )  # fmt: skip
    assert_allclose(risks[0, [7, 0]], [full[0], empty[0]], atol=1e-12)
    assert_allclose(shapley_values(risks)[0], phi[0, active[0]], atol=1e-12)


def test_margins_are_the_sums_of_the_leaves():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 6, 4, with_categories=True)
    ranks = rng.integers(-1, N_CUTS + 1, size=(50, N_FEATURES)).astype(np.int32)
    assert_allclose(margins(trees, ranks), [plain_margin(trees, row) for row in ranks], atol=1e-12)


def test_rows_that_go_the_same_way_have_nothing_to_attribute():
    rng = np.random.default_rng(1)
    trees = random_trees(rng, 3, 4, with_categories=False)
    ranks = np.tile(rng.integers(0, N_CUTS, N_FEATURES), (2, 1)).astype(np.int32)
    player = np.array([-1, 0, 1, 2, 3], dtype=np.int32)
    sensitive = player < 0
    phi, full, empty, counts = solve(
        trees, ranks, np.array([0]), np.array([1]), np.stack([ranks]), np.array([[0, 1]]), player, sensitive,
        is_logistic=True,
    )  # fmt: skip
    assert counts.tolist() == [0]
    assert (phi == 0).all()
    assert full == empty == pytest.approx(0)
