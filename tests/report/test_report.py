import html as html_module
import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import fairshap
from fairshap import (
    Budget,
    ColumnEncoder,
    EditConstraints,
    FairSHAP,
    Iterative,
    OptimalSubset,
    Threshold,
    datasets,
    estimators,
    evaluate,
    metrics,
)
from fairshap._crossval import MEASURES
from fairshap._plotting import new_axes, thin
from fairshap.attribution import _explain
from fairshap.edits import Selector
from fairshap.exceptions import (
    FileError,
    InputError,
    NothingToRepairWarning,
    TargetError,
    UnmatchedRowsWarning,
)
from fairshap.report._cells import column_lines, ledger, riskiest_rows
from tests.report.conftest import AUDIT, HOSTILE, IMAGE, SCRIPT, hostile_table

# Tables are small and folds are few here: what is told of noise is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")

SECTIONS = [
    "What was found",
    "Groups",
    "Outcomes",
    "Errors by group",
    "Treatment: what the attribute alone does",
    "Proxies: columns that stand in for the attribute",
    "Mitigation",
    "Limits, and documents that ask for such evidence",
    "Provenance",
]


WHO = {"sensitive": "sex", "privileged": "m", "random_state": 0}


class Page(HTMLParser):
    """Collects what the tests ask about: headings, tags, ids and data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.ids, self.headings, self.data, self.text = [], [], [], {}, []
        self._open = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append([int(tag[1]), ""])
            self._open = "heading"
        elif tag == "script" and attrs.get("type") == "application/json":
            self._open = attrs["id"]

    def handle_endtag(self, tag):
        if tag in ("h1", "h2", "h3", "h4", "script"):
            self._open = None

    def handle_data(self, data):
        self.text.append(data)
        if self._open == "heading":
            self.headings[-1][1] += data
        elif self._open:
            self.data[self._open] = json.loads(data)


def test_the_sections_stand_in_order_and_headings_skip_no_level(report):
    headings = Page(report.html).headings
    assert [text for level, text in headings if level == 2] == SECTIONS
    levels = [level for level, _ in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


@pytest.mark.parametrize("redact", [False, True])
def test_an_audit_claims_no_repair(fitted, audit, redact):
    page = fairshap.audit(LogisticRegression(), *hostile_table(), **AUDIT, redact=True) if redact else audit
    headings = [text for _, text in Page(page.html).headings]
    assert "What a repair would do" in headings
    assert "The edits that a repair would make" in headings
    said = " ".join(" ".join(Page(page.html).text).split())
    assert "Nothing was changed." in said
    assert f"A repair by FairSHAP would replace {len(fitted.edits_)} cells" in said
    for claim in ("before and after", "was replaced", "cells replaced", "repaired table", "\u2192 0."):
        assert claim not in said, claim
    assert page.mitigation is None
    assert page.plot_fairness() is None
    assert len(page.plot_risks().lines) == 1


def test_an_evaluation_that_was_made_is_shown_and_not_made_again(fitted, report, monkeypatch):
    monkeypatch.setattr("fairshap.evidence._audit.evaluate_repair", None)
    said = {"title": f"Hostile {SCRIPT}", "command": f"fairshap {IMAGE}", "date": "2026-01-02"}
    assert fitted.report(**said, evaluation=report.data.evaluation).html == report.html


def test_an_evaluation_that_does_not_fit_is_refused(fitted, report):
    X, y = hostile_table()
    with pytest.raises(InputError, match="leave X_test out"):
        fitted.report(evaluation=report.data.evaluation, X_test=X, y_test=y)
    one = evaluate(X, y, LogisticRegression(), methods=["baseline"], n_folds=2, **WHO)
    with pytest.raises(InputError, match=r"one model only"):
        fitted.report(evaluation=one)
    part = evaluate(X[:100], y[:100], LogisticRegression(), methods=["baseline", "rsa"], n_folds=2, **WHO)
    with pytest.raises(InputError, match="does not hold the rows of this table"):
        fitted.report(evaluation=part)


class Counting(LogisticRegression):
    """Counts how often one of its kind is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        # Words, which it cannot take, raise an error here: it is fitted behind an encoder then.
        super().fit(X, y, sample_weight)
        Counting.fits += 1
        return self


