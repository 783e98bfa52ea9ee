import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import fairshap
from fairshap import exceptions

ROOT = Path(__file__).parents[1]


def test_the_public_names_are_these():
    assert set(fairshap.__all__) == {
        "FairSHAP",
        "FairSHAPClassifier",
        "FairSHAPRegressor",
        "MatchPlan",
        "match",
        "Attributions",
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


@pytest.mark.parametrize(
    "extra", ["xgboost", "lightgbm", "polars", "shap", "fairlearn", "numba", "treelite", "ot"]
)
def test_importing_the_package_loads_nothing_that_may_not_be_needed(extra):
    code = f"import sys, fairshap; sys.exit({extra!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# German's risk is not distinguishable from noise, as the README says it is told.
@pytest.mark.filterwarnings("ignore:The discriminative risk of")
def test_the_readme_s_code_runs_as_it_stands():
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102
