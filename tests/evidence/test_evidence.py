"""The audit of models and tables, and the forms of evidence."""

import json
import re
import shutil

import fairlearn.metrics as fairlearn
import jsonschema
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

import fairshap
from fairshap import ColumnEncoder, FairSHAP, audit, datasets, evaluate, metrics
from fairshap.evidence import _forms, _held, evidence_schema
from fairshap.exceptions import FileError, GroupError, InputError, ModelError
from tests.evidence.make_schema import FILE, make

# Tables are small here: what is told of noise is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")


def logistic():
    return make_pipeline(ColumnEncoder(), LogisticRegression())


def people(n=400, seed=0):
    """Return a table of two attributes with a gap that other columns carry."""
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["m", "f"], n), rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    height = 170 + 10 * (sex == "m") + rng.normal(size=n) * 4
    wage = 20 + 5 * (sex == "m") + rng.normal(size=n) * 5
    y = np.where(wage + rng.normal(size=n) * 3 + (race == "a") > 23, "yes", "no")
    return pd.DataFrame({"sex": sex, "race": race, "height": height, "wage": wage}), pd.Series(
        y, name="hired"
    )


@pytest.fixture(scope="module")
def found():
    X, y = people()
    who = {"sensitive": ["sex", "race"], "privileged": ("m", "a"), "n_folds": 2, "random_state": 0}
    said = {"by": "A. Person", "purpose": "a test", "date": "2026-01-02", "target": "hired"}
    return audit(logistic(), X, y, **who, **said, fail_if=["impact_ratio < 0.8", "flip_rate > 0.99"])