def test_a_report_repeats_no_work(monkeypatch):
    counts = dict.fromkeys(("match_rows", "explain_matched"), 0)
    for name in counts:

        def counted(name, known, *args, **params):
            counts[name] += 1
            return known(*args, **params)

        monkeypatch.setattr(estimators, name, partial(counted, name, getattr(estimators, name)))
    Counting.fits = 0
    X, y = hostile_table()
    model = FairSHAP(Counting(), sensitive="sex", privileged="m", threshold=0.005, random_state=0)
    n = len(model.fit(X, y).report().data.evaluation.folds)
    # The table, and in each fold the baseline, the repaired and the shuffled one.
    assert Counting.fits == 1 + 3 * n
    assert counts == dict.fromkeys(counts, 1 + n)
    Counting.fits = 0
    fairshap.audit(Counting(), X, y, **AUDIT, n_folds=3)
    # In each fold the model and the shuffled one, and the one of the whole table that is explained.
    assert Counting.fits == 2 * 3 + 1


class MoreMeasures:
    """The measures of an evaluation, and one that the engine learned after the report was written."""

    def __init__(self, measures, before, after):
        self.known, self.levels = measures, np.array([[before], [after]])

    def __getattr__(self, name):
        values = getattr(self.known, name)
        return np.hstack([values, self.levels]) if name in ("values", "low", "high") else values

    def changes(self):
        change = self.levels - self.levels[:1]
        return tuple(np.hstack([part, change]) for part in self.known.changes())

    def pair(self, model, measure):
        return ("f", "m") if measure == "new" else self.known.pair(model, measure)


def test_a_new_measure_appears_by_itself(fitted, report, monkeypatch):
    new = SimpleNamespace(
        label="NEW",
        description="a new gap",
        kind="gap",
        higher_is_better=False,
        is_fairness=True,
        is_main=True,
    )
    known = report.data.evaluation
    more = replace(known, measures=MoreMeasures(known.measures, 0.4321, 0.1234))
    monkeypatch.setitem(MEASURES, "new", new)
    page = fitted.report(evaluation=more)
    said = " ".join(" ".join(Page(page.html).text).split())
    assert re.search(r"NEW a new gap; f over m 0.4321 0.4321 to 0.4321 0.1234 .* better", said)
    assert re.search(r"EO, .* and NEW, lower is better", said)
    assert page.plot_fairness().get_yticklabels()[-1].get_text() == "NEW"


def test_a_gap_that_cannot_be_taken_is_neither_better_nor_worse(fitted, report):
    known = report.data.evaluation
    measures = replace(known.measures, values=known.measures.values.copy())
    measures.values[1, list(MEASURES).index("pqp")] = np.nan
    page = fitted.report(evaluation=replace(known, measures=measures))
    assert page.data.measure_lines()["pqp"]["verdict"] == "not measurable"
    same = replace(known.measures, values=known.measures.values[[0, 0]])
    lines = fitted.report(evaluation=replace(known, measures=same)).data.measure_lines()
    assert {line["verdict"] for line in lines.values()} == {"not measurable"}


def test_hostile_text_stays_text(report):
    page = Page(report.html)
    assert [tag for tag, _ in page.tags].count("script") == 3
    assert "img" not in [tag for tag, _ in page.tags]
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    texts = page.data["ledger-data"]["texts"]
    assert {HOSTILE[0], HOSTILE[1]} <= set(texts)
    assert max(map(len, texts)) <= 160
    assert "</script><script>window" not in report.html


def test_the_page_loads_nothing_and_its_ids_are_its_own(report):
    page = Page(report.html)
    assert len(page.ids) == len(set(page.ids))
    for _, attrs in page.tags:
        for name in ("href", "src", "xlink:href"):
            assert attrs.get(name, "#").startswith(("#", "data:,"))
    linked = {attrs["href"][1:] for _, attrs in page.tags if attrs.get("href", "").startswith("#")}
    assert linked <= set(page.ids)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org)", report.html)


def test_tables_have_captions_and_scopes_and_figures_descriptions(report):
    tags = Page(report.html).tags
    names = [tag for tag, _ in tags]
    assert names.count("caption") == names.count("table")
    assert all(attrs.get("scope") in ("row", "col") for tag, attrs in tags if tag == "th")
    drawn = [attrs for tag, attrs in tags if tag == "svg" and attrs.get("role") == "img"]
    assert len(drawn) == 6
    assert all(attrs["aria-label"] for attrs in drawn)


