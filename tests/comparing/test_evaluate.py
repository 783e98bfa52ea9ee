import numpy as np
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairshap import FairSHAP, baselines, datasets, evaluate, metrics
from fairshap.comparing import METHODS
from fairshap.evaluation import intervals_of
from fairshap.exceptions import InputError, ModelError, SkippedWarning, WeightsWarning

DATA = datasets.make_biased(300, random_state=0)
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}


@pytest.fixture(scope="module")
def compared():
    return evaluate(DATA.X, DATA.y, **WHO, methods=list(METHODS), n_folds=2, n_resamples=200, random_state=0)


def test_every_method_is_measured_and_every_row_predicted_once(compared):
    frame = compared.frame().set_index("method")
    assert list(frame.index) == list(METHODS)
    assert frame.loc["rsa", "dr"] == 0
    assert frame.loc["fairshap", "dr"] < frame.loc["baseline", "dr"]
    assert frame.loc["fairshap", "share"] > 0 == frame.loc["baseline", "share"]
    # Both folds have the same number of rows, so that the mean over folds is the one over rows.
    right = (compared.predicted == DATA.y.to_numpy()).mean(axis=1)
    np.testing.assert_allclose(right, frame["accuracy"], atol=1e-12)
    np.testing.assert_allclose(compared.risk.mean(axis=1), frame["dr"], atol=1e-12)


def test_transformed_rows_are_judged_as_transformed_and_the_recorded_ones_are_told_too(compared):
    frame = compared.frame().set_index("method")
    moved = frame.index[(frame["raw_dr"] - frame["dr"]).abs() > 1e-9]
    assert set(moved) <= {"cr", "dir"}
    # Found again fold by fold: the model that takes transformed rows, and the one that takes recorded ones.
    model = baselines.BaselineClassifier(
        baselines.CorrelationRemover(**WHO, keep_sensitive=True), LogisticRegression()
    )
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    strata = DATA.y * 3 + (DATA.X[DATA.sensitive] == DATA.privileged)
    risks = []
    for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(DATA.X, strata):
        model.fit(DATA.X.iloc[train], DATA.y.iloc[train])
        rows = DATA.X.iloc[test]
        moved_rows = model.prepare_rows(rows)
        risks.append(
            [
                metrics.discriminative_risk(model.estimator_, moved_rows, **WHO),
                metrics.discriminative_risk(model, rows, **WHO),
            ]
        )
    found = evaluate(
        DATA.X, DATA.y, model.estimator, **WHO, methods={"mine": model.baseline}, n_folds=2, random_state=0
    ).frame()
    np.testing.assert_allclose(found.loc[0, ["dr", "raw_dr"]].astype(float), np.mean(risks, axis=0))
    assert np.abs(np.diff(risks, axis=1)).min() > 0.01


def test_changes_are_differences_to_the_first(compared):
    changes, frame = compared.changes(), compared.frame()
    np.testing.assert_allclose(changes["dr"], frame["dr"] - frame["dr"].iloc[0])
    assert (changes.loc[0, ["dr_low", "dr_high"]] == 0).all()
    assert changes.set_index("method").loc["rsa", "dr_high"] < 0


def test_methods_may_be_objects_and_the_seed_decides_everything(compared):
    methods = {"as it is": None, "mine": baselines.SensitiveRemover(**WHO), "edits": FairSHAP(**WHO)}
    one, two = (
        evaluate(DATA.X, DATA.y, **WHO, methods=methods, n_folds=2, n_resamples=50, random_state=0)
        for _ in range(2)
    )
    assert one.frame().equals(two.frame())
    assert one.frame()["method"].tolist() == list(methods)
    np.testing.assert_array_equal(one.predicted[0], compared.predicted[0])


