import threading
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from xgboost import XGBClassifier

from fairshap import FairSHAP, MatchPlan, _messages, datasets, explain
from fairshap._messages import Progress, heartbeat
from fairshap.attribution import _explain
from fairshap.cli._options import RunOptions
from fairshap.cli._output import Output
from fairshap.exceptions import SlowWarning


class Clock:
    """Seconds that pass when they are told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_messages, "time", clock)
    return clock


def test_a_bar_says_how_far_long_work_is(clock, capsys, monkeypatch):
    monkeypatch.setattr(_messages, "_is_interactive", lambda: True)
    with Progress("Matching", total=10.0, verbose=1) as progress:
        for _ in range(4):
            clock.now += 1.0
            progress.advance(rows=100, work=2.0)
        assert progress.bar.tasks[0].percentage == 80
    shown = capsys.readouterr()
    assert not shown.out
    assert "Matching" in shown.err
    # Work that ends early, such as a race, is done.
    assert "100%" in shown.err
    assert "100 rows/s" in shown.err
    assert "left" in shown.err


def test_the_bar_of_work_that_broke_off_says_how_far_it_was(clock, capsys, monkeypatch):
    monkeypatch.setattr(_messages, "_is_interactive", lambda: True)

    def work():
        with Progress("Matching", total=10.0, verbose=1) as progress:
            clock.now += 4.0
            progress.advance(rows=100, work=8.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert "80%" in capsys.readouterr().err


def test_in_a_pipe_a_line_says_so_every_ten_seconds(clock, capsys):
    Progress.last_line = 0.0
    clock.now = 100.0
    with Progress("Matching", total=100.0, verbose=1) as progress:
        for _ in range(30):
            clock.now += 1.0
            progress.advance(rows=100, work=1.0)
    assert capsys.readouterr().err.splitlines() == [
        "fairshap: Matching: 10% in 10 s, about 90 s left",
        "fairshap: Matching: 20% in 20 s, about 80 s left",
        "fairshap: Matching: 30% in 30 s, about 70 s left",
    ]
    assert Progress.running == []


def test_a_heartbeat_speaks_where_no_piece_of_work_ends(monkeypatch, capsys):
    monkeypatch.setattr(_messages, "_BETWEEN", 0.01)
    wanted, said = threading.Event(), threading.Event()
    monkeypatch.setattr(Progress, "say", lambda text: (capture.append(text), said.set()))
    capture: list[str] = []
    with heartbeat(wanted.is_set), Progress("Tuning", total=4.0, verbose=1):
        assert not capture
        wanted.set()
        assert said.wait(30)
    assert capture[0].startswith("Tuning: ")
    assert capture[0].endswith(" so far")


@pytest.mark.parametrize(("verbose", "seconds"), [(0, 60.0), (1, 2.0)])
def test_short_or_quiet_work_shows_nothing(verbose, seconds, clock, capsys):
    with Progress("Matching", total=1.0, verbose=verbose) as progress:
        clock.now += seconds
        progress.advance(rows=1, work=1.0)
    assert capsys.readouterr() == ("", "")


class Slow(ClassifierMixin, BaseEstimator):
    """A classifier that takes its time about each row, and for each call."""

    def __init__(self, clock=None, a_row=0.0, a_call=0.0):
        self.clock, self.a_row, self.a_call = clock, a_row, a_call

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        self.clock.now += self.a_call + self.a_row * len(X)
        p = 1 / (1 + np.exp(-np.asarray(X) @ np.arange(1, 6)))
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize(
    ("a_row", "a_call", "said"),
    # The rows are asked about for both values of the attribute.
    [(2e-4, 0.0, "about 38 seconds"), (0.001, 0.0, "about 3 minutes"), (1e-5, 0.02, None), (1e-4, 0.0, None)],
)
def test_long_model_calls_are_announced(a_row, a_call, said, clock, monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)
    X = np.random.default_rng(0).normal(size=(12_000, 5))
    X[:, 0] = np.arange(len(X)) % 2
    model = Slow(clock, a_row, a_call).fit(X, X[:, 0])
    rows = np.arange(6000)
    plan = MatchPlan(len(X), rows, rows + 6000, np.ones(6000), np.zeros(6000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        explain(model, X, plan, sensitive=0, privileged=1)
    told = [str(one.message) for one in caught]
    assert len(told) == (said is not None)
    if said is not None:
        assert said in told[0]
        assert "up to 96,000 rows, because Slow is neither" in told[0]
        assert caught[0].category is SlowWarning
        assert caught[0].filename == __file__


def test_the_command_prints_a_warning_when_it_comes(capsys):
    output = Output("repair", RunOptions())
    with output.warnings():
        for _ in range(2):
            _messages.warn("this will take an hour", SlowWarning)
        assert capsys.readouterr().err == "fairshap: this will take an hour\n"


def test_the_sampler_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(_messages, "_PATIENCE", -1.0)
    monkeypatch.setattr(_messages, "_is_interactive", lambda: True)
    d = datasets.make_biased(3000, random_state=0)
    fs = FairSHAP(
        XGBClassifier(n_estimators=5),
        sensitive=d.sensitive,
        privileged=d.privileged,
        verbose=1,
        random_state=0,
    )
    fs.fit(d.X, d.y)
    assert "Explaining" in capsys.readouterr().err
    assert np.isfinite(fs.explanation_.values).all()
