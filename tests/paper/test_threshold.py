import numpy as np
import pytest

from paper.jobs import Options
from paper.main import measure_methods
from paper.threshold import INTERVALS, THRESHOLDS, count_intervals, finish, plan


@pytest.fixture(scope="module")
def found():
    """Return the records of the first of two folds, and what is made of them."""
    options = Options(("german:sex", "compas:race"), folds=2)
    jobs = plan(options)
    assert [job.key for job in jobs] == ["german:sex/fold 0", "german:sex/fold 1"]
    records = jobs[0].work(*jobs[0].arguments)
    return records, finish(records, options)


def value_of(records, method, metric):
    return next(
        line["value"] for line in records if line.get("method") == method and line["metric"] == metric
    )


def test_the_edits_of_a_threshold_are_the_positive_values_from_it_on(found):
    records, findings = found
    positive = [line["positive"] for line in records if "interval" in line]
    assert len(positive) == len(INTERVALS) == 11
    frame = findings.frames["threshold"]
    edits = frame[(frame["metric"] == "edits") & frame["threshold"].notna()].set_index("threshold")["mean"]
    assert edits.index.tolist() == list(THRESHOLDS)
    for k, threshold in enumerate(THRESHOLDS):
        assert edits[threshold] == sum(positive[k + 1 :])
    assert edits.is_monotonic_decreasing
    assert edits.iloc[-1] > 0


def test_the_paper_s_threshold_is_the_main_table_s_fairshap(found):
    records, findings = found
    main = measure_methods("german:sex", "whole", 1, 0, 2, ("Baseline", "FairSHAP"), 0)
    for method in ("Baseline", "FairSHAP"):
        for metric in ("accuracy", "dr", "dp", "eo", "pqp"):
            assert value_of(records, method, metric) == value_of(main, method, metric)
    compared = findings.frames["threshold"].set_index(["method", "metric"])
    assert compared.loc[("FairSHAP", "dr"), "paper_mean"] == 0.0243
    assert np.isnan(compared.loc[("FairSHAP, T = 0.04", "dr"), "paper_mean"])


def test_the_page_has_a_line_for_each_threshold_and_says_what_it_shows(found):
    records, findings = found
    page = findings.pages["threshold"]
    assert page.count("\n| German (sex) | 0.") == len(THRESHOLDS) + len(INTERVALS) - 1
    counts = [line["positive"] for line in records if "interval" in line]
    assert f"{sum(counts[1:5]) / sum(counts[1:]):.0%} of the positive Shapley values" in page
    change = value_of(records, "FairSHAP", "dr") / value_of(records, "Baseline", "dr") - 1
    assert f"At T = 0.05 DR changes by {change:+.0%}" in page
    assert "(paper 0.0243" in page


def test_a_value_is_in_the_interval_that_begins_with_it():
    # 0.25 - 0.3 is rounded to less than a twentieth.
    phi = np.array([[0.01, 0.0199, 0.02, 0.1], [0.25 - 0.3, np.nan, 0.0, -3.0]])
    positive, negative = count_intervals(phi)
    assert dict(zip(INTERVALS, positive, strict=True)) == {
        **dict.fromkeys(INTERVALS, 0), "0.01 to 0.02": 2, "0.02 to 0.03": 1, "0.10 and over": 1,
    }  # fmt: skip
    assert dict(zip(INTERVALS, negative, strict=True)) == {
        **dict.fromkeys(INTERVALS, 0), "0.05 to 0.06": 1, "0.10 and over": 1,
    }  # fmt: skip


def test_figures_show_what_was_counted(found):
    records, findings = found
    (ax,) = findings.figures["threshold_intervals"]()
    heights = [bar.get_height() for bar in ax.containers[0]]
    assert heights == [line["positive"] for line in records if "interval" in line][1:]
    axes = findings.figures["threshold"]()
    assert axes.shape == (1, 6)
    assert axes[0, 1].lines[1].get_xdata().tolist() == list(THRESHOLDS)