def test_the_measures_of_an_audit_are_those_of_evaluate():
    X, y = people()
    who = {"sensitive": "sex", "privileged": "m", "n_folds": 3, "n_repeats": 2, "random_state": 0}
    ours = audit(logistic(), X, y, **who).figures
    theirs = evaluate(X, y, logistic(), methods=["baseline"], **who).frame().iloc[0]
    same = {
        "accuracy": "accuracy",
        "auc": "auc",
        "dr": "discriminative_risk",
        "flips": "flip_rate",
        "dp": "selection_rate_difference",
        "eo": "true_positive_rate_difference",
        "fprd": "false_positive_rate_difference",
        "pqp": "precision_difference",
    }
    for name, figure in same.items():
        expected = [theirs[f"{name}{end}"] for end in ("", "_low", "_high")]
        assert_allclose(
            [ours[figure].value, ours[figure].low, ours[figure].high], expected, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("n_folds", [2, 3, 4])
def test_the_noise_level_is_of_a_shuffle_in_each_fold_and_of_three_at_least(monkeypatch, n_folds):
    shuffled, seeds = _held.shuffled_risk, []

    def count(*given):
        seeds.append(given[-1])
        return shuffled(*given)

    monkeypatch.setattr(_held, "shuffled_risk", count)
    audit(logistic(), *people(), sensitive="sex", n_folds=n_folds, n_repeats=1, random_state=0)
    assert len(set(seeds)) == len(seeds) == max(3, n_folds)


def test_a_fitted_model_is_judged_as_it_is():
    X, y = people()
    model = logistic().fit(X, y)
    evidence = audit(model, X, y, sensitive="sex", privileged="m")
    assert not evidence.provenance.is_stand_in
    assert evidence.setting.folds is None
    frame = metrics.group_frame(y, model.predict(X), sensitive_features=X["sex"], positive="yes")
    for group, line in zip(
        evidence.groupings[0].groups, evidence.groupings[0].labels[0].outcomes, strict=True
    ):
        assert group.rows == frame.loc[group.name, "rows"]
        assert_allclose(line.selection_rate.value, frame.loc[group.name, "positive_rate"], rtol=1e-12)
    switched = X.assign(sex=np.where(X["sex"] == "m", "f", "m"))
    risk = np.abs(model.predict_proba(X) - model.predict_proba(switched))[:, 0]
    assert_allclose(evidence.treatment.risk.value, risk.mean(), rtol=0, atol=1e-12)
    for line in evidence.treatment.groups:
        assert_allclose(line.risk.value, risk[X["sex"] == line.group].mean(), rtol=0, atol=1e-12)
    flips = model.predict(X) != model.predict(switched)
    assert_allclose(evidence.treatment.flip_rate.value, flips.mean(), rtol=1e-12)
    assert {line.row for line in evidence.treatment.rows} <= set(np.flatnonzero(flips).tolist())
    assert evidence.treatment.flipped_rows == flips.sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_figures_of_tests_are_those_of_fairlearn(weighted):
    X, y = people()
    X = X[X["race"] != "c"].reset_index(drop=True)
    y = (y == "yes").astype(int).to_numpy()[: len(X)]
    weight = np.linspace(1, 3, len(X)) if weighted else None
    model = logistic().fit(X, y)
    ours = audit(model, X, y, sensitive=["sex", "race"], privileged=("m", "a"), sample_weight=weight).figures
    groups = [X[["sex"]], X[["race"]], X[["sex", "race"]]]
    same = {
        "selection_rate_difference": fairlearn.demographic_parity_difference,
        "true_positive_rate_difference": fairlearn.equal_opportunity_difference,
        "equalized_odds_difference": fairlearn.equalized_odds_difference,
    }
    for name, theirs in same.items():
        expected = [
            theirs(y, model.predict(X), sensitive_features=one, sample_weight=weight) for one in groups
        ]
        assert_allclose(ours[name].value, max(expected), rtol=0, atol=1e-12)
    ratios = [
        fairlearn.demographic_parity_ratio(y, model.predict(X), sensitive_features=one, sample_weight=weight)
        for one in groups
    ]
    assert_allclose(ours["impact_ratio"].value, min(ratios), rtol=0, atol=1e-12)


def test_proxies_are_scored_as_by_scikit_learn():
    X, y = people()
    X["town"] = np.random.default_rng(1).choice(list("uvw"), len(X))
    X.loc[:20, "height"] = np.nan
    proxies = audit(
        HistGradientBoostingClassifier(max_iter=5),
        X,
        y,
        sensitive="sex",
        privileged="m",
        n_folds=2,
        random_state=0,
    ).proxies
    target = (X["sex"] == "m").astype(float)
    found = {one.column: one.auc.value for one in proxies.columns}
    assert set(found) == {"race", "height", "wage", "town"}
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(target, target))
    for name, value in found.items():
        column = X[name]
        if name in ("height", "wage"):
            edges = np.unique(np.nanquantile(column, np.arange(1, 64) / 64))
            column = pd.Series(np.where(column.isna(), -1, np.searchsorted(edges, column)))
        pairs, right = 0.0, 0.0
        for train, test in folds:
            sums = target[train].groupby(column[train]).agg(["sum", "size"])
            shares = (sums["sum"] + 10 * target[train].mean()) / (sums["size"] + 10)
            told = column[test].map(shares).fillna(target[train].mean())
            n = target[test].sum() * (1 - target[test]).sum()
            pairs, right = pairs + n, right + n * roc_auc_score(target[test], told)
        assert_allclose(value, right / pairs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("beside", [False, True])
def test_a_model_without_the_attribute_is_audited_and_not_cleared(beside):
    X, y = people()
    rest = X.drop(columns="sex")
    model = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(rest, y)
    if beside:
        evidence = audit(model, rest, y, sensitive="sex", sensitive_features=X["sex"], privileged="m")
    else:
        evidence = audit(model, X, y, sensitive="sex", privileged="m")
    assert not evidence.setting.sees_attribute
    assert (evidence.treatment.risk.value, evidence.treatment.flip_rate.value) == (0.0, 0.0)
    said = evidence.answers.what_was_unfair
    assert said.startswith("The model predicts hired = yes for ")
    assert "does not use sex: changing only sex changes nothing, by construction" in said
    assert "This is not evidence of fairness" in said
    rate = (model.predict(rest) == "yes")[(X["sex"] == "m").to_numpy()].mean()
    lines = {line.group: line for line in evidence.groupings[0].labels[0].outcomes}
    assert_allclose(lines["m"].selection_rate.value, rate, rtol=1e-12)
    assert "by construction" in evidence.html
    # Height and wage tell the sex all the same.
    assert evidence.proxies.all_together.value > 0.9
    assert evidence.proxies.columns[0].column == "height"
    assert_allclose(sum(one.share_of_gap for one in evidence.proxies.columns), 1)


def test_a_pipeline_that_drops_the_column_is_not_cleared_either():
    X, y = people()
    drop = FunctionTransformer(lambda frame: frame.drop(columns="sex"))
    model = make_pipeline(drop, ColumnEncoder(), LogisticRegression()).fit(X, y)
    evidence = audit(model, X, y, sensitive="sex", privileged="m")
    assert evidence.treatment.risk.value == 0
    assert "This is not evidence of fairness" in evidence.answers.what_was_unfair


@pytest.mark.parametrize("whom", ["almost nobody", "almost everybody"])
def test_a_model_whose_decisions_are_all_alike_is_judged_by_its_scores(whom):
    rng = np.random.default_rng(0)
    n, label, other = 2000, *(("yes", "no") if whom == "almost nobody" else ("no", "yes"))
    X = pd.DataFrame({"sex": rng.choice(["m", "f"], n), "years": rng.integers(0, 30, n)})
    # Callbacks are rare for all, and for one group twice as rare.
    y = pd.Series(np.where(rng.random(n) < np.where(X["sex"] == "m", 0.1, 0.05), label, other), name="call")
    model = logistic().fit(X, y)
    assert (model.predict(X) == other).all()
    evidence = audit(model, X, y, sensitive="sex", privileged="m", positive="yes")
    assert f"The model predicts call = yes for {whom} (" in evidence.answers.what_was_unfair
    assert "so its decisions say nothing about the groups" in evidence.answers.what_was_unfair
    score = model.predict_proba(X)[:, list(model.classes_).index("yes")]
    rates = pd.Series(score > np.median(score)).groupby(X["sex"]).mean()
    low, high = sorted(rates)
    assert f"{low / high:.2f} times as often" in evidence.answers.what_was_unfair
    means = pd.Series(score).groupby(X["sex"]).mean()[rates.sort_values().index]
    said = " and ".join(f"{100 * mean:.1f} %" for mean in means)
    assert f"On average they are {said};" in evidence.answers.what_was_unfair
    assert "How often each group is scored above the median, with 95" in evidence.html
    lowest = rates.idxmin()
    assert (
        f"sex = {lowest} ({low / high:.2f}) is scored above the median for call = yes"
        in evidence.answers.for_whom
    )
    # Nor is one cleared that does not take the column, and has another to tell it by.
    height = (X["sex"] == "m") + rng.normal(size=n)
    rest = X[["years"]].assign(height=height)
    blind = audit(logistic().fit(rest, y), rest.assign(sex=X["sex"]), y, sensitive="sex", positive="yes")
    assert "the groups are scored differently all the same" in blind.answers.what_was_unfair


def test_rare_decisions_that_tell_the_groups_apart_are_told():
    rng = np.random.default_rng(0)
    n = 20_000
    X = pd.DataFrame({"sex": rng.choice(["m", "f"], n), "score": rng.normal(size=n)})
    y = pd.Series(np.where(rng.random(n) < 0.08, "yes", "no"), name="call")
    chosen = (X["score"] > 2.6) & ((X["sex"] == "m") | (X["score"] > 3.4))
    assert chosen.mean() < 0.008

    class Rare(DummyClassifier):
        def predict_proba(self, X):
            taken = (X["score"] > 2.6) & ((X["sex"] == "m") | (X["score"] > 3.4))
            return np.column_stack([1 - taken, taken]).astype(float)

        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    evidence = audit(Rare().fit(X, y), X, y, sensitive="sex", privileged="m", positive="yes")
    rates = chosen.groupby(X["sex"]).mean()
    said = evidence.answers.what_was_unfair
    assert "say nothing about the groups" not in said
    assert f"{rates['f'] / rates['m']:.2f} times as often" in said


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.MarginWarning")
def test_scores_that_are_no_probabilities_make_whole_sentences():
    rng = np.random.default_rng(0)
    n = 2000
    X = pd.DataFrame({"sex": rng.choice([0, 1], n), "years": rng.integers(0, 30, n)})
    y = pd.Series(np.where(rng.random(n) < np.where(X["sex"] == 1, 0.1, 0.05), "yes", "no"), name="call")
    evidence = audit(LinearSVC().fit(X, y), X, y, sensitive="sex", privileged=1, positive="yes")
    assert "). In the table, " in evidence.answers.what_was_unfair
    assert "scored above the median for call = yes less than four fifths" in evidence.answers.for_whom


def test_a_quantity_that_one_group_has_less_of_can_be_audited():
    # In a decile there is one row of a group, or none.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["m", "f"], 600), "years": rng.integers(0, 20, 600)})
    pay = 30_000 + 500 * X["years"] + 12_000 * (X["sex"] == "m") + rng.normal(0, 4000, 600)
    by = pd.crosstab(pd.qcut(pay, 10, labels=False), X["sex"])
    assert by.min().min() < 2
    evidence = audit(None, X, pay.rename("pay"), sensitive="sex", privileged="m", random_state=0)
    low, high = sorted(line.mean_target.value for line in evidence.groupings[0].quantity.lines)
    assert (low, high) == pytest.approx(tuple(sorted(pay.groupby(X["sex"]).mean())))


def test_of_several_labels_all_are_told_and_the_widest_gap_is_drawn():
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame({"sex": rng.choice(["m", "f"], n), "x": rng.normal(size=n)})
    value = X["x"] + 0.8 * (X["sex"] == "m")
    y = pd.Series(np.select([value > 1, value > 0], ["promoted", "ok"], "zero"), name="status")
    evidence = audit(logistic().fit(X, y), X, y, sensitive="sex")
    rates = {table.label: table for table in evidence.groupings[0].labels}
    below = {
        label: line.group
        for label, table in rates.items()
        for line in table.outcomes
        if line.impact_ratio.value < 0.8
    }
    assert below["promoted"] == "f"
    assert below["zero"] == "m"
    for label, group in below.items():
        assert f") is predicted status = {label} less" in evidence.answers.for_whom
        assert f"sex = {group} (" in evidence.answers.for_whom
    widest = max(rates.values(), key=lambda one: one.gaps["selection_rate"].figure.value)
    assert widest is not evidence.groupings[0].labels[0]
    assert evidence.plot_outcomes().get_xlabel() == f"predicted status = {widest.label} (%)"
    assert f"predicts status = {widest.label} for " in evidence.answers.what_was_unfair
    assert f"How often each group is predicted {widest.label}, with 95" in evidence.html


def test_a_quantity_is_told_without_powers_of_ten():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["m", "f"], 200), "years": rng.integers(0, 30, 200)})
    pay = pd.Series(30_000 + 1_234.5 * X["years"] + 8_000 * (X["sex"] == "m"), name="pay")
    model = make_pipeline(ColumnEncoder(), LinearRegression()).fit(X, pay)
    evidence = audit(model, X, pay, sensitive="sex", fail_if=["mean_prediction_difference > 1234567"])
    means = {line.group: line.mean_prediction.value for line in evidence.groupings[0].quantity.lines}
    assert f"a mean pay of {means['f']:,.0f} for sex = f" in evidence.answers.what_was_unfair
    assert "moves the prediction by 8,000 on average" in evidence.answers.what_was_unfair
    (gate,) = evidence.gates
    assert gate.fails_if == "mean_prediction_difference > 1234567"
    card = evidence.to_markdown()
    assert "four-fifths" not in card
    assert "Decisions that flip" not in card
    assert re.search(r"^\| m \|.* most favored \|$", card, re.M)
    shown = f"{means['m'] - means['f']:,.0f}"
    assert gate.result == f"mean_prediction_difference is {shown}"
    for text in (evidence.html, evidence.to_markdown(), evidence.answers.what_was_unfair):
        assert "e+0" not in text


