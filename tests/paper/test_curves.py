import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fairshap import Edits
from paper.curves import STEPS, finish, measure_curve, plan
from paper.jobs import Options
from paper.main import measure_methods
from paper.methods import apply_largest, fit_model, repair
from paper.settings import Fold


@pytest.fixture(scope="module")
def found():
    """Return the records of two folds, and what is made of them."""
    options = Options(("german:sex",), folds=2)
    records = [line for job in plan(options) for line in job.work(*job.arguments)]
    return records, finish(records, options)


def test_a_curve_has_over_25_points_from_the_baseline_to_fairshap(found):
    records, findings = found
    assert STEPS >= 25
    risk = findings.frames["curves"]
    risk = risk[risk["metric"] == "dr"]
    assert_allclose(risk["share"], [k / STEPS for k in range(STEPS + 1)])
    main = measure_methods("german:sex", "whole", 1, 0, 2, ("Baseline", "FairSHAP"), 0)
    for method in ("Baseline", "FairSHAP"):
        for metric in ("accuracy", "dr", "dp", "eo", "pqp"):
            ours, theirs = (
                next(
                    line["value"]
                    for line in lines
                    if (line["method"], line["metric"], line["fold"]) == (method, metric, 0)
                )
                for lines in (records, main)
            )
            assert ours == theirs
    assert risk["mean"].iloc[-1] < 0.6 * risk["mean"].iloc[0]


def test_edits_grow_in_equal_steps(found):
    frame = found[1].frames["curves_folds"]
    edits = frame[frame["metric"] == "edits"].groupby("fold")["value"].apply(list)
    for counts in edits:
        assert counts[0] == 0
        assert_allclose(counts, [k * counts[-1] / STEPS for k in range(STEPS + 1)], atol=0.5)


def test_the_reduction_is_that_of_the_means_and_spreads_as_the_folds_own(found):
    frame = found[1].frames["curves_folds"]
    risk = frame[frame["metric"] == "dr"].pivot(index="fold", columns="share", values="value")
    expected = 1 - risk.mean() / risk[0.0].mean()
    line = found[1].frames["curves_dr_reduction"].iloc[0]
    assert line["at_40%"] == pytest.approx(expected[0.4])
    assert line["at_100%"] == pytest.approx(expected[1.0])
    assert line["std"] == pytest.approx((1 - risk[1.0] / risk[0.0]).std(ddof=0))
    assert line["paper"] == pytest.approx(1 - 0.0243 / 0.0785)
    assert f"| {expected[1.0]:.0%} ± {line['std']:.0%} | 69% |" in found[1].pages["curves"]


def test_figures_have_the_points_and_the_paper_s(found):
    findings = found[1]
    (ax,) = findings.figures["curves_dr_reduction"]()
    assert len(ax.lines[0].get_xdata()) == STEPS + 1
    assert_allclose(ax.lines[2].get_ydata(), [1 - 0.0243 / 0.0785])
    axes = findings.figures["curves"]()
    assert [ax.get_title() for ax in axes] == ["accuracy", "DR", "DP", "EO", "PQP"]


def test_half_of_the_way_is_half_of_the_edits():
    lines = measure_curve("german:sex", "whole", 0, 2, 2, 0)
    edits = [line["value"] for line in lines if line["metric"] == "edits"]
    assert edits[1] == round(edits[2] / 2)


def test_the_largest_edits_are_those_of_a_higher_threshold():
    fold = Fold.load("german:sex", "whole", 1, 0, 2, 0)
    model = fit_model(fold.X, fold.y)
    edits = repair(fold, model).edits
    higher = repair(fold, model, threshold=0.08)
    assert 0 < len(higher.edits) < len(edits)
    assert_array_equal(apply_largest(fold.X, edits, len(higher.edits)), higher.X)


def test_edits_that_tie_go_by_row():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    # The second is larger by rounding alone.
    edits = Edits(
        np.array([0, 1]),
        [0, 1],
        [1, 1],
        [0.0, 1.0],
        [1.0, 2.0],
        np.array([0.1, 0.1 + 1e-15]),
        np.array([1, 2]),
    )
    assert apply_largest(X, edits, 1).tolist() == [[0, 1], [1, 1], [2, 2]]
    assert apply_largest(X, edits, 2).tolist() == [[0, 1], [1, 2], [2, 2]]


def test_census_kdd_is_a_tenth():
    keys = [job.key for job in plan(Options(("census_kdd:sex",), folds=2))]
    assert keys == ["census_kdd:sex/tenth/fold 0", "census_kdd:sex/tenth/fold 1"]
