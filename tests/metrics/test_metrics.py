import fairlearn.metrics as fm
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from fairshap import metrics
from fairshap.exceptions import GroupError, InputError, TargetError
from tests.conftest import to_library

GAPS = [
    metrics.demographic_parity_difference,
    metrics.equal_opportunity_difference,
    metrics.equalized_odds_difference,
    metrics.false_positive_rate_difference,
    metrics.predictive_parity_difference,
]


def predictions(seed, n=200, values="mf"):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), rng.integers(0, 2, n), rng.choice(list(values), n), rng.random(n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("values", ["mf", "wbha"])
def test_gaps_agree_with_fairlearn(seed, values):
    y, p, s, weights = predictions(seed, values=values)
    given_to_both = {"sensitive_features": s, "sample_weight": weights}
    dp = metrics.demographic_parity_difference(y, p, **given_to_both)
    assert_allclose(dp, fm.demographic_parity_difference(y, p, **given_to_both))
    eo = metrics.equal_opportunity_difference(y, p, privileged=values[0], **given_to_both)
    assert_allclose(eo, fm.equal_opportunity_difference(y, p, **given_to_both))
    for name in ("equalized_odds_difference", "false_positive_rate_difference"):
        assert_allclose(
            getattr(metrics, name)(y, p, **given_to_both), getattr(fm, name)(y, p, **given_to_both)
        )


def test_precision_gaps_are_those_of_the_definition():
    y, p, s, _ = predictions(0)
    rate = [y[(s == v) & (p == 1)].mean() for v in "mf"]
    gap = metrics.predictive_parity_difference(y, p, sensitive_features=s, privileged="m")
    assert_allclose(gap, abs(rate[0] - rate[1]))


def test_all_unprivileged_values_are_pooled_where_asked_for():
    y, p, s, _ = predictions(1, values="wbha")
    expected = abs(p[s == "w"].mean() - p[s != "w"].mean())
    who = {"sensitive_features": s, "privileged": "w"}
    assert_allclose(metrics.demographic_parity_difference(y, p, **who, between="pooled"), expected)
    assert metrics.demographic_parity_difference(y, p, **who) > expected
    with pytest.raises(GroupError, match="privileged is not given"):
        metrics.demographic_parity_difference(y, p, sensitive_features=s, between="pooled")


def test_one_group_has_no_gap():
    with pytest.raises(GroupError, match="holds 'm' in all 2 rows"):
        metrics.demographic_parity_difference([0, 1], [0, 1], sensitive_features=["m", "m"])


@pytest.mark.parametrize("gap", GAPS)
def test_a_group_with_nothing_to_take_a_rate_of_counts_nothing(gap):
    y, p, s = [0, 0, 1, 1], [0, 0, 1, 1], ["f", "f", "m", "m"]
    # Nobody is predicted positive wrongly.
    expected = 0.0 if gap is metrics.false_positive_rate_difference else 1.0
    assert gap(y, p, sensitive_features=s, privileged="m") == expected


@pytest.mark.parametrize("gap", GAPS)
def test_labels_and_attributes_come_in_any_form(gap):
    y, p, s, _ = predictions(2)
    expected = gap(y, p, sensitive_features=s, privileged="m")
    words = np.array(["no", "yes"])
    for y2, p2, s2 in [
        (words[y], words[p], pd.Series(s, index=np.arange(200) + 7)),
        (y.astype(bool), p.astype(bool), list(s)),
        (pd.Series(y), pl.Series(p), pl.Series(s)),
        (y, p, pd.DataFrame({"sex": s})),
        (np.where(y, 1, -1), np.where(p, 1, -1), s),
    ]:
        assert_allclose(gap(y2, p2, sensitive_features=s2, privileged="m"), expected)
    other = gap(1 - y, 1 - p, sensitive_features=s, privileged="m", positive=0)
    assert_allclose(other, expected)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_rows_without_the_attribute_are_left_out(missing):
    y, p, s = [0, 1, 0, 1, 1], [1, 1, 0, 1, 0], ["m", "m", "f", "f", missing]
    assert metrics.demographic_parity_difference(y, p, sensitive_features=s, privileged="m") == 0.5


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y_pred": [0, 1]}, InputError, "y_true 4, y_pred 2"),
        (
            {"y_pred": [0.1, 0.7, 0.3, 0.2]},
            TargetError,
            "y_pred holds quantities, such as 0.1.*mean_score_difference",
        ),
        ({"sensitive_features": ["m", "f"]}, InputError, "one value for each of 4 rows"),
        ({"sensitive_features": None}, GroupError, "not given"),
        ({"sensitive_features": ["f"] * 4}, GroupError, "'m' does not occur"),
        ({"y_true": ["a"] * 4, "y_pred": ["a"] * 4}, TargetError, "say which label is positive"),
        ({"positive": 7}, TargetError, "positive=7 does not occur"),
        (
            {"y_true": ["bad"] * 4, "y_pred": ["bad"] * 4, "positive": "Bad"},
            TargetError,
            "Did you mean 'bad'",
        ),
        ({"y_pred": ["0", "1", "1", "1"]}, TargetError, "text and numbers are never the same label"),
        ({"sample_weight": [1]}, InputError, "one weight for each of 4 rows"),
        ({"sample_weight": [1, 1, -1, 1]}, InputError, r"holds -1\.0 in row 2"),
        ({"y_true": [0, 1, None, 1]}, TargetError, "missing values"),
    ],
)
def test_bad_arguments_are_refused(change, error, message):
    arguments = {"y_true": [0, 1, 0, 1], "y_pred": [0, 1, 1, 1], "sensitive_features": ["m", "m", "f", "f"]}
    arguments |= change
    with pytest.raises(error, match=message):
        metrics.demographic_parity_difference(
            arguments.pop("y_true"), arguments.pop("y_pred"), privileged="m", **arguments
        )


