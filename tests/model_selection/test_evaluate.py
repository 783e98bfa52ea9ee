import warnings
from collections import Counter
from functools import wraps
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairshap import (
    ColumnEncoder,
    EditConstraints,
    Explainer,
    FairSHAP,
    datasets,
    estimators,
    metrics,
    mitigation,
)
from fairshap.exceptions import (
    InputError,
    ModelError,
    NoiseWarning,
    SkippedWarning,
    TargetError,
    WeightsWarning,
)
from fairshap.model_selection import MEASURES, METHODS, budget_curve, evaluate, evaluate_fitted, tune

# Two folds are too few to tell a risk from noise.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")

DATA = datasets.make_biased(300, random_state=0)
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
#: Those of the paper, and what goes with them.
USUAL = ["baseline", "rsa", "cr", "reweighing", "counterfactuals", "fairshap", "fairshap-counterfactuals"]


@pytest.fixture(scope="module")
def compared():
    return evaluate(DATA.X, DATA.y, **WHO, methods=USUAL, n_folds=5, random_state=0)


def test_every_name_is_a_method_that_can_be_trained():
    model, quick = LogisticRegression(), {"n_folds": 2, "random_state": 0}
    others = [name for name in METHODS if name not in USUAL]
    if find_spec("error_parity") is None:
        others = [name for name in others if not name.endswith("error-parity")]
    frame = evaluate(DATA.X, DATA.y, model, **WHO, methods=["baseline", *others], **quick).frame()
    lines = frame.set_index("method")
    assert list(lines.index) == ["baseline", *others]
    seeing = [name for name in others if name.endswith(("thresholds", "error-parity", "-cr"))]
    assert (lines.drop(index=["baseline", *seeing])[["dr", "flips"]] == 0).all(axis=None)
    assert (lines.loc[seeing, "flips"] > 0).all()
    after = [name for name in others if name.startswith("fairshap-")]
    assert len(after) >= 6
    assert (lines.loc[after, "edits"] > 0).all()
    assert lines.loc["exponentiated-gradient", "dp"] < lines.loc["baseline", "dp"]


@pytest.mark.parametrize("name", ["rsa", "cr", "error-parity", "fairshap-cr", "fairshap-error-parity"])
def test_what_is_done_to_a_column_is_refused_where_it_is_beside_the_table(name):
    beside, X = DATA.X[DATA.sensitive], DATA.X.drop(columns=DATA.sensitive)
    with pytest.raises(InputError, match="needs the sensitive attribute as a column") as caught:
        evaluate(X, DATA.y, sensitive_features=beside, privileged=DATA.privileged, methods=["baseline", name])
    assert caught.value.parameter == "methods"


def test_an_attribute_beside_the_table_is_seen_by_no_model():
    beside, X = DATA.X[DATA.sensitive], DATA.X.drop(columns=DATA.sensitive)
    model, quick = LogisticRegression(), {"n_folds": 2, "random_state": 0}
    who = {"sensitive_features": beside, "privileged": DATA.privileged}
    found = evaluate(X, DATA.y, model, **who, **quick)
    assert found.names == ("baseline", "reweighing", "fairshap")
    frame = found.frame().set_index("method")
    assert (frame[["dr", "flips", "raw_dr"]] == 0).all(axis=None)
    assert frame["dr_noise"].isna().all()
    assert frame.loc["fairshap", "edits"] > 0
    # The baseline is the model without the column.
    column = evaluate(DATA.X, DATA.y, model, **WHO, methods=["rsa"], **quick).frame()
    assert frame.loc["baseline", ["accuracy", "dp"]].tolist() == column.loc[0, ["accuracy", "dp"]].tolist()
    with pytest.raises(InputError, match="'rsa', which needs the sensitive attribute as a column"):
        evaluate(X, DATA.y, model, **who, methods=["rsa"], **quick)
    curve = budget_curve(X, DATA.y, model, **who, budgets=[0, 20], **quick).frame()
    assert curve["edits"].tolist() == [0, 20]
    assert (curve["dr"] == 0).all()
    # A fitted model says by its columns whether it sees the attribute.
    bare = make_pipeline(ColumnEncoder(), model).fit(X, DATA.y)
    assert evaluate_fitted(bare, X, DATA.y, **who).measures.risk == 0
    assert metrics.discriminative_risk(bare, X, **who) == 0
    seeing = make_pipeline(ColumnEncoder(), model).fit(X.assign(group=beside), DATA.y)
    risk = metrics.discriminative_risk(seeing, X, **who)
    assert evaluate_fitted(seeing, X, DATA.y, **who).measures.risk == pytest.approx(risk)
    assert risk > 0