def test_a_ratio_that_may_be_chance_is_said_to_be():
    n = 40
    X = pd.DataFrame({"sex": np.repeat(["men", "women"], n), "x": np.r_[np.arange(n), np.arange(n) - 4.0]})
    y = pd.Series(np.where(X["x"] > 20, "yes", "no"), name="hired")
    evidence = audit(make_pipeline(ColumnEncoder(), LogisticRegression()).fit(X, y), X, y, sensitive="sex")
    ratio = next(line for line in evidence.groupings[0].labels[0].outcomes if line.group == "women")
    assert ratio.impact_ratio.value < 0.8 < 1 < ratio.impact_ratio.high
    assert f"women ({ratio.impact_ratio.value:.2f}, which may be chance) is" in evidence.answers.for_whom
    assert "cannot be told apart" in evidence.answers.what_was_unfair


def test_without_a_privileged_group_all_are_compared_with_the_most_favored():
    X, y = people()
    evidence = audit(logistic(), X, y, sensitive="race", n_folds=2, random_state=0)
    rates = (y == "yes").groupby(X["race"]).mean()
    assert evidence.setting.privileged == rates.idxmax()
    assert "is taken for it" in evidence.setting.privileged_note
    (table,) = evidence.groupings[0].labels
    highest = max(table.outcomes, key=lambda line: line.selection_rate.value)
    assert table.most_favored == highest.group
    with pytest.raises(GroupError, match="is a quantity"):
        audit(logistic(), X, y, sensitive="wage")
    with pytest.raises(GroupError, match="missing in every row"):
        audit(None, X.assign(race=None), y, sensitive="race")


