import html as html_module
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fairshap import ColumnEncoder, FairSHAP, datasets, evaluate, metrics, tune
from fairshap._plotting import thin
from fairshap.exceptions import FileError, InputError, NothingToRepairWarning
from tests.report.conftest import HOSTILE, IMAGE, SCRIPT, hostile_table

# Tables are small and folds are few here: what is told of noise is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")

SECTIONS = [
    "Verdict",
    "The setting",
    "Fairness and accuracy, before and after",
    "Which columns carry the risk",
    "The flow of values",
    "Matching quality",
    "The risk of the rows, before and after",
    "Another threshold",
    "The rows with the largest risk",
    "The ledger",
    "How to reproduce",
    "Caveats, in plain words",
]


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
        if tag in ("h1", "h2", "h3"):
            self.headings.append([int(tag[1]), ""])
            self._open = "heading"
        elif tag == "script" and attrs.get("type") == "application/json":
            self._open = attrs["id"]

    def handle_endtag(self, tag):
        if tag in ("h1", "h2", "h3", "script"):
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
def test_an_audit_claims_no_repair(fitted, redact):
    page = fitted.report(audit=True, redact=redact)
    headings = [text for level, text in Page(page.html).headings if level == 2]
    assert len(headings) == len(SECTIONS)
    assert "The edits that a repair would make" in headings
    said = " ".join(" ".join(Page(page.html).text).split())
    assert "nothing was changed." in said
    assert f"A repair would replace {len(fitted.edits_)} cells" in said
    for claim in ("before and after", "was replaced", "cells replaced", "repaired table", "\u2192 0."):
        assert claim not in said, claim
    # One model, its measures and its figure: nothing was retrained.
    assert page.comparison.is_audit
    assert list(page.comparison.frame().columns) == ["measure", "before", "before_low", "before_high"]
    assert page.plot_fairness().get_legend() is None
    assert len(page.plot_risks().patches) == 1


def test_a_comparison_that_was_made_is_shown_as_it_is(fitted):
    X, y = hostile_table()
    methods = {"before": None, "after": fitted}
    compared = evaluate(
        X,
        y,
        fitted.estimator,
        sensitive="sex",
        privileged="m",
        methods=methods,
        n_folds=2,
        random_state=0,
    )
    frame = fitted.report(compared=compared.for_report()).comparison.frame().set_index("measure")
    before, after = (line for _, line in compared.frame().iterrows())
    change = compared.changes().iloc[1]
    for measure in frame.index:
        for end in ("", "_low", "_high"):
            assert frame.loc[measure, f"before{end}"] == before[measure + end]
            assert frame.loc[measure, f"after{end}"] == after[measure + end]
            assert frame.loc[measure, f"change{end}"] == change[measure + end]


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
    assert len(drawn) == 5
    assert all(attrs["aria-label"] for attrs in drawn)


def test_what_the_page_says_of_gaps_that_disagree_is_true(report):
    assert "cannot all be zero, unless the model finds no positive at all" in report.html
    assert (
        "Even a model that is always right, with EO and PQP at zero, has a DP of that difference"
        in report.html
    )
    y, group = np.array([1, 1, 0, 1, 0, 0]), np.repeat(["a", "b"], 3)
    who = {"sensitive_features": group, "privileged": "a"}
    gaps = (metrics.demographic_parity, metrics.equal_opportunity, metrics.predictive_quality_parity)
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
    assert f"<caption>The 100 largest of {total:,} edits; the others need a script</caption>" in report.html
    plain = report.html.split("<noscript>")[1].split("</noscript>")[0]
    assert plain.count('<th scope="row">') == 100
    few = FairSHAP(**fitted.get_params(deep=False)).set_params(strategy="budget", budget=20)
    assert "<caption>All edits</caption>" in few.fit(*hostile_table()).report().html