def test_every_method_is_measured_and_every_row_once(compared):
    frame = compared.frame().set_index("method")
    assert list(frame.index) == USUAL
    assert frame.loc["rsa", "dr"] == 0
    assert frame.loc["fairshap-counterfactuals", "dr"] < frame.loc["baseline", "dr"]
    assert frame.loc["fairshap", "share"] > 0 == frame.loc["baseline", "share"]
    # The figures follow from the table by group, and each row is in it once.
    for method in USUAL:
        groups = compared.groups(method)
        assert groups["rows"].sum() == 300
        for measure, rate in (("dp", "positive_rate"), ("eo", "true_positive_rate"), ("pqp", "precision")):
            assert frame.loc[method, measure] == pytest.approx(groups[rate].max() - groups[rate].min())
        for measure in ("accuracy", "dr"):
            mean = np.average(groups[measure], weights=groups["rows"])
            assert frame.loc[method, measure] == pytest.approx(mean)


def test_transformed_rows_are_judged_as_transformed_and_the_recorded_ones_are_told_too(compared):
    frame = compared.frame().set_index("method")
    moved = frame.index[(frame["raw_dr"] - frame["dr"]).abs() > 1e-9]
    assert set(moved) <= {"cr"}
    # Found again fold by fold: the model that takes transformed rows, and the one that takes recorded ones.
    model = mitigation.MitigatedClassifier(
        mitigation.CorrelationRemover(**WHO, keep_sensitive=True), LogisticRegression()
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
        DATA.X, DATA.y, model.estimator, **WHO, methods={"mine": model.method}, n_folds=2, random_state=0
    ).frame()
    np.testing.assert_allclose(found.loc[0, ["dr", "raw_dr"]].astype(float), np.mean(risks, axis=0))
    assert np.abs(np.diff(risks, axis=1)).min() > 0.01


def test_changes_are_differences_to_the_first(compared):
    changes, frame = compared.differences(), compared.frame()
    np.testing.assert_allclose(changes["dr"], frame["dr"] - frame["dr"].iloc[0])
    assert (changes.loc[0, ["dr_low", "dr_high"]] == 0).all()
    assert changes.loc[0, "dp_low"] <= 0 <= changes.loc[0, "dp_high"]
    assert changes.set_index("method").loc["rsa", "dr_high"] < 0


def test_methods_may_be_objects_and_the_seed_decides_everything(compared):
    methods = {"baseline": None, "mine": mitigation.SensitiveRemover(**WHO), "edits": FairSHAP(**WHO)}
    one, two = (evaluate(DATA.X, DATA.y, **WHO, methods=methods, n_folds=5, random_state=0) for _ in range(2))
    assert one.frame().equals(two.frame())
    assert one.frame()["method"].tolist() == list(methods)
    np.testing.assert_array_equal(one.measures.values[0], compared.measures.values[0])


def test_the_positive_label_decides_what_parity_compares(compared):
    words = np.where(DATA.y == 1, "a", "b")
    found = evaluate(DATA.X, words, **WHO, positive="b", methods=["baseline"], n_folds=5, random_state=0)
    mine, theirs = found.groups(), compared.groups()
    np.testing.assert_allclose(mine["positive_rate"], 1 - theirs["positive_rate"])
    np.testing.assert_allclose(mine["false_positive_rate"], 1 - theirs["true_positive_rate"])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"methods": ["basline"]}, r"methods='basline' is not known; .* Did you mean 'baseline'\?"),
        ({"methods": []}, "methods is empty"),
        ({"n_folds": 1}, "n_folds=1 must be a whole number from 2 on"),
        ({"n_repeats": 0}, "n_repeats=0 must be a whole number from 1 on"),
        ({"n_folds": 299}, "n_folds=299 is too many: one label of one group has"),
    ],
)
def test_what_cannot_be_compared_is_told(params, words):
    with pytest.raises(InputError, match=words):
        evaluate(DATA.X, DATA.y, **WHO, **params)