def test_attributes_have_tables_of_their_own_and_of_their_combinations(found):
    X, _ = people()
    assert [one.attribute for one in found.groupings] == ["sex", "race", "sex / race"]
    assert [one.is_intersection for one in found.groupings] == [False, False, True]
    counts = X.groupby(["sex", "race"]).size()
    for group in found.groupings[2].groups:
        assert group.rows == counts[tuple(group.name.split(" / "))]


def test_rows_of_unknown_group_are_counted():
    X, y = people()
    X.loc[:24, "sex"] = None
    evidence = audit(logistic(), X, y, sensitive="sex", privileged="m", n_folds=2, random_state=0)
    (one,) = evidence.groupings
    assert one.unknown_rows == 25
    assert sum(group.rows for group in one.groups) == 375
    assert "25 rows (6.2 %) of unknown sex are in no group." in evidence.answers.for_whom
    assert any("unknown in 25 rows" in line for line in evidence.limits)
    lines = evidence.to_ll144()["sex"].set_index("sex")
    assert lines.loc["unknown", "applicants"] == 25


def test_weights_count_in_every_figure():
    X, y = people()
    times = np.random.default_rng(1).integers(1, 4, len(X))
    model = logistic().fit(X, y)
    weighted = audit(model, X, y, sensitive="sex", privileged="m", sample_weight=times)
    many = np.repeat(np.arange(len(X)), times)
    repeated = audit(model, X.iloc[many], y.iloc[many], sensitive="sex", privileged="m")
    for name in (
        "impact_ratio",
        "selection_rate_difference",
        "precision_difference",
        "accuracy",
        "auc",
        "flip_rate",
    ):
        assert_allclose(weighted.figures[name].value, repeated.figures[name].value, rtol=1e-12)
    assert_allclose(weighted.treatment.risk.value, repeated.treatment.risk.value, rtol=1e-12)
    for one, other in zip(weighted.groupings[0].groups, repeated.groupings[0].groups, strict=True):
        assert_allclose(one.share, other.share, rtol=1e-12)
    # Copies are no people: the weighted figures are less certain.
    assert weighted.figures["accuracy"].low < repeated.figures["accuracy"].low
    assert any("weighted" in line for line in weighted.limits)


