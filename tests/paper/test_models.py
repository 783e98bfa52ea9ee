import logging

import numpy as np
import pytest

from paper.jobs import Options
from paper.models import CLASSIFIERS, Classifier, finish, fit_classifier, measure_model, plan, why_not

# The runner says of no single fold that there is nothing to repair.
pytestmark = pytest.mark.filterwarnings("ignore::fairshap.exceptions.NothingToRepairWarning")

OPTIONS = Options(("german:sex",), folds=2)
REASON = "the package tabpfn is not installed"


@pytest.fixture(scope="module")
def findings():
    records = []
    for name in ("XGBoost", "SVM", "TabPFN", "Logistic regression"):
        for fold in range(2):
            reason = REASON if name == "TabPFN" else ""
            records += measure_model("german:sex", name, fold, 2, 0, reason)
    return finish(records, OPTIONS)


def test_the_risk_falls_with_trees_and_is_exact_with_a_model_that_is_called(findings):
    means = findings.frames["models"].set_index(["model", "method", "metric"])["mean"]
    assert means["XGBoost", "FairSHAP", "dr"] < 0.6 * means["XGBoost", "Baseline", "dr"]
    assert means["XGBoost", "FairSHAP", "edits"] > 50
    assert means["SVM", "FairSHAP", "exact_rows"] == 1
    assert 0 < means["SVM", "FairSHAP", "largest_phi"] < means["XGBoost", "FairSHAP", "largest_phi"]


def test_a_linear_margin_has_nothing_to_edit(findings):
    means = findings.frames["models"].set_index(["model", "method", "metric"])["mean"]
    assert means["Logistic regression", "FairSHAP", "edits"] == 0
    assert means["Logistic regression", "FairSHAP", "dr"] == means["Logistic regression", "Baseline", "dr"]
    page = findings.pages["models"]
    assert "FairSHAP lowers DR with " in page
    assert "Logistic regression on German (sex) (+0%, 0 edits a fold, the largest Shapley value 0.0" in page


def test_a_classifier_that_cannot_be_had_has_a_row_that_says_why(findings):
    lines = [line for line in findings.pages["models"].splitlines() if "| TabPFN |" in line]
    assert len(lines) == 2
    assert all(f"not available: {REASON}" in line for line in lines)
    assert "0.7170 / -" in lines[0]
    frame = findings.frames["models"]
    absent = frame[frame["model"] == "TabPFN"]
    assert absent["mean"].isna().all()
    assert len(absent) == 10
    assert findings.summary["not_available"] == {"German (sex), TabPFN": REASON}
    assert list(dict.fromkeys(frame["model"])) == ["XGBoost", "SVM", "TabPFN", "Logistic regression"]


def test_if_no_classifier_can_be_had_the_page_says_so():
    records = measure_model("german:sex", "MLP", 0, 2, 0, "no reason")
    page = finish(records, OPTIONS).pages["models"]
    assert page.endswith("None of the classifiers can be had here.\n")
    assert page.count("not available: no reason") == 2


def test_all_figures_are_drawn(findings):
    axes = findings.figures["models"]()
    assert [ax.get_title() for ax in axes] == ["accuracy", "DR", "DP", "EO"]
    assert "German (sex), TabPFN" in [label.get_text() for label in axes[0].get_yticklabels()]


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(CLASSIFIERS, "Other", Classifier(lambda _: None, "no_such_package", 1))
    assert why_not("Other") == "the package no_such_package is not installed"


class Offline:
    def fit(self, X, y):
        raise OSError("cannot reach the hub from /home/somebody")


def test_weights_that_cannot_be_had_are_a_reason_without_paths(monkeypatch):
    monkeypatch.setitem(CLASSIFIERS, "TabPFN", Classifier(lambda _: Offline(), "sklearn", 1))
    assert why_not("TabPFN") == "it could not be fitted on 20 rows with weights from its hub (OSError)"
    assert logging.root.manager.disable == logging.NOTSET
    records = measure_model("german:sex", "TabPFN", 0, 2, 0)
    assert [line["method"] for line in records] == ["Baseline", "FairSHAP"]
    assert {line["reason"] for line in records} == {
        "it could not be fitted on 500 rows with weights from its hub (OSError)"
    }


def test_errors_of_other_classifiers_are_not_hidden():
    with pytest.raises(ValueError, match="class"):
        fit_classifier("SVM", np.ones((4, 2)), np.zeros(4, dtype=int), 0)


def test_what_cannot_be_had_makes_another_job(monkeypatch):
    before = plan(OPTIONS)
    assert len(before) == 2 * len(CLASSIFIERS)
    assert not plan(Options(("adult:sex",)))
    monkeypatch.setitem(CLASSIFIERS, "MLP", Classifier(lambda _: None, "no_such_package", 1))
    changed = [
        one.key for one, other in zip(before, plan(OPTIONS), strict=True) if one.arguments != other.arguments
    ]
    assert changed == ["german:sex/MLP/fold 0", "german:sex/MLP/fold 1"]
