import re
import subprocess
import sys
from importlib import import_module, metadata
from pkgutil import iter_modules

import pytest

import fairshap
from fairshap import exceptions

#: The names of the package and of its public packages.
PUBLIC = {
    "fairshap": """
        FairSHAP FairSHAPClassifier FairSHAPRegressor
        match MatchPlan NearestMatcher TransportMatcher
        explain Explainer Explanation
        select_edits Edits EditConstraints Threshold Budget OptimalSubset Iterative
        audit Evidence
        evaluate tune budget_curve holdout_check
        Repairer audit_dataset repair_dataset
        ColumnEncoder
        attribution dask datasets edits evidence exceptions matching metrics mitigation model_selection
        scale spark
    """,
    "fairshap.attribution": "explain Explainer Explanation",
    "fairshap.dask": "DaskRepair repair",
    "fairshap.datasets": "Dataset load make_biased make_mixed names",
    "fairshap.edits": "select_edits Edits EditConstraints Selector Threshold Budget OptimalSubset Iterative",
    "fairshap.evidence": "audit Evidence evidence_schema",
    "fairshap.matching": "match MatchPlan Matcher NearestMatcher TransportMatcher Diagnostics",
    "fairshap.metrics": """
        discriminative_risk demographic_parity_difference equal_opportunity_difference
        predictive_parity_difference equalized_odds_difference false_positive_rate_difference
        mean_score_difference group_frame
    """,
    "fairshap.mitigation": """
        SensitiveRemover CorrelationRemover Reweigher ParityWeigher CounterfactualAugmenter ProxyCorrection
        SoftLabeler MitigatedClassifier ReductionClassifier ThresholdClassifier
    """,
    "fairshap.model_selection": """
        evaluate evaluate_fitted tune budget_curve holdout_check Evaluation Tuning TradeoffCurve
        HoldoutCheck MEASURES METHODS
    """,
    "fairshap.scale": "DatasetRepair RepairedBatch Repairer Sums audit_dataset repair_dataset",
    "fairshap.spark": "SparkRepair audit fit_repairer local_session repair",
}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names_are_these(name):
    module = import_module(name)
    assert len(module.__all__) == len(set(module.__all__))
    assert set(module.__all__) == set(PUBLIC[name].split())


def test_every_public_package_is_listed():
    found = {one.name for one in iter_modules(fairshap.__path__, "fairshap.")}
    public = {name for name in found if "._" not in name}
    # Classes that are named from the package itself, and what is not called from Python.
    inside = {"fairshap.cli", "fairshap.report", "fairshap.estimators", "fairshap.predictors"}
    own = {f"fairshap.{name}" for name in fairshap.__all__} & public
    assert public - inside == own
    # Errors and warnings are pinned by the tree in their docstring.
    assert own - set(PUBLIC) == {"fairshap.exceptions"}


def test_the_version_is_the_package_s():
    assert metadata.version("fairshap") == fairshap.__version__


def test_every_error_and_warning_stands_in_the_tree():
    tree = exceptions.__doc__
    for name in (name for name in vars(exceptions) if not name.startswith("_")):
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
    *("fairshap.cli", "fairshap.report", "fairshap._io", "fairshap.model_selection"),
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