@pytest.mark.parametrize("positive", [None, "high"])
def test_several_labels_have_tables_of_their_own(positive):
    X, _ = people()
    y = np.select([X["wage"] > 26, X["wage"] > 20], ["high", "middle"], "low")
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    evidence = audit(
        model, X, y, sensitive="sex", privileged="m", positive=positive, n_folds=2, random_state=0
    )
    labels = [table.label for table in evidence.groupings[0].labels]
    assert labels == (["high", "low", "middle"])
    assert evidence.setting.positive == (positive or "")
    assert set(evidence.performance) == {"accuracy"}
    jsonschema.validate(evidence.to_dict(), evidence_schema())
    assert "target = high" in evidence.html
    lines = evidence.to_ll144()["sex"]
    tables = evidence.groupings[0].labels
    kept = [(line.group, table.label) for table in tables for line in table.outcomes]
    assert list(zip(lines["sex"], lines["label"], strict=True))[:-1] == kept
    assert lines["selection_rate"].tolist()[:-1] == [
        line.selection_rate.value for table in tables for line in table.outcomes
    ]


@pytest.mark.parametrize("model", [None, LinearRegression(), HistGradientBoostingRegressor(max_iter=5)])
def test_a_quantity_has_its_own_tables(model):
    X, _ = people()
    y = X.pop("wage")
    evidence = audit(model, X, y, sensitive="sex", n_folds=2, random_state=0, target="wage")
    (one,) = evidence.groupings
    assert one.labels == ()
    assert one.quantity.most_favored == "m"
    assert evidence.answers.what_was_unfair.startswith("The model predicts a mean wage of ")
    assert "mean_prediction_difference" in evidence.figures
    jsonschema.validate(evidence.to_dict(), evidence_schema())
    assert "Outcomes by <bdi>sex</bdi>" in evidence.html
    assert "mean absolute error" in evidence.to_markdown()
    assert set(evidence.to_ll144()["sex"]) >= {"applicants", "scoring_rate", "scoring_impact_ratio"}


def test_gates_say_which_figure_failed(found):
    first, second = found.gates
    assert not first.passed
    assert first.figure.value == found.figures["impact_ratio"].value < 0.8
    assert second.passed
    assert not found.passed
    assert "fails: impact_ratio < 0.8" in repr(found)
    X, y = people()
    how = {"sensitive": "sex", "privileged": "m", "n_folds": 2, "random_state": 0}
    with pytest.raises(InputError, match=r"'impact_ration'.*Did you mean 'impact_ratio'"):
        audit(logistic(), X, y, **how, fail_if="impact_ration < 0.8")
    with pytest.raises(InputError, match="is no condition"):
        audit(logistic(), X, y, **how, fail_if=["impact_ratio = 0.8"])


def test_the_worst_ratio_of_all_attributes_is_the_figure(found):
    few = [group.name for one in found.groupings for group in one.groups if group.is_few]
    ratios = [
        line.impact_ratio.value
        for one in found.groupings
        for table in one.labels
        for line in table.outcomes
        if line.group not in few
    ]
    assert few
    assert found.figures["impact_ratio"].value == np.nanmin(ratios)


