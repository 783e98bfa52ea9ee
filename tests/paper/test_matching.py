import numpy as np
import pytest

from paper.jobs import Options
from paper.matching import finish, measure_distances, measure_matchers, plan

OPTIONS = Options(("german:sex", "adult:sex"), folds=2)


@pytest.fixture(scope="module")
def findings():
    records = measure_distances("adult:sex", "whole", 0)
    for fold in range(2):
        records += measure_matchers("german:sex", fold, 2, 0)
    return finish(records, OPTIONS)


def test_distances_are_near_the_paper_s(findings):
    frame = findings.frames["matching"].set_index(["group", "method", "metric"])
    for method in ("matched", "random"):
        line = frame.loc[("privileged", method, "distance")]
        assert line["mean"] == pytest.approx(line["paper_mean"], abs=0.1)
        assert line["std"] == pytest.approx(line["paper_std"], abs=0.1)
    d, t = (frame.loc[("privileged", "matched", name), "mean"] for name in ("cohens_d", "t_statistic"))
    assert d == pytest.approx(2.03, abs=0.1)
    assert t == pytest.approx(50 * d)
    page = findings.pages["matching"]
    assert "On Adult (sex) the privileged rows come nearest to the paper's two means." in page
    assert "| Adult (sex) | privileged | 21,790 | 1.56 ± 0.75 / " in page


def test_nearest_rows_are_nearer_than_transported_ones(findings):
    means = findings.frames["matching_ways"].set_index(["method", "metric"])["mean"]
    for way in ("EMD", "Sinkhorn", "Sliced"):
        assert means["Nearest", "distance"] < means[way, "distance"]
        assert means["Nearest", "heaviest_distance"] < means[way, "heaviest_distance"]
        assert means[way, "references"] > 1
        assert means[way, "edits"] > 0
    assert means["EMD", "distance"] <= means["Sliced", "distance"] + 1e-9
    assert means["Nearest", "references"] == 1
    assert means["Nearest", "distance"] == pytest.approx(means["Nearest", "heaviest_distance"])
    assert means["Nearest", "dr"] < 0.6 * means["Baseline", "dr"]


def test_the_paper_s_fairshap_stands_beside_nearest_rows(findings):
    ways = findings.frames["matching_ways"].set_index(["method", "metric"])
    assert ways.loc[("Nearest", "dr"), "paper_mean"] == 0.0243
    assert np.isnan(ways.loc[("EMD", "dr"), "paper_mean"])
    assert findings.summary["compared"] == 6 + 10


def test_both_figures_are_drawn(findings):
    ax = findings.figures["matching"]()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [f"Adult, all rows: {group}" for group in ("unprivileged", "privileged", "both groups")]
    assert findings.figures["matching_ways"]().size == 4


def test_one_half_may_be_asked_for_alone():
    only = finish(measure_matchers("german:sex", 0, 2, 0), OPTIONS)
    assert set(only.frames) == {"matching_ways", "matching_folds"}
    assert "How near the references are" not in only.pages["matching"]


def test_jobs_measure_large_tables_and_compare_small_ones():
    jobs = plan(Options(("german:sex", "compas:race", "adult:sex", "census_kdd:sex"), folds=2))
    assert [job.key for job in jobs] == [
        "adult:sex/whole/distances",
        "census_kdd:sex/whole/distances",
        "census_kdd:sex/tenth/distances",
        "census_kdd:sex/artefact/distances",
        "german:sex/fold 0",
        "german:sex/fold 1",
    ]