def test_what_the_page_says_of_gaps_that_disagree_is_true(report):
    assert "cannot all be zero, unless the model finds no positive at all" in report.html
    assert (
        "Even a model that is always right, with EO and PQP at zero, has a DP of that difference"
        in report.html
    )
    y, group = np.array([1, 1, 0, 1, 0, 0]), np.repeat(["a", "b"], 3)
    who = {"sensitive_features": group, "privileged": "a"}
    gaps = (
        metrics.demographic_parity_difference,
        metrics.equal_opportunity_difference,
        metrics.predictive_parity_difference,
    )
    # Two thirds of group a are positive, one third of group b.
    assert [gap(y, y, **who) for gap in gaps] == pytest.approx([1 / 3, 0, 0])
    for bits in product([0, 1], repeat=len(y)):
        predicted = np.array(bits)
        both_predicted = all(predicted[group == name].any() for name in "ab")
        if predicted @ y and both_predicted:
            assert max(gap(y, predicted, **who) for gap in gaps) > 0.1


def test_the_ledger_and_the_slider_are_those_of_the_repair(fitted, report):
    data = Page(report.html).data
    ledger, edits = data["ledger-data"], fitted.edits_
    expected = sorted(zip(edits.row.tolist(), edits.reference.tolist(), strict=True))
    assert sorted((line[0], line[6]) for line in ledger["lines"]) == expected
    sweep = data["sweep-data"]
    chosen = sweep["chosen"]
    assert sweep["cells"][chosen] == len(edits)
    assert sweep["risk"][chosen] == pytest.approx(fitted.certificate_["dr_after"].mean(), abs=1e-6)
    assert sweep["cells"] == sorted(sweep["cells"], reverse=True)


def test_without_a_script_the_ledger_says_how_much_of_it_is_there(fitted, report):
    total = len(fitted.edits_)
    assert total > 100
    assert f"<caption>The 100 largest of {total:,} edits; the others need JavaScript</caption>" in report.html
    plain = report.html.split("<noscript>")[1].split("</noscript>")[0]
    assert plain.count('<th scope="row">') == 100
    few = FairSHAP(**fitted.get_params(deep=False)).set_params(threshold=None, selector=Budget(20))
    page = few.fit(*hostile_table()).report(evaluation=report.data.evaluation)
    assert "<caption>All edits</caption>" in page.html


def test_a_redacted_report_holds_no_value_and_no_label_of_a_row(fitted, report):
    X, _ = hostile_table()
    redacted = fitted.report(redact=True, evaluation=report.data.evaluation).html
    text, page = html_module.unescape(redacted), Page(redacted)
    for value in HOSTILE:
        assert value[:40] not in text
        assert json.dumps(value[:40])[1:-1] not in text
    assert "person-" not in text
    assert set(page.data["ledger-data"]["texts"]) <= {"", *X.columns}
    # Negative wages with a hyphen are written nowhere else: measures have a minus sign.
    cells = set(re.findall(r">\s*(-[\d.]+)\s*<", redacted))
    assert not {f"{value:.6g}" for value in X["wage <b>$"] if value < 0} & cells
    assert "Redacted." in text
    assert "personal data" not in text


def test_held_out_rows_are_judged_as_given(fitted):
    X, y = hostile_table()
    report = fitted.report(X_test=X[:100], y_test=y[:100])
    assert "Measured on a held-out set of 100 rows." in report.html
    assert any(line["change"][0] != 0 for line in report.data.measure_lines().values())
    assert len(report.data.evaluation.noise) == 5


@pytest.mark.parametrize("given", [{"X_test": 1}, {"y_test": 1}])
def test_half_of_what_belongs_together_is_refused(fitted, given):
    with pytest.raises(InputError, match="give"):
        fitted.report(**given)


def test_the_same_repair_gives_the_same_bytes(fitted, report):
    said = {"title": f"Hostile {SCRIPT}", "command": f"fairshap {IMAGE}", "date": "2026-01-02"}
    again = fitted.report(**said)
    assert again.html == report.html


def test_the_file_is_written_and_not_replaced_unasked(report, tmp_path):
    path = tmp_path / "report.html"
    report.write(path)
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(FileError, match="exists"):
        report.write(path)
    report.write(path, force=True)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(report):
    (frame,) = Page(report._repr_html_()).tags
    assert frame[0] == "iframe"
    assert frame[1]["sandbox"] == "allow-scripts"
    assert frame[1]["srcdoc"] == report.html


def test_each_figure_is_also_a_function_that_returns_axes(report):
    assert report.plot_fairness().get_yticklabels()[0].get_text() == "DR"
    assert {text.get_text() for text in report.plot_columns().get_yticklabels()} >= {r"wage <b>\$"}
    assert report.plot_risks().get_xlabel() == "discriminative risk of a row"
    ax = report.plot_thresholds()
    assert report.plot_thresholds(ax) is ax