def test_the_json_is_what_the_schema_says(found):
    assert json.loads(FILE.read_text(encoding="utf-8")) == make(), "run tests/evidence/make_schema.py"
    schema = evidence_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    text = found.to_json()
    jsonschema.validate(json.loads(text), schema)
    assert "NaN" not in text
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found.to_dict(), "more": 1}, schema)


def test_provenance_says_what_was_given_and_leaves_the_rest_blank(found):
    told = found.provenance
    assert (told.by, told.purpose, told.date, told.sign_off) == ("A. Person", "a test", "2026-01-02", "")
    assert (told.seed, told.is_stand_in, told.model_sha256) == (0, True, "")
    assert len(told.data_sha256) == 64
    assert told.versions["fairshap"] == fairshap.__version__
    assert told.model == "ColumnEncoder \u2192 LogisticRegression"
    with pytest.raises(InputError, match="audit takes no 'why'"):
        audit(logistic(), *people(), sensitive="sex", why="?")


def test_the_mapping_is_dated_and_is_no_finding_of_law(found):
    mapping = found.to_dict()["mapping"]
    assert "This is evidence and not a finding of law." in mapping["note"]
    assert mapping["date"] in mapping["note"]
    named = " ".join(one["document"] for one in mapping["requirements"])
    for document in (
        "Art. 10(2)(c)",
        "10(2)(f)",
        "10(2)(g)",
        "10(2)(h)",
        "10(3)",
        "Local Law 144",
        "MEASURE 2.11",
        "ISO/IEC TS 12791",
    ):
        assert document in named


def test_the_card_has_the_sections_of_a_model_card(found):
    card = found.to_markdown()
    for section in (
        "# Fairness audit",
        "## Model description",
        "## Evaluation results",
        "## Model card authors",
    ):
        assert f"\n{section}\n" in f"\n{card}"
    assert found.answers.what_was_unfair in card
    assert "| impact\\_ratio \\< 0.8 |" in card


def test_the_tables_of_local_law_144(found, tmp_path):
    names = found.write_ll144(tmp_path / "tables")
    assert [name.rpartition("/")[2] for name in names] == ["sex.csv", "race.csv", "sex-race.csv"]
    frame = pd.read_csv(names[0], index_col="sex")
    (table, *_) = found.groupings[0].labels
    for line, group in zip(table.outcomes, found.groupings[0].groups, strict=True):
        row = frame.loc[line.group]
        assert row["applicants"] == group.rows
        assert_allclose(row["selected"], line.selection_rate.value * group.rows, atol=0.5)
        assert row["impact_ratio"] == pytest.approx(
            1.0 if line.group == table.most_favored else line.impact_ratio.value
        )
    with pytest.raises(FileError, match="exists"):
        found.write_ll144(tmp_path / "tables")


def test_the_ending_of_a_file_says_the_form(found, tmp_path):
    for ending, start in ((".json", "{"), (".md", "# Fairness audit"), (".html", "<!doctype html>")):
        found.write(tmp_path / f"audit{ending}")
        assert (tmp_path / f"audit{ending}").read_text(encoding="utf-8").lstrip().startswith(start)
    with pytest.raises(InputError, match=r"\.html, \.md, \.json or \.pdf"):
        found.write(tmp_path / "audit.docx")