def test_a_redacted_report_holds_no_value_and_no_label_of_a_row(fitted):
    X, _ = hostile_table()
    redacted = fitted.report(redact=True).html
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
    report = fitted.report(X_test=X[:100], y_test=y[:100], retrained=fitted.model_)
    frame = report.comparison.frame()
    np.testing.assert_array_equal(frame["change"], 0)
    assert "On 100 rows that were not trained on." in report.html
    assert "does not measurably change" in report.html
    other = fitted.report(X_test=X[:100], y_test=y[:100])
    assert (other.comparison.frame()["change"] != 0).any()


@pytest.mark.parametrize("given", [{"X_test": 1}, {"y_test": 1}, {"retrained": 1}])
def test_half_of_what_belongs_together_is_refused(fitted, given):
    with pytest.raises(InputError, match="give"):
        fitted.report(**given)


def test_the_same_repair_gives_the_same_bytes(fitted, report):
    again = fitted.report(title=f"Hostile {SCRIPT}", command=f"fairshap {IMAGE}")
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
    assert report.plot_columns().get_xlabel().startswith("attribution")
    assert report.plot_risks().get_xlabel() == "discriminative risk of a row"
    assert len(report.plot_matching()) == 2
    assert report.plot_trade_off() is None
    ax = report.plot_thresholds()
    assert report.plot_thresholds(ax) is ax


def test_a_tuned_repair_shows_the_trade_off():
    d = datasets.make_biased(200, random_state=0)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    options = {"thresholds": [0.05], "strategies": ["threshold"], "n_folds": 2, "n_repeats": 1}
    tuning = tune(d.X, d.y, tree, **who, **options, random_state=0)
    report = FairSHAP(tree, **who, random_state=0).fit(d.X, d.y).report(tuning=tuning)
    assert "The trade-off" in [text for _, text in Page(report.html).headings]
    assert html_module.escape(tuning.reason, quote=False)[:40] in report.html
    assert report.plot_trade_off().get_ylabel() == "accuracy"


def test_a_quantity_and_a_repair_without_edits_have_a_report_too():
    X, _ = hostile_table(80)
    y = X["wage <b>$"].to_numpy() + (X["sex"] == "m")
    model = FairSHAP(LinearRegression(), sensitive="sex", privileged="m", random_state=0)
    with pytest.warns(NothingToRepairWarning):
        model.fit(X, y)
    report = model.report()
    assert report.comparison is None
    assert report.plot_fairness() is None
    text = html_module.unescape(report.html)
    assert "No cell was edited." in text
    assert "a target of two labels" in text


def test_an_attribute_beside_the_table_is_reported():
    X, y = hostile_table(120)
    model = FairSHAP(LogisticRegression(), privileged="m", threshold=0.005, random_state=0)
    model.fit(X.drop(columns="sex"), y, sensitive_features=X["sex"])
    report = model.report()
    assert "never sees it" in report.html
    assert "(beside the table)" in report.html


def test_a_model_that_was_given_fitted_is_judged_on_rows_that_it_has_not_seen():
    X, y = hostile_table(120)
    y = np.random.default_rng(1).permutation(y)
    tree = make_pipeline(ColumnEncoder(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert tree.score(X, y) > 0.95
    model = FairSHAP(FrozenEstimator(tree), sensitive="sex", privileged="m", random_state=0).fit(X, y)
    accuracy = model.report().comparison.frame().set_index("measure").loc["accuracy", "before"]
    assert accuracy < 0.8


def test_thinning_keeps_both_ends_and_drops_zeros():
    values = np.r_[np.zeros(50), np.arange(1.0, 1001.0), np.nan]
    kept = thin(values, 100)
    assert (len(kept), kept[0], kept[-1]) == (100, 1.0, 1000.0)


@pytest.mark.parametrize("extra", ["jinja2", "markupsafe", "matplotlib"])
def test_importing_the_package_does_not_need_what_only_the_report_does(extra):
    code = f"import sys; sys.modules[{extra!r}] = None; import fairshap"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