class Search:
    """What the report asks of a search among repairs."""

    reason, recommended = "Recommended: <threshold 0.05>.", "threshold 0.05"

    def frame(self):
        lines = [{"name": "baseline"}, {"name": "threshold 0.05"}, *({"name": f"t{k}"} for k in range(20))]
        frame = pd.DataFrame(lines).assign(edits=12.0, on_front=True, allowed=False)
        return frame.assign(**dict.fromkeys(MEASURES, 0.25))

    def plot(self, ax=None):
        ax = new_axes(1, ax)
        ax.set_ylabel("accuracy")
        return ax


def test_a_tuned_repair_shows_the_trade_off(fitted, report):
    page = fitted.report(tuning=Search(), evaluation=report.data.evaluation)
    assert "The trade-off" in [text for _, text in Page(page.html).headings]
    assert "Recommended: &lt;threshold 0.05&gt;." in page.html
    assert '<tr class="chosen"><th scope="row">threshold 0.05</th>' in page.html
    assert "7 more are not listed" in page.html


def test_a_quantity_and_a_repair_without_edits_have_a_report_too():
    X, _ = hostile_table(80)
    y = X["wage <b>$"].to_numpy() + (X["sex"] == "m")
    model = FairSHAP(LinearRegression(), sensitive="sex", privileged="m", random_state=0)
    with pytest.warns(NothingToRepairWarning):
        model.fit(X, y)
    report = model.report()
    audit = fairshap.audit(
        LinearRegression(), X, y, sensitive="sex", privileged="m", n_folds=2, random_state=0
    )
    assert report.data.evaluation is None
    assert report.plot_fairness() is None
    for page, said in ((report, "No cell was edited."), (audit, "No cell would be edited.")):
        text = html_module.unescape(page.html)
        assert said in text
        assert "Outcomes by" in text
        assert "mean prediction" in text
    assert "a target with two labels" in html_module.unescape(report.html)
    with pytest.raises(TargetError, match="names a label, but y is a quantity"):
        model.report(positive=1)


def test_rows_whose_quantity_is_missing_have_no_risk_and_do_no_harm():
    X, y = hostile_table(120)
    X = X.assign(age=np.where(np.arange(120) % 10 == 0, np.nan, np.arange(120) % 7 * 10.0))
    model = FairSHAP(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        sensitive="age",
        privileged=pd.Interval(25, 100),
        threshold=0.01,
        random_state=0,
    )
    with pytest.warns(UnmatchedRowsWarning):
        model.fit(X, y)
    report = model.report(X_test=X, y_test=y)
    known = model.certificate_["dr_before"].dropna()
    assert len(known) == 108
    assert report.groupings[0].unknown_rows == 12
    assert report.data.mean_risks()[0] == pytest.approx(known.mean())
    assert np.isfinite(report.sweep.risk).all()
    assert "in 12 rows, left unedited" in report.html


def test_the_positive_label_is_the_one_that_is_named(fitted):
    X, y = hostile_table()
    test = {"X_test": X[:100], "y_test": y[:100]}
    rates = []
    for positive in (0, 1):
        report = fitted.report(**test, positive=positive)
        assert f"= <bdi>{positive}</bdi> is treated as the <strong>favorable</strong> outcome" in report.html
        rates.append(report.data.evaluation.measures.groups(0).set_index("group")["base_rate"])
    np.testing.assert_allclose(rates[0] + rates[1], 1)
    with pytest.raises(TargetError, match="positive='yes' does not occur in y"):
        fitted.report(positive="yes")


class LargestOfRow(Selector):
    """A selector of a user's own, which has no threshold."""

    def check(self):
        pass

    def _is_enough(self, explanation):
        values = np.nan_to_num(explanation.values)
        return (values == values.max(axis=1, keepdims=True)) & (values > 0)


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        (Threshold(0.01), "cells with a Shapley value of at least 0.01"),
        (Budget(20), "the cells with the largest Shapley values, at most 20"),
        (OptimalSubset(0.01), "plus 0.01 per edited cell"),
        (Iterative(Threshold(0.01), max_rounds=2), "of at least 0.01; up to 2 rounds"),
        (LargestOfRow(), "The repair edits LargestOfRow()."),
    ],
)
def test_every_selector_is_described_and_swept(fitted, report, selector, said):
    model = FairSHAP(**fitted.get_params(deep=False)).set_params(threshold=None, selector=selector)
    model.set_params(constraints=EditConstraints(max_per_row=1)).fit(*hostile_table())
    page = model.report(evaluation=report.data.evaluation)
    assert said in page.html
    assert "<dt>Constraints</dt><dd><bdi>max_per_row=1</bdi>" in page.html
    cells, chosen = page.sweep.cells, page.sweep.chosen
    assert (np.diff(cells) <= 0).all()
    if not isinstance(selector, (Iterative, LargestOfRow)):
        assert cells[chosen] == len(model.edits_)