def test_without_a_browser_there_is_no_pdf(found, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(FileError, match="Chromium, Chrome or Edge"):
        found.write(tmp_path / "audit.pdf")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(_forms.find_browser() is None, reason="needs a browser: make browser")
def test_a_browser_prints_the_pdf(found, tmp_path):
    found.write(tmp_path / "audit.pdf")
    assert (tmp_path / "audit.pdf").read_bytes().startswith(b"%PDF")


def test_mlflow_gets_figures_and_files(found, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    with mlflow.start_run() as run:
        found.log_mlflow()
    logged = mlflow.get_run(run.info.run_id)
    assert logged.data.metrics["fairshap.impact_ratio"] == pytest.approx(found.figures["impact_ratio"].value)
    assert logged.data.tags["fairshap.passed"] == "False"
    names = {path.name for path in (tmp_path / "runs").rglob("fairshap/*")}
    assert names == {"evidence.html", "evidence.json", "model-card.md"}


def test_a_repair_gives_evidence_before_and_after():
    X, y = people()
    fs = FairSHAP(logistic(), sensitive="sex", privileged="m", threshold=0.001, random_state=0).fit(X, y)
    evidence = fs.report(target="hired", date="2026-01-02", fail_if=["impact_ratio < 0.1"])
    found = evidence.mitigation
    assert found.cells == len(fs.edits_) == sum(found.columns.values())
    assert len(found.ledger_sha256) == 64
    measures = evidence.data.evaluation.measures
    by_group = {(line.group, line.rate): line for line in found.groups["sex"]}
    for model, part in enumerate(("before", "after")):
        for _, line in measures.groups(model).iterrows():
            ours = getattr(by_group[line["group"], "selection_rate"], part)
            assert_allclose(ours.value, line["positive_rate"], rtol=1e-12)
    assert evidence.answers.what_was_changed.startswith(f"{found.cells:,} cells of ")
    jsonschema.validate(evidence.to_dict(), evidence_schema())
    card = evidence.to_markdown()
    assert "### Mitigation" in card
    lines = card.partition("**Before and after, by sex**")[2]
    for line in found.groups["sex"]:
        before, after = (f"{100 * one.value:.1f} %" for one in (line.before, line.after))
        rate = line.rate.replace("_", " ")
        assert re.search(rf"^\| {rate} \| {line.group} \| {before} .*\| {after} ", lines, re.M)
    assert "Rates of each group before and after" in evidence.html


def test_a_redacted_audit_tells_no_value_of_a_row():
    X, y = people()
    evidence = audit(
        logistic().fit(X, y), X, y, sensitive="sex", privileged="m", ids=[f"id-{k}" for k in range(400)]
    )
    assert evidence.treatment.rows[0].id.startswith("id-")
    hidden = audit(
        logistic(), X, y, sensitive="sex", privileged="m", ids=[f"id-{k}" for k in range(400)], redact=True
    )
    assert "id-" not in hidden.to_json()
    assert "Redacted." in hidden.html


def test_what_is_no_model_is_refused():
    X, y = people(60)
    with pytest.raises(ModelError, match="is no estimator"):
        audit("model.pkl", X, y, sensitive="sex")
    model = logistic().fit(X.rename(columns={"wage": "pay"}), y)
    with pytest.raises(ModelError, match="does not have: 'pay'"):
        audit(model, X, y, sensitive="sex")


def test_columns_that_a_model_does_not_take_are_left_out():
    X, y = people()
    model = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(X[["wage", "sex"]], y)
    evidence = audit(model, X, y, sensitive="sex", privileged="m")
    assert evidence.setting.columns == ("wage", "sex")
    assert evidence.setting.sees_attribute


def test_the_audit_of_a_biased_table_is_the_same_each_time():
    d = datasets.make_biased(200, random_state=0)
    how = {"sensitive": d.sensitive, "n_folds": 2, "random_state": 0, "date": "2026-01-02"}
    one, other = (audit(None, d.X, d.y, **how) for _ in range(2))
    assert one.html == other.html
    assert one.to_json() == other.to_json()


def test_redacted_evidence_has_no_figures_of_a_few_people():
    X, y = people()
    X.loc[0, "race"] = "alone"
    X.loc[1:5, "race"] = "five"
    who = {"sensitive": "race", "privileged": "a"}
    fitted = logistic().fit(X, y)
    shown, hidden = (audit(fitted, X, y, **who, redact=redact) for redact in (False, True))
    small = {"alone", "five"}
    assert all(np.isfinite(o.selection_rate.value) for o in shown.groupings[0].labels[0].outcomes)
    (found,) = hidden.to_dict()["groupings"]
    (table,) = found["labels"]
    unknown = dict.fromkeys(("value", "low", "high"))
    for line, errors in zip(table["outcomes"], table["errors"], strict=True):
        figures = [line["base_rate"], line["selection_rate"], line["scoring_rate"], *errors["rates"].values()]
        is_small = line["group"] in small
        assert (line["base_rate"] == unknown) is is_small
        assert not is_small or all(one == unknown for one in figures)
        assert (errors["calibration"] == []) is is_small
    bins = [one for errors in table["errors"] for one in errors["calibration"]]
    assert any(one["rows"] < 10 for one in bins)
    assert all((one["observed"] == unknown) is (one["rows"] < 10) for one in bins)
    treated = {line["group"]: line["risk"] for line in hidden.to_dict()["treatment"]["groups"]}
    assert {name for name, risk in treated.items() if risk == unknown} == small
    frame = hidden.to_ll144()["race"].set_index("race")
    assert frame.loc[["alone", "five"], ["selected", "selection_rate", "scoring_rate"]].isna().all(axis=None)
    assert any("under 10 rows are left out" in line for line in hidden.limits)
    jsonschema.validate(hidden.to_dict(), evidence_schema())
    assert "Redacted." in hidden.html


def test_two_groups_of_which_one_is_hidden_are_not_compared():
    X, y = people()
    X["race"] = np.where(np.arange(len(X)) < 5, "five", "a")
    hidden = audit(logistic().fit(X, y), X, y, sensitive="race", privileged="a", redact=True)
    assert hidden.groupings[0].labels[0].gaps["selection_rate"].highest == ""
    assert "no two groups of race to compare" in hidden.answers.what_was_unfair
    assert "Redacted." in hidden.html


def test_a_redacted_repair_hides_small_groups_too():
    X, y = people()
    X.loc[:3, "race"] = "four"
    fs = FairSHAP(logistic(), sensitive="race", privileged="a", threshold=0.001, random_state=0).fit(X, y)
    lines = fs.report(redact=True).mitigation.groups["race"]
    assert {line.group for line in lines if not np.isfinite(line.before.value)} == {"four"}


def test_the_second_largest_group_is_compared_however_few_it_has():
    X, y = people(300)
    X["race"] = np.repeat(["A", "B", "C"], [260, 25, 15])
    evidence = audit(
        logistic().fit(X, y), X, y, sensitive="race", privileged="A", fail_if="impact_ratio < 0.01"
    )
    (one,) = evidence.groupings
    assert [group.is_compared for group in one.groups] == [True, True, False]
    ratio = {line.group: line.impact_ratio.value for line in one.labels[0].outcomes}
    assert evidence.figures["impact_ratio"].value == np.nanmin([ratio["A"], ratio["B"]])
    assert evidence.passed
    assert "C has too few rows to compare." in evidence.answers.for_whom
    assert any("fewer than 30 rows of C; their figures are not compared" in line for line in evidence.limits)
    assert any("fewer than 30 rows of B; their figures are uncertain" in line for line in evidence.limits)
    assert evidence.html.count("fewer than 30 rows: not compared") == 1


def test_the_card_shows_names_as_they_are():
    X, y = people()
    X["sex"] = X["sex"].replace("f", "<img src=x onerror=alert(1)>")
    said = {"purpose": "<b>why</b>", "by": "<i>me</i>", "sign_off": "[x](y)", "command": "a\n```\n<script>"}
    card = audit(logistic().fit(X, y), X, y, sensitive="sex", privileged="m", **said).to_markdown()
    text, _, code = card.partition("\n````text\na\n```\n<script>\n````\n")
    assert code
    for raw in ("<img", "<b>", "<i>", "[x]"):
        assert raw not in text.replace("\\<", "").replace("\\[", ""), raw


def test_a_browser_that_fails_is_told(found, tmp_path, monkeypatch):
    for browser in ("false", "true", "no-such-browser"):
        monkeypatch.setattr(_forms, "find_browser", lambda browser=browser: browser)
        with pytest.raises(FileError, match="did not print the PDF"):
            found.write(tmp_path / "audit.pdf")


@pytest.mark.parametrize("number", ["0.8.1", ".", "1e", ""])
def test_what_is_no_number_is_no_condition(number):
    with pytest.raises(InputError, match="is no condition"):
        audit(logistic(), *people(60), sensitive="sex", fail_if=f"impact_ratio < {number}")


def test_the_figures_of_a_weighted_repair_count_each_row_once():
    X, y = people()
    weight = np.linspace(1, 3, len(X))
    fs = FairSHAP(logistic(), sensitive="sex", privileged="m", random_state=0)
    evidence = fs.fit(X, y, sample_weight=weight).report()
    assert evidence.mitigation.measures
    assert not evidence.setting.is_weighted
    assert not any("weighted" in line for line in evidence.limits)


def test_selected_people_are_counted_only_without_weights():
    X, y = people()
    model = logistic().fit(X, y)
    who = {"sensitive": "sex", "privileged": "m"}
    frame = audit(model, X, y, **who).to_ll144()["sex"].set_index("sex")
    assert frame.loc["f", "selected"] == (model.predict(X) == "yes")[X["sex"] == "f"].sum()
    weighted = audit(model, X, y, **who, sample_weight=np.linspace(1, 3, len(X))).to_ll144()["sex"]
    assert "selected" not in weighted
    assert "selection_rate" in weighted


def test_rows_that_are_judged_several_times_are_not_counted_in_a_test():
    X, y = people(120)
    X["race"] = np.repeat(["A", "B"], [110, 10])
    tests = [
        {
            line.test
            for line in audit(
                logistic(),
                X,
                y,
                sensitive="race",
                privileged="A",
                n_folds=2,
                n_repeats=repeats,
                random_state=0,
            )
            .groupings[0]
            .labels[0]
            .outcomes
        }
        for repeats in (1, 2)
    ]
    assert tests == [{"", "Fisher's exact test"}, {"", "z test"}]
