"""The best choice of players against a plain twin: every coalition's row through every tree."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fairshap._kernels.trees.pairs import choose_players
from tests.conftest import examples
from tests.kernels.trees.test_pairs import BASE, N_CUTS, N_FEATURES, make, plain_margin, random_trees

PLAYER = np.array([-1, 0, 1, 1, 2], dtype=np.int32)
SENSITIVE = np.array([True, False, False, False, False])


def plain_risk(trees, x, r, switched, contrasts, replaced, is_logistic):
    outputs = []
    for alternative in switched:
        row = x.copy()
        theirs = np.isin(PLAYER, replaced)
        row[theirs] = r[theirs]
        row[SENSITIVE] = alternative[SENSITIVE]
        output = BASE + 0.5 * plain_margin(trees, row)
        outputs.append(1 / (1 + np.exp(-output)) if is_logistic else output)
    return max(abs(outputs[a] - outputs[b]) for a, b in contrasts)


@examples(60)
@given(
    st.integers(0, 10_000),
    st.booleans(),
    st.integers(2, 3),
    st.sampled_from([0.0, 0.02, 0.3]),
    st.integers(1, 4),
)
def test_no_other_choice_is_better(seed, logistic, n_values, price, most_cells):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, 5, with_categories=True)
    ranks = rng.integers(-1, N_CUTS + 1, size=(6, N_FEATURES)).astype(np.int32)
    rows, references = np.array([0, 1, 2]), np.array([3, 4, 5])
    switched = rng.integers(0, N_CUTS + 1, size=(1, n_values, N_FEATURES)).astype(np.int32)
    contrasts = np.array([[0, k] for k in range(1, n_values)])
    prices = price * rng.random(3)
    cells = rng.integers(0, 3, size=(3, 3)).astype(np.int16)
    walker = make(trees, ranks, contrasts, PLAYER, SENSITIVE, logistic)
    replaced, risks = np.empty((3, 3), dtype=np.bool_), np.empty((3, 2))
    choose_players(walker, rows, references, switched, cells, prices, most_cells, 3, 1e-9, replaced, risks)
    for i in range(3):
        x, r = ranks[rows[i]], ranks[references[i]]
        sets = [[p for p in range(3) if bits >> p & 1] for bits in range(8)]
        risk = {
            tuple(s): plain_risk(trees, x, r, switched[0], contrasts, s, logistic)
            for s in sets
            if all(cells[i, p] for p in s) and cells[i, s].sum() <= most_cells
        }
        total = {s: v + (prices * cells[i])[list(s)].sum() for s, v in risk.items()}
        chosen = tuple(np.flatnonzero(replaced[i]).tolist())
        assert chosen in total
        assert_allclose(risks[i], [risk[()], risk[chosen]], atol=1e-12)
        # Of those that tie the one with the fewest cells, and then with the earliest player not in all.
        ties = [s for s, v in total.items() if v <= min(total.values()) + 1e-9]
        assert chosen == min(ties, key=lambda s: (cells[i, list(s)].sum(), [p not in s for p in range(3)]))


def test_games_of_too_many_players_are_left_open():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 8, 5, with_categories=False)
    ranks = np.vstack([np.zeros(N_FEATURES), np.full(N_FEATURES, N_CUTS)]).astype(np.int32)
    switched = np.array([[[0] * N_FEATURES, [N_CUTS] * N_FEATURES]], dtype=np.int32)
    walker = make(trees, ranks, np.array([[0, 1]]), PLAYER, SENSITIVE, True)
    replaced, risks = np.empty((1, 3), dtype=np.bool_), np.empty((1, 2))
    cells = np.ones((1, 3), dtype=np.int16)
    choose_players(
        walker, np.array([0]), np.array([1]), switched, cells, np.zeros(3), 9, 2, 1e-9, replaced, risks
    )
    assert np.isnan(risks).all()
    assert not replaced.any()
    choose_players(
        walker, np.array([0]), np.array([1]), switched, cells, np.full(3, 9.0), 9, 3, 1e-9, replaced, risks
    )
    assert risks[0, 0] > 0
    assert_array_equal(risks[0, 0], risks[0, 1])
    assert not replaced.any()