def test_where_nothing_is_to_be_edited_no_threshold_is_marked(fitted, report):
    model = FairSHAP(**fitted.get_params(deep=False)).set_params(threshold=np.inf, counterfactuals="all")
    page = model.fit(*hostile_table()).report(evaluation=report.data.evaluation)
    assert page.sweep.chosen == -1
    assert Page(page.html).data["sweep-data"]["chosen"] == -1
    assert "counterfactuals of all rows" in page.html
    assert 'class="chosen"' not in page.html


def test_both_routes_have_the_same_report(monkeypatch):
    d = datasets.make_biased(200, random_state=0)
    # The Shapley values of a forest are simple fractions: many tie, and rounding differs between the routes.
    forest = RandomForestClassifier(20, max_depth=4, random_state=0)
    seen = []
    for small in (0, np.inf):
        monkeypatch.setattr(_explain, "_SMALL", small)
        model = FairSHAP(forest, sensitive=d.sensitive, privileged=d.privileged, random_state=0)
        page = model.fit(d.X, d.y).report(X_test=d.X, y_test=d.y)
        rows = [
            (card["row"], [line["column"] for line in card["lines"]])
            for card in riskiest_rows(page.data, redact=False)
        ]
        lines = column_lines(page.data)[0]
        assert all(line["rows"] >= line["edits"] for line in lines)
        counts = [(line["name"], line["rows"], line["edits"]) for line in lines]
        edits, swept = ledger(page.data, redact=False), list(page.sweep.cells)
        seen.append((model.explanation_.route, counts, rows, edits, swept))
    assert [route for route, *_ in seen] == ["trees", "model calls: the table is small"]
    assert seen[0][1:] == seen[1][1:]


def test_an_attribute_beside_the_table_is_reported():
    X, y = hostile_table(120)
    model = FairSHAP(LogisticRegression(), privileged="m", threshold=0.005, random_state=0)
    bare = X.drop(columns="sex")
    model.fit(bare, y, sensitive_features=X["sex"])
    report = model.report()
    # The models that would be deployed do not see it.
    assert not report.setting.sees_attribute
    assert report.data.measure_lines()["dr"]["after"][0] == 0
    assert "changes nothing, by construction" in report.html
    assert "by <strong><bdi>sex</bdi></strong>" in report.html
    with pytest.raises(InputError, match="give sensitive_features_test too"):
        model.report(X_test=bare, y_test=y)
    tested = model.report(X_test=bare, y_test=y, sensitive_features_test=X["sex"])
    for found in (report, tested):
        lines = found.data.measure_lines()
        # What is compared would be deployed: the model before the repair does not see the attribute either.
        assert lines["dr"]["before"] == lines["dr"]["after"] == [0, 0, 0]
        assert 0 < lines["accuracy"]["before"][0] < 1
    expected = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(bare, y).predict(bare)
    assert tested.data.measure_lines()["accuracy"]["before"][0] == pytest.approx((expected == y).mean())


def test_a_model_that_was_given_fitted_is_judged_on_rows_that_it_has_not_seen():
    X, y = hostile_table(120)
    y = np.random.default_rng(1).permutation(y)
    tree = make_pipeline(ColumnEncoder(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert tree.score(X, y) > 0.95
    model = FairSHAP(FrozenEstimator(tree), sensitive="sex", privileged="m", random_state=0).fit(X, y)
    assert model.report().data.measure_lines()["accuracy"]["before"][0] < 0.8


def test_thinning_keeps_both_ends_and_drops_zeros():
    values = np.r_[np.zeros(50), np.arange(1.0, 1001.0), np.nan]
    kept = thin(values, 100)
    assert (len(kept), kept[0], kept[-1]) == (100, 1.0, 1000.0)


@pytest.mark.parametrize("extra", ["jinja2", "markupsafe", "matplotlib"])
def test_importing_the_package_does_not_need_what_only_the_report_does(extra):
    code = f"import sys; sys.modules[{extra!r}] = None; import fairshap"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