MANY = {"y_true": ["a", "b", "c", "a", "b"], "y_pred": ["a", "c", "c", "b", "b"]}
FIVE = {"sensitive_features": ["m", "m", "f", "f", "f"], "privileged": "m"}


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("positive", ["a", "b", "c"])
def test_one_of_many_labels_is_compared_with_the_rest(gap, positive):
    one_or_not = {name: [int(label == positive) for label in labels] for name, labels in MANY.items()}
    assert gap(**MANY, positive=positive, **FIVE) == gap(**one_or_not, **FIVE)


@pytest.mark.parametrize("gap", GAPS)
def test_of_many_labels_the_positive_one_must_be_named(gap):
    with pytest.raises(TargetError, match=r"hold 3 labels, 'a', 'b', 'c'; say which is positive, such as"):
        gap(**MANY, **FIVE)
    with pytest.raises(TargetError, match="positive='d' does not occur; the labels are 'a', 'b', 'c'"):
        gap(**MANY, positive="d", **FIVE)


def test_the_table_of_many_labels_has_the_accuracy_of_all_of_them():
    table = metrics.group_frame(**MANY, sensitive_features=FIVE["sensitive_features"], positive="a")
    assert table.loc["m", "accuracy"] == 0.5
    assert table.loc["f", "accuracy"] == 2 / 3
    assert table.loc["f", "base_rate"] == 1 / 3


def test_the_gap_of_a_regressor_is_that_of_its_mean_prediction():
    gap = metrics.mean_score_difference(None, [10.5, 20.5, 1.0, 2.0, 3.0], **FIVE)
    assert gap == 13.5
    with pytest.raises(InputError, match=r"y_score has shape \(2, 2\)"):
        metrics.mean_score_difference(None, np.eye(2), **FIVE)
    with pytest.raises(TargetError, match=r"y_pred holds quantities, such as 10\.5.*mean_score_difference"):
        metrics.demographic_parity_difference([1, 2, 3, 1, 2], [10.5, 2.5, 3.0, 1.0, 2.0], **FIVE)


