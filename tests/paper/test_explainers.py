import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from paper.explainers import (
    EXACT,
    EXPLAINERS,
    Games,
    compare_costs,
    finish,
    measure_sample,
    measure_whole,
    plan,
)
from paper.jobs import Options

OPTIONS = Options(("german:sex",), folds=2)
ROWS = np.arange(4)


@pytest.fixture(scope="module")
def games():
    # Twenty folds: few test rows, and the model sees nearly all.
    return Games.load("german:sex", 0, 20, 0)


@pytest.mark.parametrize("method", EXPLAINERS)
def test_explainers_play_the_same_games(games, method):
    shared = np.random.get_state
    before = shared()[1].copy()
    values, _ = games.explain(method, ROWS)
    assert_array_equal(shared()[1], before)
    exact = games.exact
    # Whatever they estimate, the values add up to the gain.
    assert_allclose(values.sum(axis=1), (exact.risk - exact.reference_risk)[ROWS], atol=1e-4)
    assert_allclose(values, exact.values[ROWS], atol=0.05)
    assert_array_equal(games.explain(method, ROWS)[0], values)


def test_risk_is_what_the_library_says(games):
    assert_allclose(games.risk(games.fold.X), games.exact.risk, atol=1e-6)


@pytest.fixture(scope="module")
def records():
    found = measure_whole("german:sex", 0, 2, 0, "", EXACT)
    found += measure_whole("german:sex", 0, 2, 0, "", "Kernel explainer")
    for fold in range(2):
        found += measure_sample("german:sex", fold, 2, 0, "", 5)
    return found


def test_the_page_says_what_was_found(records):
    findings = finish(records, OPTIONS)
    page = findings.pages["explainers"]
    assert "10 of German (sex) in all" in page
    assert "Not done, since it takes too long: the Permutation explainer on German (sex) (" in page
    means = findings.frames["explainers"].set_index(["method", "metric"])["mean"]
    paper = findings.frames["explainers"].set_index(["method", "metric"])["paper_mean"]
    assert means[EXACT, "largest_error"] == means[EXACT, "differing"] == 0
    assert means["Kernel explainer", "largest_error"] < 0.02
    assert means["Kernel explainer", "differing"] <= 2
    assert means[EXACT, "edits"] > 50
    assert means["Kernel explainer", "dr"] < means["Baseline", "dr"]
    assert paper["Kernel explainer", "dr"] == 0.024
    assert set(findings.figures) == {"explainers", "explainers_metrics"}
    titles = [ax.get_title() for ax in findings.figures["explainers"]()]
    assert titles[:2] == ["CPU milliseconds a row", "largest error of a value"]
    assert findings.figures["explainers_metrics"]().size == 4


def test_costs_are_over_all_folds(records):
    costs = compare_costs([line for line in records if line["part"] == "sample"]).set_index("method")
    assert list(costs.index) == [EXACT, *EXPLAINERS]
    assert (costs["rows"] == 10).all()
    assert np.isnan(costs.loc[EXACT, "largest_error"])
    assert costs.loc["Sampling explainer", "paper_seconds"] == 224
    assert_allclose(costs["fold_seconds"], 500 * costs["row_seconds"])


def costs_of(*folds):
    """Return the costs of an explainer, of which each fold found this."""
    shared = {"setting": "german:sex", "part": "sample", "method": "Kernel explainer", "model": "XGBoost"}
    figures = {"rows": 5, "fold_rows": 500, "row_seconds": 0.1, "largest_error": 0.1, "mean_error": 0.2}
    records = []
    for fold, found in enumerate(folds):
        both = figures | {"exact_edits": 1, "differing": 0} | found
        records += [shared | {"fold": fold, "metric": name, "value": value} for name, value in both.items()]
    return compare_costs(records)


def test_a_row_costs_the_median_of_all_folds():
    costs = costs_of({"row_seconds": 9.0}, {"row_seconds": 0.1}, {"row_seconds": 0.2})
    assert costs[["row_seconds", "fold_seconds"]].to_numpy().tolist() == [[0.2, 100.0]]


def test_a_share_counts_edits_of_all_folds():
    costs = costs_of({"exact_edits": 3, "differing": 1}, {"exact_edits": 5, "differing": 3})
    assert costs[["exact_edits", "differing", "share_differing"]].to_numpy().tolist() == [[8, 4, 50.0]]


def test_jobs_are_for_the_paper_s_two_tables():
    jobs = plan(Options(("german:sex", "compas:sex", "adult:sex"), folds=2))
    assert [job.key for job in jobs if job.key.startswith("compas:sex/fold 1")] == [
        "compas:sex/fold 1/sample",
        f"compas:sex/fold 1/{EXACT}",
        "compas:sex/fold 1/Kernel explainer",
    ]
    assert not any("adult" in job.key for job in jobs)
