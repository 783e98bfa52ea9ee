"""The tree walker against a plain twin: every coalition's row through every tree, one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fairshap._kernels.shapley import AllCoalitions, shapley_values
from fairshap._kernels.trees.ensemble import (
    Trees,
    active_counts,
    coalition_weights,
    leaf_sums,
    make_descent,
    make_walker,
)
from fairshap._kernels.trees.pairs import coalition_risks, count_players, solve_pairs
from tests.conftest import examples

N_FEATURES, N_CUTS = 5, 3
BASE = 0.25


def random_trees(rng, n_trees, depth, with_categories, n_features=N_FEATURES):
    """Grow trees of random splits on ranks 0 to N_CUTS; the last feature may be a category."""
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
            feature = int(rng.integers(n_features))
            nodes["feature"][here], nodes["cut"][here] = feature, int(rng.integers(N_CUTS))
            if with_categories and feature == n_features - 1:
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


def make(trees, ranks, contrasts, player, sensitive, is_logistic, scale=0.5, is_mean=False):
    n_players = int(player.max()) + 1
    return make_walker(
        trees, sensitive, ranks, player, n_players, contrasts, is_mean, BASE, scale, is_logistic
    )


def solve(walker, rows, references, switched):
    """Return phi, the two risks and how many players there may be and are."""
    bounds = active_counts(walker.ways.ranks, rows, references, walker.ways.player, walker.n_players)
    counts, reached = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.int32)
    count_players(walker, rows, references, switched, reached)
    most = int(bounds.max(initial=0))
    begin = np.arange(len(rows)) * most
    active, flat = np.empty(len(rows) * most, dtype=np.int32), np.empty(len(rows) * most)
    full, empty = np.empty(len(rows)), np.empty(len(rows))
    solve_pairs(
        walker, rows, references, switched, coalition_weights(most), most, begin, counts, active, flat,
        full, empty,
    )  # fmt: skip
    phi = np.zeros((len(rows), walker.n_players))
    for i, start in enumerate(begin):
        mine = slice(start, start + counts[i])
        phi[i, active[mine]] = flat[mine]
    assert (reached <= bounds).all()
    assert (counts <= bounds).all()
    assert (reached == counts)[counts == 0].all() or not walker.output.is_logistic
    return phi, full, empty, bounds


def plain_solution(
    trees, x, r, switched, contrasts, player, sensitive, is_logistic, scale=0.5, is_mean=False
):
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
            output = BASE + scale * plain_margin(trees, row)
            outputs.append(1 / (1 + np.exp(-output)) if is_logistic else output)
        gaps = [abs(outputs[a] - outputs[b]) for a, b in contrasts]
        values[coalition] = np.mean(gaps) if is_mean else max(gaps)
    phi = np.zeros(int(player.max()) + 1)
    phi[players] = shapley_values(values[None])[0]
    return phi, values[-1], values[0]


@examples(40)
@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.integers(2, 3), st.booleans(), st.booleans())
def test_the_walker_finds_what_the_definition_says(seed, categories, logistic, n_values, by_row, is_mean):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, 5, categories)
    ranks = rng.integers(-1, N_CUTS + 1, size=(6, N_FEATURES)).astype(np.int32)
    rows, references = np.array([0, 1, 2]), np.array([3, 4, 5])
    switched = rng.integers(0, N_CUTS + 1, size=(3 if by_row else 1, n_values, N_FEATURES)).astype(np.int32)
    contrasts = np.array([[0, k] for k in range(1, n_values)])
    sensitive = np.array([True, False, False, False, False])
    player = np.array([-1, 0, 1, 1, 2], dtype=np.int32)
    walker = make(trees, ranks, contrasts, player, sensitive, logistic, is_mean=is_mean)
    phi, full, empty, counts = solve(walker, rows, references, switched)
    for i in range(3):
        x, r = ranks[rows[i]], ranks[references[i]]
        expected = plain_solution(
            trees, x, r, switched[i if by_row else 0], contrasts, player, sensitive, logistic, is_mean=is_mean
        )
        assert_allclose(phi[i], expected[0], atol=1e-12)
        assert_allclose([full[i], empty[i]], expected[1:], atol=1e-12)
        assert counts[i] == len(set(player[(x != r) & ~sensitive]))


# Players within a row of coalitions side by side, within a chunk of such rows, and beyond one. Deep trees
# name more of them on a path than they leave open.
@pytest.mark.parametrize(
    ("n_players", "n_trees", "depth"), [(4, 6, 4), (6, 8, 4), (7, 3, 10), (9, 8, 5), (10, 2, 11), (13, 5, 4)]
)
@pytest.mark.parametrize("is_mean", [False, True])
def test_games_of_many_players_are_those_of_the_definition(n_players, n_trees, depth, is_mean):
    rng = np.random.default_rng(n_players)
    trees = random_trees(rng, n_trees, depth, with_categories=False, n_features=n_players + 1)
    ranks = np.zeros((2, n_players + 1), dtype=np.int32)
    ranks[1] = N_CUTS
    switched = rng.integers(0, N_CUTS + 1, size=(1, 3, n_players + 1)).astype(np.int32)
    contrasts = np.array([[0, 1], [0, 2]])
    player = np.arange(-1, n_players, dtype=np.int32)
    walker = make(trees, ranks, contrasts, player, player < 0, is_logistic=True, is_mean=is_mean)
    phi, full, empty, counts = solve(walker, np.array([0]), np.array([1]), switched)
    assert counts.tolist() == [n_players]
    expected = plain_solution(
        trees, *ranks, switched[0], contrasts, player, player < 0, is_logistic=True, is_mean=is_mean
    )
    assert_allclose(phi[0], expected[0], atol=1e-12)
    assert_allclose([full[0], empty[0]], expected[1:], atol=1e-12)


@examples(20)
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
    walker = make(trees, ranks, contrasts, player, sensitive, logistic)
    phi, full, empty, counts = solve(walker, *pair, switched)
    assert counts.tolist() == [3]
    risks, active = np.empty((1, 8)), np.empty((1, 3), dtype=np.int32)
    coalition_risks(walker, *pair, switched, AllCoalitions(3)[:], active, risks)
    assert_allclose(risks[0, [7, 0]], [full[0], empty[0]], atol=1e-12)
    assert_allclose(shapley_values(risks)[0], phi[0, active[0]], atol=1e-12)


def test_margins_are_the_sums_of_the_leaves():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 6, 4, with_categories=True)
    ranks = rng.integers(-1, N_CUTS + 1, size=(70, N_FEATURES)).astype(np.int32)
    descent = make_descent(trees, np.zeros(N_FEATURES, dtype=np.bool_))
    assert_allclose(
        leaf_sums(descent, trees.value, ranks), [plain_margin(trees, row) for row in ranks], atol=1e-12
    )


def test_rows_that_go_the_same_way_have_nothing_to_attribute():
    rng = np.random.default_rng(1)
    trees = random_trees(rng, 3, 4, with_categories=False)
    ranks = np.tile(rng.integers(0, N_CUTS, N_FEATURES), (2, 1)).astype(np.int32)
    player = np.array([-1, 0, 1, 2, 3], dtype=np.int32)
    sensitive = player < 0
    walker = make(trees, ranks, np.array([[0, 1]]), player, sensitive, is_logistic=True)
    phi, full, empty, counts = solve(walker, np.array([0]), np.array([1]), np.stack([ranks]))
    assert counts.tolist() == [0]
    assert (phi == 0).all()
    assert full == empty == pytest.approx(0)


@examples(20)
@given(st.integers(0, 10_000), st.sampled_from([-400.0, 400.0]))
def test_margins_whose_exponentials_overflow_are_summed(seed, scale):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, 4, with_categories=False)
    ranks = rng.integers(0, N_CUTS + 1, size=(2, N_FEATURES)).astype(np.int32)
    switched = rng.integers(0, N_CUTS + 1, size=(1, 3, N_FEATURES)).astype(np.int32)
    contrasts = np.array([[0, 1], [0, 2], [1, 2]])
    player = np.array([-1, 0, 1, 1, 2], dtype=np.int32)
    walker = make(trees, ranks, contrasts, player, player < 0, is_logistic=True, scale=scale)
    phi, full, empty, _ = solve(walker, np.array([0]), np.array([1]), switched)
    with np.errstate(over="ignore"):
        expected = plain_solution(
            trees, *ranks, switched[0], contrasts, player, player < 0, is_logistic=True, scale=scale
        )
    assert_allclose(phi[0], expected[0], atol=1e-12)
    assert_allclose([full[0], empty[0]], expected[1:], atol=1e-12)


def test_players_beyond_the_bits_of_a_number_are_counted_as_too_many():
    n = 70
    trees = Trees(
        roots=np.arange(0, 5 * n, 5, dtype=np.int32),
        feature=np.tile([0, 0, 0, 0, 0], n).astype(np.int32),
        cut=np.zeros(5 * n, dtype=np.int32),
        left=np.array([[5 * k + 1, 5 * k + 3, -1, -1, -1] for k in range(n)], dtype=np.int32).ravel(),
        right=np.array([[5 * k + 2, 5 * k + 4, -1, -1, -1] for k in range(n)], dtype=np.int32).ravel(),
        default_left=np.zeros(5 * n, dtype=np.bool_),
        table_start=np.full(5 * n, -1, dtype=np.int32),
        table=np.zeros(0, dtype=np.bool_),
        value=np.arange(5.0 * n),
    )
    trees.feature[1::5] = np.arange(1, n + 1)
    ranks = np.zeros((2, n + 1), dtype=np.int32)
    ranks[1] = 1
    player = np.arange(-1, n, dtype=np.int32)
    walker = make_walker(
        trees, player < 0, ranks, player, n, np.array([[0, 1]]), False, 0.0, 1.0, is_logistic=True
    )
    counts = np.empty(1, dtype=np.int32)
    count_players(walker, np.array([0]), np.array([1]), ranks[None], counts)
    assert counts.tolist() == [63]
    # The attribute at the end, where no path has come to when the players have run out.
    late = trees._replace(feature=trees.feature.copy())
    late.feature[::5], late.feature[1::5] = np.arange(1, n + 1), 0
    late.cut[1::5] = 5
    walker = make_walker(
        late, player < 0, ranks, player, n, np.array([[0, 1]]), False, 0.0, 1.0, is_logistic=True
    )
    count_players(walker, np.array([0]), np.array([1]), ranks[None], counts)
    assert counts.tolist() == [63]
