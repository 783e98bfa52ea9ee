import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import wasserstein_distance

from paper.main import changes_over_seeds
from paper.methods import changes_of
from paper.settings import SETTINGS, Fold, load_arrays, misalign
from paper.tables import cell, compare, published, summarize, table_of


def test_all_figures_of_the_paper_are_there():
    frame = published()
    assert frame["table"].value_counts().to_dict() == {
        "main": 210,
        "ablation": 100,
        "models": 60,
        "explainers": 46,
        "matching": 12,
    }
    assert not frame["mean"].isna().any()
    assert not frame.duplicated(["table", "dataset", "sensitive", "model", "method", "metric"]).any()
    main = published("main")
    assert {(s.dataset, s.sensitive) for s in SETTINGS.values()} == set(
        zip(main["dataset"], main["sensitive"], strict=True)
    )
    assert {s.ablation for s in SETTINGS.values()} == set(published("ablation")["dataset"])


def test_what_published_returns_is_the_caller_s():
    mine = published()
    mine["mean"] = 0.0
    assert published()["mean"].sum() > 0


def record(metric, value, method="Baseline", seed=1, fold=0, **more):
    return {
        "setting": "german:sex", "part": "whole", "model": "XGBoost", "method": method, "seed": seed,
        "fold": fold, "metric": metric, "value": value, **more,
    }  # fmt: skip


def test_differences_are_in_units_of_the_paper_s_deviation():
    # The paper: DR .0785 with a deviation of .0211, accuracy .6650 with .0257.
    records = [record("dr", value, fold=k) for k, value in enumerate((0.12, 0.14))]
    records += [record("accuracy", 0.67)]
    compared = compare(summarize(records, "main")).set_index("metric")
    assert compared.loc["dr", "mean"] == pytest.approx(0.13)
    assert compared.loc["dr", "std"] == pytest.approx(0.01)
    assert compared.loc["dr", "n"] == 2
    assert compared.loc["dr", "difference"] == pytest.approx((0.13 - 0.0785) / 0.0211)
    page = table_of(compared.reset_index(), ["accuracy", "dr"], {"more": {"Baseline": "yes"}})
    assert page.splitlines()[0] == "| setting | method | accuracy | DR | more |"
    assert page.splitlines()[2] == (
        "| German (sex) | Baseline | 0.6650 / 0.6700 (+0.2) | 0.0785 / 0.1300 (+2.4 ◆) | yes |"
    )


@pytest.mark.parametrize(("difference", "marked"), [(2.01, True), (1.99, False), (-2.01, True)])
def test_a_mark_is_where_the_difference_is_over_two(difference, marked):
    line = pd.Series({"mean": 0.1, "paper_mean": 0.2, "difference": difference})
    assert ("◆" in cell(line)) == marked


def test_without_a_deviation_there_is_no_difference():
    figures = [record("training_ar", 0.5, "FairSHAP"), record("seconds", 1.0, "FairSHAP")]
    compared = compare(summarize(figures, "main"))
    assert compared["difference"].isna().all()
    assert [cell(line) for _, line in compared.iterrows()] == ["0.0156 / 0.5000", "- / 1.0000"]


def test_a_record_s_own_deviation_counts():
    records = [record("fidelity", 0.1, fold=k, std=std) for k, std in enumerate((0.2, 0.4))]
    assert summarize(records, "main")["std"].tolist() == pytest.approx([0.3])


def test_changes_over_seeds_have_student_s_interval():
    changes = {1: -0.02, 2: -0.04, 3: -0.03}
    records = []
    for metric in ("dr", "dp", "eo"):
        for seed, change in changes.items():
            for fold, noise in enumerate((-0.01, 0.01)):
                records.append(record(metric, 0.1 + noise, "Baseline", seed, fold))
                records.append(record(metric, 0.1 + noise + change, "FairSHAP", seed, fold))
    signs = changes_over_seeds(records)
    assert signs["metric"].tolist() == ["dr", "dp", "eo"]
    assert_allclose(signs["change"], -0.03)
    # 4.302653 is Student's quantile for two degrees of freedom.
    assert_allclose(signs["high"] - signs["change"], 4.302653 * 0.01 / np.sqrt(3), rtol=1e-6)
    assert_allclose(signs["paper_change"], [0.0243 - 0.0785, 0.0301 - 0.0512, 0.1126 - 0.1287])


def test_the_artefact_joins_features_with_other_people_s_labels():
    # Row 2 was there twice: what is kept has the numbers 0, 1, 3, 4.
    cells = np.array([[10.0, 0], [11, 1], [13, 0], [14, 1]])
    shifted, labels = misalign(cells, np.array([0, 1, 3, 4]), 1, np.array([0, 1, 3, 4]))
    assert shifted[:, 0].tolist() == [10, 11, 14]
    assert shifted[:, 1].tolist() == [0, 1, 0]
    assert labels.tolist() == [0, 1, 3]
    assert cells.tolist() == [[10, 0], [11, 1], [13, 0], [14, 1]]


def test_changes_are_distances_and_a_share():
    before = load_arrays("german:sex").X
    after = before.copy()
    after[:100, 0] += 1
    after[5, 7] = 1 - after[5, 7]
    found = changes_of(before, after)
    distances = [wasserstein_distance(old, new) for old, new in zip(before.T, after.T, strict=True)]
    assert_allclose(found["fidelity"], (np.mean(distances), np.std(distances)))
    assert found["training_ar"] == 101 / before.size
    assert changes_of(before, before) == {"fidelity": (0.0, 0.0), "training_ar": 0.0}


def test_folds_are_the_paper_s():
    fold = Fold.load("german:sex", "whole", 1, 0, 5, 0)
    assert (fold.X.shape, fold.y.shape) == ((800, 26), (800,))
    assert (fold.X_test.shape, fold.y_test.shape) == ((200, 26), (200,))
    assert set(np.unique(fold.X[:, fold.sensitive])) == {0.0, 1.0}