def test_the_positive_label_decides_what_parity_compares():
    words = np.where(DATA.y == 1, "a", "b")
    found = evaluate(DATA.X, words, **WHO, positive="a", methods=["baseline"], n_folds=2, random_state=0)
    gap = metrics.demographic_parity(
        words, found.predicted[0], sensitive_features=DATA.X[DATA.sensitive], privileged=DATA.privileged
    )
    assert found.frame()["dp"].iloc[0] == pytest.approx(gap, abs=0.05)
    assert set(found.predicted[0]) == {"a", "b"}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"methods": ["basline"]}, r"methods='basline' is not known; .* Did you mean 'baseline'\?"),
        ({"methods": []}, "methods is empty"),
        ({"n_folds": 1}, "n_folds=1 must be 2 at least"),
        ({"n_folds": 299}, "n_folds=299 is too many: one label of one group has"),
    ],
)
def test_what_cannot_be_compared_is_told(params, words):
    with pytest.raises(InputError, match=words):
        evaluate(DATA.X, DATA.y, **WHO, **params)


def test_an_interval_holds_its_measure_where_resamples_lie_beside_it():
    # As with a small gap between groups, which drawing rows anew makes larger.
    samples = 0.1 + 0.01 * np.random.default_rng(0).normal(size=(1, 500, 1))
    measures = np.array([[0.05]])
    assert np.quantile(samples, 0.025) > measures.item()
    low, high = intervals_of(measures, samples)
    assert low.item() < measures.item() < high.item()
    # As wide as the resamples spread, and no lower than a measure can be.
    assert high.item() - low.item() == pytest.approx(np.ptp(np.quantile(samples, [0.025, 0.975])))
    assert intervals_of(np.zeros((1, 1)), samples, least=0.0)[0].item() == 0


def test_rows_whose_attribute_is_missing_need_not_be_in_every_fold():
    X = DATA.X.assign(**{DATA.sensitive: DATA.X[DATA.sensitive].where(DATA.X.index != 5)})
    frame = evaluate(
        X, DATA.y, LogisticRegression(), **WHO, methods=["baseline"], n_folds=3, random_state=0
    ).frame()
    assert frame["dr"].between(0, 1).all()


def test_what_cannot_be_trained_is_left_out_and_said():
    options = {**WHO, "n_folds": 2, "n_resamples": 20, "random_state": 0}
    methods = ["baseline", "reweighing", "twins", "fairshap", "fairshap-twins"]
    with pytest.warns() as caught:
        found = evaluate(DATA.X, DATA.y, KNeighborsClassifier(), **options, methods=methods)
    assert list(found.frame()["method"]) == ["baseline", "twins", "fairshap", "fairshap-twins"]
    assert found.predicted.shape == found.risk.shape == (4, 300)
    assert list(found.changes()["method"]) == list(found.methods)
    repeated, skipped = ([w for w in caught if w.category is c] for c in (WeightsWarning, SkippedWarning))
    assert len(repeated) == len(skipped) == 1
    assert "'reweighing' (ModelError: KNeighborsClassifier takes no sample_weight" in str(skipped[0].message)
    # The others are what they are without it.
    alone = evaluate(DATA.X, DATA.y, KNeighborsClassifier(), **options, methods=["baseline", "fairshap"])
    np.testing.assert_array_equal(alone.measures, found.measures[[0, 2]])
    with pytest.raises(ModelError, match="Reweigher"):
        evaluate(DATA.X, DATA.y, KNeighborsClassifier(), **options, methods=["reweighing"])


@pytest.mark.parametrize("routing", [False, True])
def test_a_threshold_around_a_pipeline_is_compared(routing):
    columns = make_column_transformer((OneHotEncoder(), ["group", "district"]), (StandardScaler(), ["skill"]))
    model = FixedThresholdClassifier(make_pipeline(columns, LogisticRegression()))
    with sklearn.config_context(enable_metadata_routing=routing), pytest.warns(SkippedWarning, match="Fixed"):
        found = evaluate(DATA.X, DATA.y, model, **WHO, n_folds=2, n_resamples=20, random_state=0)
    assert list(found.frame()["method"]) == ["baseline", "rsa", "fairshap"]


def test_the_error_of_the_model_as_it_is_is_raised():
    typo = make_pipeline(make_column_transformer((OneHotEncoder(), ["gruop"])), LogisticRegression())
    with pytest.raises(ValueError, match=r"columns? of the dataframe"):
        evaluate(DATA.X, DATA.y, typo, **WHO, methods=["fairshap", "baseline"], n_folds=2)
    with pytest.raises(InputError, match="frozen"):
        evaluate(DATA.X, DATA.y, **WHO, methods=["baseline", "fairshap"], n_folds=2, frozen=["skil"])
