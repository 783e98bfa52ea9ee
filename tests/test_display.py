"""What objects look like in a notebook and in a terminal."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairshap import Budget, Explainer, FairSHAP, FairSHAPClassifier, budget_curve, datasets, evaluate, tune
from fairshap._display import MAX_LINES, as_cell, bars, histogram, panel, table, with_interval
from fairshap.edits import Edits
from fairshap.matching import MatchPlan
from fairshap.mitigation import MitigatedClassifier, Reweigher

EVIL = "<script>alert('x')</script>&\""


class Reader(HTMLParser):
    """Reads markup: the tags that are open, all that were seen, and the text between them."""

    def __init__(self, markup):
        super().__init__()
        self.open, self.seen, self.text = [], [], []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("br", "rect", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(markup) -> str:
    """Return the text of a display whose tags are closed, harmless and without colors of their own."""
    found = Reader(markup)
    assert found.open == []
    tags = {tag for tag, _ in found.seen}
    assert tags <= {"div", "b", "p", "br", "table", "tr", "th", "td", "svg", "title", "rect", "circle"}
    for _, attributes in found.seen:
        assert not [name for name in attributes if name.startswith("on")]
        colors = re.findall(r"#[0-9a-f]{3,8}\b|rgb|white(?!-space)|black|background", str(attributes))
        assert colors == []
    return " ".join(" ".join(found.text).split())


@pytest.fixture(scope="module")
def evil():
    """Return a table whose names and values are markup, and who is compared."""
    d = datasets.make_biased(300, random_state=0)
    X = d.X.rename(columns={"district": EVIL})
    column = X[EVIL]
    X[EVIL] = (EVIL + column.astype(str)).astype(object)
    return X, d.y, {"sensitive": d.sensitive, "privileged": d.privileged, "random_state": 0}


def pipeline(X):
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    numbers = [name for name in X if name not in texts]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), (StandardScaler(), numbers)
    )
    return make_pipeline(encoder, HistGradientBoostingClassifier(max_iter=10, random_state=0))


@pytest.fixture(scope="module")
def fitted(evil):
    X, y, who = evil
    return FairSHAP(LogisticRegression(), **who, threshold=0.01).fit(X, y)


@pytest.fixture(scope="module")
def results(evil, fitted):
    X, y, who = evil
    quick = {"n_folds": 5, **who}
    return {
        "Explanation": fitted.explanation_,
        "Edits": fitted.edits_,
        "MatchPlan": fitted.explanation_.match_plan,
        "Evaluation": evaluate(X, y, LogisticRegression(), **quick),
        "Tuning": tune(
            X,
            y,
            LogisticRegression(),
            **quick,
            candidates={EVIL: Reweigher(sensitive="group", privileged="a")},
        ),
    }


KINDS = ("Explanation", "Edits", "MatchPlan", "Evaluation", "Tuning")


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_one_line_in_a_terminal(results, kind):
    assert re.fullmatch(rf"{kind}\(.{{10,200}}\)", repr(results[kind]))


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_escaped_and_take_the_color_of_the_page(results, kind):
    assert read(results[kind]._repr_html_()).startswith(kind)


def test_an_explanation_shows_its_heaviest_feature_first(results):
    explanation = results["Explanation"]
    text = read(explanation._repr_html_())
    heaviest = np.argmax(explanation.mean_sizes())
    assert f"largest φ {as_feature(explanation.feature_names[heaviest])}" in text
    assert f"mean risk {explanation.mean_risk:.4g}" in text
    assert "rows 300 " in text


def as_feature(name) -> str:
    """Return a name as a reader sees it in a cell."""
    return Reader(as_cell(str(name))).text[0]


def test_a_gap_is_called_a_gap(evil):
    X, y, who = evil
    fs = FairSHAP(LogisticRegression(), **who, threshold=0.01, explainer=Explainer(game="gap")).fit(X, y)
    assert f"mean size of the gap {fs.explanation_.mean_risk:.4g}" in read(fs.explanation_._repr_html_())


def test_edits_show_a_head_of_the_ledger_and_no_more(results):
    edits = results["Edits"]
    markup = edits._repr_html_()
    text = read(markup)
    assert f"cells {len(edits):,} " in text
    assert f"and {len(edits) - MAX_LINES // 2:,} more" in text
    assert f"{edits.phi[0]:.4g}" in text
    # A line for each column, five of the ledger, and two of headings.
    assert markup.count("<tr>") == len(set(edits.column)) + MAX_LINES // 2 + 2


def test_what_is_empty_is_shown_too():
    none = np.array([], dtype=int)
    assert read(Edits(none, [], [], [], [], none.astype(float), none)._repr_html_()) == (
        "Edits cells 0 · rows 0 · columns 0"
    )
    plan = MatchPlan(3, none, none, none.astype(float), none.astype(float))
    assert read(plan._repr_html_()) == "MatchPlan rows 3 · unmatched 3 · pairs 0"


def test_a_plan_says_how_far_references_are():
    plan = MatchPlan(4, [0, 1, 2], [3, 3, 0], [1.0, 1.0, 1.0], [1.0, 2.0, 6.0])
    text = read(plan._repr_html_())
    assert "unmatched 1 · pairs 3 · references 2 · most uses of one 2 · mean distance 3 " in text
    assert "from 1 to 6" in text


def test_an_evaluation_shows_levels_with_intervals(results):
    found = results["Evaluation"]
    text = read(found._repr_html_())
    line = found.frame().iloc[0]
    assert found.how in text
    assert f"{line['accuracy']:.3f} {line['accuracy_low']:.3f} to {line['accuracy_high']:.3f}" in text
    assert f"DR of a shuffled attribute {found.noise_level:.4g}" in text


def test_budgets_are_shown_with_what_they_edit(evil):
    X, y, who = evil
    curve = budget_curve(X, y, LogisticRegression(), **who, budgets=[0, 5], n_folds=5)
    text = read(curve._repr_html_())
    assert "budget edits Accuracy" in text
    assert f" 5 {as_cell(curve.edits[1])} {curve.measures.values[1, 0]:.3f} " in text


def test_a_tuning_says_what_to_take_and_marks_it(results):
    tuning = results["Tuning"]
    markup = tuning._repr_html_()
    text = read(markup)
    assert " ".join(tuning.reason.split()) in text
    marked = re.findall(r"<tr><td [^>]*font-weight:bold[^>]*>(.*?)</td>", markup)
    assert marked == [as_cell(tuning.recommended)]
    assert str(tuning) == f"{tuning.recommended}: {tuning.reason}"


def test_a_repair_shows_the_diagram_and_what_was_found(fitted):
    before = FairSHAP(LogisticRegression(), sensitive="group", privileged="a")
    assert "What was found" not in before._repr_html_()
    assert "sk-top-container" in before._repr_html_()
    for markup in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in markup
        assert "<script>alert" not in markup
        assert markup.endswith(fitted._found())
    text = read(fitted._found())
    assert f"edits {fitted.summary_['n_edits']:,} · edited rows {fitted.summary_['n_edited_rows']:,} " in text
    with sklearn.config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()


def test_a_predictor_shows_what_its_repair_found(evil):
    X, y, who = evil
    classifier = FairSHAPClassifier(FairSHAP(LogisticRegression(), **who, threshold=0.01), weights=None)
    assert "What was found" not in classifier._repr_html_()
    classifier.fit(X, y)
    assert classifier._repr_html_().endswith(classifier.repair_._found())


def test_a_tuned_repair_is_one_line_without_its_pipeline(evil):
    X, y, who = evil
    mine = FairSHAPClassifier(FairSHAP(pipeline(X), **who, selector=Budget(50)), weights=None)
    tuning = tune(X, y, pipeline(X), **who, candidates={"mine": mine}, n_folds=5)
    for model in (tuning.estimator, mine):
        text = repr(model)
        assert "Pipeline(...)" in text
        assert "OneHotEncoder" not in text
        assert "\n" not in text
    assert repr(mine) == (
        "FairSHAPClassifier(repair=FairSHAP(estimator=Pipeline(...), sensitive='group', privileged='a', "
        "selector=Budget(n_cells=50), random_state=0), weights=None)"
    )


def test_only_parameters_that_were_changed_are_printed():
    assert repr(FairSHAP()) == "FairSHAP()"
    assert repr(MitigatedClassifier(Reweigher(sensitive="sex"), LogisticRegression(C=3))) == (
        "MitigatedClassifier(method=Reweigher(sensitive='sex'), estimator=LogisticRegression(C=3))"
    )
    many = repr(FairSHAP(privileged=list(range(100))))
    assert many.startswith("FairSHAP(privileged=[0, 1, 2, ")
    assert many.endswith("...)")
    assert len(many) < 90


def test_tables_are_cut_and_say_so():
    markup = table({"name": [f"n{k}" for k in range(12)], "n": range(12)})
    assert read(markup).endswith(f"n{MAX_LINES - 1} {MAX_LINES - 1} and 2 more")
    assert table({"name": []}) == ""


def test_bars_are_relative_to_the_largest():
    widths = [
        float(re.search(r'<rect y="1" width="([\d.]+)"', one)[1]) for one in bars([1, -4, 2, 0, np.nan])
    ]
    assert widths == [20.0, 80.0, 40.0, 0.0, 0.0]
    assert len(bars([0.0, 0.0])) == 2


def test_drawings_take_what_is_not_known():
    assert histogram(np.array([np.nan])) == ""
    assert histogram(np.array([1.0, 1.0])).count("<rect") == 24
    assert with_interval(np.nan, np.nan, np.nan, (0.0, 1.0)) == "\u2013"
    assert with_interval(0.5, 0.5, 0.5, (0.5, 0.5)) == "0.5"
    drawn = with_interval(0.5, 0.0, 1.0, (0.0, 1.0))
    assert 'cx="30.0"' in drawn
    assert 'width="58.0"' in drawn


def test_titles_and_facts_are_escaped():
    assert "<script" not in panel(EVIL, {EVIL: EVIL})
