"""imbalanced-learn's own checks, on every sampler."""

import pytest
from imblearn.utils.estimator_checks import estimator_checks_generator
from sklearn.tree import DecisionTreeClassifier

from fairshap import FairSHAP
from fairshap.mitigation import CounterfactualAugmenter, SoftLabeler
from tests.estimators.test_checks import WHO

SAMPLERS = [
    FairSHAP(DecisionTreeClassifier(max_depth=3, random_state=0), **WHO),
    CounterfactualAugmenter(sensitive=WHO["sensitive"], privileged=WHO["privileged"]),
    SoftLabeler(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        sensitive=WHO["sensitive"],
        privileged=WHO["privileged"],
        strengths={},
        n_folds=2,
        random_state=0,
    ),
]
BY_NAME = "The attribute is column 0 of the check's array; the frame of the same rows names it otherwise."
# What cannot hold for a sampler that edits rows instead of balancing labels.
EXPECTED = {
    "check_samplers_fit": "It does not balance labels, so it has no sampling_strategy_.",
    "check_samplers_pandas": BY_NAME,
    "check_samplers_pandas_sparse": "Sparse columns are refused: cells of theirs cannot be edited in place.",
    "check_samplers_string": "The only column is the attribute, and a median cannot split its letters.",
    "check_samplers_list": "Lists come back as the array that they were read as.",
    "check_samplers_multiclass_ova": "A target of several columns is refused, one-versus-all ones too.",
    "check_sampler_get_feature_names_out_pandas": BY_NAME,
}
# Soft labels are for two labels, and the checks' tables have three, or groups with one of two.
TWO_LABELS = {
    "check_samplers_fit_resample",
    "check_samplers_nan",
    "check_samplers_preserve_dtype",
    "check_samplers_sample_indices",
    "check_samplers_2d_target",
    "check_sampler_get_feature_names_out",
}


def checks():
    """Yield what `parametrize_with_checks` would, which hands pytest a generator that it deprecates."""
    for sampler in SAMPLERS:
        for checked, check in estimator_checks_generator(sampler):
            name = check.func.__name__
            why = EXPECTED.get(name)
            if name in TWO_LABELS and isinstance(sampler, SoftLabeler):
                why = "Soft labels are for two labels, of which either group has rows."
            marks = [] if why is None else [pytest.mark.xfail(reason=why)]
            yield pytest.param(checked, check, marks=marks, id=f"{type(sampler).__name__}-{name}")


# The checks fit on a handful of random rows, some of which have no reference or nothing to repair.
@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FairshapWarning")
@pytest.mark.filterwarnings("ignore:A column-vector y was passed:sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(("sampler", "check"), list(checks()))
def test_imbalanced_learn_checks(sampler, check):
    check(sampler)