def coin_flip(n, seed):
    """A table whose attribute says nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    y = (X["a"] + X["b"] + rng.normal(size=n) > 0).astype(int)
    return X.assign(coin=rng.permutation(np.arange(n) % 2)), y


def test_a_coin_flip_has_no_gap_and_a_risk_of_noise():
    wrong, risks = np.zeros(3), []
    for seed in range(20):
        X, y = coin_flip(400, seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", NoiseWarning)
            found = evaluate(
                X,
                y,
                DecisionTreeClassifier(max_depth=6, random_state=0),
                sensitive="coin",
                privileged=1,
                methods=["baseline"],
                random_state=seed,
            )
        frame = found.frame().iloc[0]
        wrong += [frame["dp_low"] > 0, frame["eo_low"] > 0, not said]
        risks.append(frame["dr"])
    assert np.mean(risks) > 0.01
    # Of a twentieth each, one in 20 is expected.
    assert (wrong <= 3).all()


def test_a_risk_above_noise_is_not_doubted():
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        found = evaluate(DATA.X, DATA.y, **WHO, methods=["baseline"], random_state=0)
    assert not found.is_noise
    assert 0 < found.noise_level < found.frame()["dr_low"].iloc[0]
    assert str(found.folds) == "5 folds, repeated 4 times"


def test_the_same_seed_gives_the_same_baseline_everywhere():
    d = datasets.load("german")
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    tree = make_pipeline(ColumnEncoder(), DecisionTreeClassifier(max_depth=4, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        compared = evaluate(d.X, d.y, tree, **who, methods=["baseline"], random_state=3)
        tuning = tune(
            d.X,
            d.y,
            tree,
            **who,
            candidates=["plain"],
            random_state=3,
        )
    expected = compared.measures.values[0]
    np.testing.assert_array_equal(tuning.evaluation.measures.values[0], expected)
    assert tuning.evaluation.noise_level == compared.noise_level


def test_rows_whose_attribute_is_missing_need_not_be_in_every_fold():
    X = DATA.X.assign(**{DATA.sensitive: DATA.X[DATA.sensitive].where(DATA.X.index != 5)})
    frame = evaluate(
        X, DATA.y, LogisticRegression(), **WHO, methods=["baseline"], n_folds=3, random_state=0
    ).frame()
    assert frame["dr"].between(0, 1).all()


def test_what_cannot_be_trained_is_left_out_and_said():
    options = {**WHO, "n_folds": 2, "random_state": 0}
    methods = ["baseline", "reweighing", "counterfactuals", "fairshap", "fairshap-counterfactuals"]
    with pytest.warns() as caught:
        found = evaluate(DATA.X, DATA.y, KNeighborsClassifier(), **options, methods=methods)
    assert list(found.frame()["method"]) == [
        "baseline",
        "counterfactuals",
        "fairshap",
        "fairshap-counterfactuals",
    ]
    assert found.measures.values.shape[0] == 4
    assert list(found.differences()["method"]) == list(found.names)
    repeated, skipped = ([w for w in caught if w.category is c] for c in (WeightsWarning, SkippedWarning))
    assert len(repeated) == len(skipped) == 1
    assert "'reweighing' (ModelError: KNeighborsClassifier takes no sample_weight" in str(skipped[0].message)
    # The others are what they are without it.
    alone = evaluate(DATA.X, DATA.y, KNeighborsClassifier(), **options, methods=["baseline", "fairshap"])
    np.testing.assert_array_equal(alone.measures.values, found.measures.values[[0, 2]])
    with pytest.raises(ModelError, match="Reweigher"):
        evaluate(DATA.X, DATA.y, KNeighborsClassifier(), **options, methods=["reweighing"])


@pytest.mark.parametrize("routing", [False, True])
def test_a_threshold_around_a_pipeline_is_compared(routing):
    columns = make_column_transformer((OneHotEncoder(), ["group", "district"]), (StandardScaler(), ["skill"]))
    model = FixedThresholdClassifier(make_pipeline(columns, LogisticRegression()))
    with sklearn.config_context(enable_metadata_routing=routing), pytest.warns(SkippedWarning, match="Fixed"):
        found = evaluate(DATA.X, DATA.y, model, **WHO, n_folds=2, random_state=0)
    assert list(found.frame()["method"]) == ["baseline", "rsa", "fairshap"]


def test_the_error_of_the_baseline_is_raised():
    typo = make_pipeline(make_column_transformer((OneHotEncoder(), ["gruop"])), LogisticRegression())
    with pytest.raises(ValueError, match=r"columns? of the dataframe"):
        evaluate(DATA.X, DATA.y, typo, **WHO, methods=["fairshap", "baseline"], n_folds=2)
    with pytest.raises(InputError, match="frozen"):
        evaluate(
            DATA.X,
            DATA.y,
            **WHO,
            methods=["baseline", "fairshap"],
            n_folds=2,
            constraints=EditConstraints(frozen=["skil"]),
        )


def test_noise_is_told_of_the_baseline_alone():
    X, y = coin_flip(400, 0)
    options = {"sensitive": "coin", "privileged": 1, "n_folds": 3, "random_state": 0}
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        found = evaluate(X, y, tree, **options, methods=["reweighing", "baseline"])
        assert found.noise_level > 0
        fitted = FrozenEstimator(tree.fit(X, y))
        assert evaluate(X, y, fitted, **options, methods=["baseline"]).noise_level is None
    with pytest.warns(NoiseWarning, match="indistinguishable from noise: with 'coin' shuffled"):
        evaluate(X, y, tree, **options, methods=["baseline"])


def test_rows_that_are_not_transformed_have_one_risk_in_folds_of_any_size():
    rows = DATA.X.iloc[:289], DATA.y.iloc[:289]
    methods = ["baseline", "reweighing"]
    frame = evaluate(*rows, LogisticRegression(), **WHO, methods=methods, n_folds=3, random_state=0).frame()
    np.testing.assert_allclose(frame["raw_dr"], frame["dr"], rtol=1e-12)


def test_rows_are_judged_as_the_methods_compare_them():
    d = datasets.load("compas", sensitive="race")
    rows = np.arange(0, len(d.X), 6)
    X, y = d.X.iloc[rows], d.y.iloc[rows]
    who = {"sensitive": "race", "privileged": d.privileged, "n_folds": 2}
    mean_of_pairs = {"explainer": Explainer(comparison="mean")}
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    mean = evaluate(X, y, tree, **who, **mean_of_pairs, methods=["baseline"], random_state=0)
    largest = evaluate(X, y, tree, **who, methods=["baseline"], random_state=0)
    tuned = tune(X, y, tree, **who, **mean_of_pairs, candidates=["plain"], random_state=0)
    assert mean.measures.risk < largest.measures.risk
    np.testing.assert_array_equal(tuned.evaluation.measures.values[0], mean.measures.values[0])


def test_a_fitted_model_is_judged_on_two_labels():
    model = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(DATA.X, DATA.y)
    with pytest.raises(TargetError, match="evaluate_fitted takes a target of two labels"):
        evaluate_fitted(model, DATA.X, np.arange(300) % 3, **WHO)


@pytest.mark.parametrize(("n_folds", "methods"), [(5, ["baseline", "fairshap"]), (2, USUAL[-2:])])
def test_in_each_fold_the_baseline_is_fitted_matched_and_explained_once(n_folds, methods, monkeypatch):
    counts = Counter()

    def counted(module, name):
        original = getattr(module, name)

        @wraps(original)
        def call(*args, **params):
            counts[name] += 1
            return original(*args, **params)

        monkeypatch.setattr(module, name, call)

    counted(DecisionTreeClassifier, "fit")
    counted(estimators, "match_rows")
    counted(estimators, "explain_matched")
    # Numbers, which the tree takes at once.
    X = DATA.X.apply(lambda column: pd.factorize(column, sort=True)[0])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    evaluate(X, DATA.y, tree, sensitive="group", privileged=0, methods=methods, n_folds=n_folds)
    # The baseline, the repaired models and the one whose attribute is shuffled.
    n_fits = 1 + sum(name.startswith("fairshap") for name in methods) + 1
    assert counts == {"fit": n_folds * n_fits, "match_rows": n_folds, "explain_matched": n_folds}


def test_methods_are_drawn_beside_each_other(compared):
    axes = compared.plot()
    assert [ax.get_title() for ax in axes] == [
        measure.label for measure in MEASURES.values() if measure.is_main
    ]
    assert [text.get_text() for text in axes[0].get_yticklabels()] == USUAL


def test_a_method_that_was_not_evaluated_has_no_groups(compared):
    with pytest.raises(InputError, match="Did you mean 'reweighing'"):
        compared.groups("reweighting")
