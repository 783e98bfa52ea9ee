"""Sums of batches say what the whole table says."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from fairshap import FairSHAP, NearestMatcher, Repairer, audit, audit_dataset, datasets
from fairshap._models import fit_model
from fairshap.exceptions import InputError
from fairshap.model_selection import evaluate_fitted
from fairshap.scale import Sums
from fairshap.scale._evidence import Subject, make_evidence

WHO = {"sensitive": "group", "privileged": "a"}
D = datasets.make_mixed(900)
# A group of few rows, rows without a group, and rows without a reference.
X = D.X.assign(group=D.X["group"].astype(object).where(D.X["occupation"] != "occupation 7", "c"))
X.loc[::50, "group"] = None
X["group"] = X["group"].astype(D.X["group"].dtype)


@pytest.fixture(scope="module")
def parts():
    model = HistGradientBoostingClassifier(max_iter=15, random_state=0)
    repair = FairSHAP(model, **WHO, matcher=NearestMatcher(caliper=3.5), threshold=0.03, random_state=0)
    with pytest.warns(UserWarning, match="no reference"):
        repairer = Repairer.fit(repair, X, D.y)
    cuts = ((0, 17), (17, 400), (400, 900))
    return repairer, [repairer.repair(X[a:b], D.y[a:b]) for a, b in cuts]


def test_the_figures_of_an_audit_are_those_of_the_whole_table(parts):
    repairer, batches = parts
    sums = Sums.total([batch.sums for batch in batches])
    expected = evaluate_fitted(repairer.model, X, D.y, **WHO)
    found, wanted = sums.frame(), expected.frame()
    np.testing.assert_allclose(found.iloc[0], wanted[found.columns].iloc[0], atol=1e-9)
    pd.testing.assert_frame_equal(sums.groups(), expected.groups(), atol=1e-9)


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.UnmatchedRowsWarning")
def test_the_columns_are_those_of_the_explanation(parts):
    sums = Sums.total([batch.sums for batch in parts[1]])
    repair = FairSHAP(
        HistGradientBoostingClassifier(max_iter=15, random_state=0),
        **WHO,
        matcher=NearestMatcher(caliper=3.5),
        threshold=0.03,
        random_state=0,
    ).fit(X, D.y)
    columns = sums.columns().set_index("column")
    values = pd.DataFrame(repair.explanation_.values, columns=repair.explanation_.feature_names)
    for name in values:
        assert columns["mean_attribution"][name] == pytest.approx(values[name].mean(), abs=1e-9)
        assert columns["mean_size"][name] == pytest.approx(values[name].abs().mean(), abs=1e-9)
        assert columns["largest_attribution"][name] == values[name].max()
    assert columns["cells"].sum() == sums.n_edits == len(repair.edits_)
    assert sums.edits_by_column == repair.summary_["edits_by_column"]
    assert sums.n_edited_rows == repair.summary_["n_edited_rows"]
    assert sums.n_unmatched == len(repair.explanation_.match_plan.unmatched)
    plan = repair.explanation_.match_plan
    assert sums.mean_distance == pytest.approx(plan.distance.mean(), abs=1e-9)
    histogram = sums.histogram()
    assert (histogram.sum() == len(X) - sums.n_unmatched).all()
    for name in ("district", "skill"):
        above = histogram[name][[interval.left >= 0.05 for interval in histogram.index]].sum()
        assert above == (values[name] >= histogram.index[105].left).sum()


def test_they_merge_in_any_order_and_by_way_of_json(parts):
    a, b, c = (batch.sums for batch in parts[1])
    assert (a + b) + c == a + (b + c) == (c + a) + b
    assert Sums.from_dict(json.loads(json.dumps(a.to_dict()))) == a
    assert a != b
    assert a != 3
    assert repr(a).startswith("Sums(17 rows, ")


def test_sums_of_other_tables_are_refused(parts):
    d = datasets.make_biased(100, random_state=0)
    other = Repairer.fit(FairSHAP(**WHO, random_state=0), d.X, d.y).repair(d.X, d.y).sums
    with pytest.raises(InputError, match="different groups or features"):
        other + parts[1][0].sums


# ---- evidence


def same(found, wanted, skipped=()):
    """Say where two plain values differ, names in ``skipped`` aside; numbers may by a billionth."""
    if isinstance(wanted, dict):
        names = wanted.keys() - set(skipped)
        return [f"{k}.{one}" for k in names for one in same(found[k], wanted[k], skipped)]
    if isinstance(wanted, list):
        if len(found) != len(wanted):
            return ["length"]
        return [f"{k}.{one}" for k in range(len(wanted)) for one in same(found[k], wanted[k], skipped)]
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return [] if found == pytest.approx(wanted, abs=1e-9) else [f"{found} {wanted}"]
    return [] if found == wanted else [f"{found!r} {wanted!r}"]


ROWS = (
    "scoring_rate",
    "scoring_impact_ratio",
    "highest_scoring",
    "auc",
    "calibration",
    "calibration_gap",
    "rows",
)


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FairshapWarning")
@pytest.mark.parametrize("sensitive", ["group", ["group", "remote"]])
def test_evidence_from_sums_is_that_of_the_whole_table(sensitive, tmp_path):
    many = isinstance(sensitive, list)
    who = {"sensitive": sensitive, "privileged": ("a", "yes") if many else "a"}
    frame = X.assign(remote=np.where(X["remote"], "yes", "no"))
    # Combinations of few rows are one group to a repair.
    frame = frame[frame["group"].isin(["a", "b"])] if many else frame
    frame, y = frame.reset_index(drop=True), D.y[frame.index].to_numpy()
    fitted = fit_model(HistGradientBoostingClassifier(max_iter=15, random_state=0), frame, y, {})
    frame.assign(hired=y).to_parquet(tmp_path / "a.parquet", index=False)
    tests = ["impact_ratio < 0.8", "flip_rate > 0.02"]
    options = {"threshold": 0.03, "fail_if": tests, "title": "t", "target": "hired", **who}
    wanted = audit(fitted, frame, y, **options).to_dict()
    found = audit_dataset(tmp_path, fitted, max_references=None, **options)
    plain = found.to_dict()
    assert same(plain["groupings"], wanted["groupings"], {*ROWS} - {"rows"}) == []
    assert same(plain["treatment"], wanted["treatment"], {"rows"}) == []
    assert same(plain["performance"]["accuracy"], wanted["performance"]["accuracy"]) == []
    assert same(plain["gates"], wanted["gates"]) == []
    assert plain["answers"]["for_whom"] == wanted["answers"]["for_whom"]
    assert "Which columns carry the risk" in found.html
    assert found.to_markdown()


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FairshapWarning")
def test_a_repair_tells_of_groups_before_and_after_it(parts):
    repairer, batches = parts
    sums = Sums.total([batch.sums for batch in batches])
    repaired = pd.concat([batch.X for batch in batches])
    after = evaluate_fitted(repairer.model, repaired, D.y, **WHO)
    subject = Subject.of(repairer, FairSHAP(**WHO))
    evidence = make_evidence(sums, subject, is_repair=True, fail_if=(), about={})
    before = evaluate_fitted(repairer.model, X, D.y, **WHO)
    names = {"selection_rate": "positive_rate", "true_positive_rate": "true_positive_rate"}
    lines = [line for line in evidence.mitigation.groups["group"] if line.rate in names]
    assert len(lines) == 6
    for line in lines:
        for figure, measured in ((line.before, before), (line.after, after)):
            rates = measured.groups().set_index("group")
            assert figure.value == pytest.approx(rates[names[line.rate]][line.group], abs=1e-9)
        assert line.change.low <= line.after.value - line.before.value <= line.change.high
    risks = [evaluation.frame()["dr"].item() for evaluation in (before, after)]
    assert f"has a mean risk (DR) of {risks[1]:.4f}, before {risks[0]:.4f}" in evidence.mitigation.how
    flips = [evaluation.frame()["flips"].item() for evaluation in (before, after)]
    assert (
        f"flips {100 * flips[1]:.2f} % of its decisions, before {100 * flips[0]:.2f} %"
        in evidence.mitigation.how
    )
    assert evidence.mitigation.cells == sums.n_edits
    assert "Rates of each group before and after" in evidence.html
