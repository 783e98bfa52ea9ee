import re
import subprocess
import sys
from importlib import metadata

import pytest

import fairshap
from fairshap import exceptions


def test_the_public_names_are_these():
    assert set(fairshap.__all__) == {
        "FairSHAP",
        "FairSHAPClassifier",
        "FairSHAPRegressor",
        "MatchPlan",
        "match",
        "Explanation",
        "attribute",
        "Edits",
        "select_edits",
        "ColumnEncoder",
        "Tuning",
        "BudgetCurve",
        "budget_curve",
        "paper_settings",
        "tune",
        "Comparison",
        "evaluate",
        "mitigation",
        "datasets",
        "exceptions",
        "matching",
        "metrics",
    }
    assert set(fairshap.metrics.__all__) == {
        "Fidelity",
        "ParityBound",
        "accuracy",
        "data_fidelity",
        "demographic_parity",
        "demographic_parity_bound",
        "discriminative_risk",
        "equal_opportunity",
        "group_table",
        "predictive_quality_parity",
        "score_demographic_parity",
        "training_adjustment_rate",
    }
    assert set(fairshap.datasets.__all__) == {"Dataset", "load", "make_biased", "names"}
    assert set(fairshap.mitigation.__all__) == {
        "BaselineClassifier",
        "CorrelationRemover",
        "CounterfactualAugmenter",
        "DisparateImpactRemover",
        "Prepared",
        "Reweigher",
        "SensitiveRemover",
        "prepare",
    }
    for module in (fairshap, fairshap.metrics, fairshap.datasets, fairshap.mitigation, exceptions):
        for name in module.__all__:
            assert hasattr(module, name)


def test_the_version_is_the_package_s():
    assert metadata.version("fairshap") == fairshap.__version__


def test_every_error_and_warning_stands_in_the_tree():
    tree = exceptions.__doc__
    for name in exceptions.__all__:
        assert re.search(rf"\b{name}\b", tree), name


def test_every_public_name_is_found_and_listed():
    for name in fairshap.__all__:
        assert getattr(fairshap, name).__name__ in (name, f"fairshap.{name}")
    assert set(fairshap.__all__) <= set(dir(fairshap))
    with pytest.raises(AttributeError, match="module 'fairshap' has no attribute 'FairShap'"):
        fairshap.FairShap  # noqa: B018


def loaded_by(statement: str, after: str = "pass") -> set[str]:
    """Return the modules that a statement loads in a new process, besides those loaded before it."""
    code = f"import sys; {after}; old = set(sys.modules); {statement}; print(*set(sys.modules) - old)"
    return set(subprocess.run([sys.executable, "-c", code], check=True, stdout=-1, text=True).stdout.split())


def test_importing_the_package_loads_nothing_else():
    loaded = loaded_by("import fairshap")
    assert {name for name in loaded if name.startswith("fairshap")} == {"fairshap"}
    assert not loaded & {"numpy", "pandas", "sklearn", "imblearn", "rich", "threadpoolctl"}


# What these load themselves, such as rich, is not ours to avoid.
DEPENDENCIES = "import imblearn.base, narwhals, pandas, pyarrow, sklearn"
NOT_NEEDED = {
    *("faiss", "fairlearn", "jinja2", "lightgbm", "matplotlib", "numba", "openpyxl", "ot", "polars", "rich"),
    *("shap", "treelite", "typer", "xgboost"),
    *("fairshap.cli", "fairshap.report", "fairshap._io", "fairshap.reproduction"),
}


@pytest.mark.parametrize("names", ["FairSHAP", "match", "metrics, mitigation, datasets"])
def test_using_a_name_loads_nothing_that_may_not_be_needed(names):
    loaded = loaded_by(f"from fairshap import {names}", after=DEPENDENCIES)
    assert "fairshap" in loaded
    assert not loaded & NOT_NEEDED


@pytest.mark.parametrize("sampler", ["fairshap.FairSHAP", "fairshap.mitigation.CounterfactualAugmenter"])
def test_samplers_have_metadata_requests_whatever_is_imported_first(sampler):
    """imbalanced-learn gives them only to classes that are defined after it was imported."""
    code = f"import fairshap, sys; sys.exit(not hasattr({sampler}, 'set_fit_resample_request'))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