def test_weights_of_nothing_count_nothing():
    options = {"sensitive_features": ["m", "m", "f", "f"], "privileged": "m", "sample_weight": [1, 1, 0, 0]}
    assert metrics.demographic_parity_difference([0, 1, 0, 1], [1, 1, 1, 1], **options) == 1.0
    assert metrics.mean_score_difference(None, [0.5, 0.5, 1.0, 1.0], **options) == 0.5


def test_scores_must_be_one_a_row():
    with pytest.raises(InputError, match=r"y_score has shape \(3,\)"):
        metrics.group_frame([0, 1], [0, 1], sensitive_features=["m", "f"], y_score=[0.1, 0.2, 0.3])
    with pytest.raises(InputError, match=r"y_score has shape \(4, 2\)"):
        metrics.mean_score_difference(None, np.zeros((4, 2)), sensitive_features=[0, 1, 0, 1], privileged=1)


def test_the_table_by_group_has_the_rates_of_each():
    y, p, s, score = predictions(3, values="mmmf")
    s = s.astype(object)
    s[:5] = None
    table = metrics.group_frame(y, p, sensitive_features=pd.Series(s, name="sex"), y_score=score)
    assert table.index.name == "sex"
    assert table.index[0] == "m"
    assert table["rows"].sum() == 200
    assert table["rows"].iloc[2] == 5
    m = s == "m"
    assert_allclose(table.loc["m", "true_positive_rate"], p[m & (y == 1)].mean())
    assert_allclose(table.loc["m", "false_positive_rate"], p[m & (y == 0)].mean())
    assert_allclose(table.loc["m", "precision"], y[m & (p == 1)].mean())
    assert_allclose(table.loc["m", "accuracy"], (p == y)[m].mean())
    assert_allclose(table.loc["f", "mean_score"], score[s == "f"].mean())


def test_missing_attributes_of_any_kind_are_one_line():
    s = pd.Series(["m", None, np.nan, "m"], dtype=object)
    table = metrics.group_frame([0, 1, 0, 1], [0, 1, 0, 1], sensitive_features=s)
    assert table["rows"].tolist() == [2, 2]
    unused = pd.Categorical(["m", "f"], categories=["m", "f", "x"])
    assert len(metrics.group_frame([0, 1], [0, 1], sensitive_features=unused)) == 2


def test_a_rate_of_nothing_is_not_a_number():
    table = metrics.group_frame([0, 0], [0, 0], sensitive_features=["m", "f"])
    assert table["precision"].isna().all()
    assert (table["positive_rate"] == 0).all()


def test_risk_is_the_change_that_the_attribute_alone_makes(library):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": [0.0, 1.0] * 10, "x": rng.normal(size=20)})
    model = LogisticRegression().fit(frame.to_numpy(), rng.integers(0, 2, 20))

    class OnArrays:
        def predict_proba(self, X):
            return model.predict_proba(np.asarray(X))

    p = [model.predict_proba(frame.assign(sex=v).to_numpy())[:, 1] for v in (0.0, 1.0)]
    X = to_library(frame, library)
    risk = metrics.discriminative_risk(OnArrays(), X, sensitive="sex", privileged=1, reduce=None)
    assert_allclose(risk, np.abs(p[0] - p[1]), atol=1e-12)
    mean = metrics.discriminative_risk(OnArrays(), X, sensitive="sex", privileged=1)
    assert_allclose(mean, risk.mean())


def test_risk_of_a_quantity_that_is_missing_is_not_a_number():
    X = np.array([[20.0, 1], [40, 1], [np.nan, 1]])

    class Model:
        def predict_proba(self, X):
            p = np.nan_to_num(X[:, 0]) / 100
            return np.column_stack([1 - p, p])

    options = {"sensitive": 0, "privileged": lambda age: age > 30}
    assert_allclose(metrics.discriminative_risk(Model(), X, **options, reduce=None), [0.2, 0.2, np.nan])
    assert_allclose(metrics.discriminative_risk(Model(), X, **options), 0.2)


def test_an_unknown_reduction_is_refused():
    with pytest.raises(InputError, match="reduce='sum' is not known"):
        metrics.discriminative_risk(None, np.eye(2), sensitive=0, privileged=1, reduce="sum")
