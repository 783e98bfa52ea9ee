import numpy as np
import pytest
from xgboost import XGBClassifier

from fairshap import FairSHAP, _messages, datasets
from fairshap._messages import Progress


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


def test_a_bar_says_how_far_long_work_is(clock, capsys):
    with Progress("Matching", total=10.0, verbose=1) as progress:
        for _ in range(4):
            clock.now += 1.0
            progress.advance(rows=100, work=2.0)
    shown = capsys.readouterr()
    assert not shown.out
    assert "Matching" in shown.err
    assert "80%" in shown.err
    assert "100 rows/s" in shown.err
    assert "left" in shown.err


@pytest.mark.parametrize(("verbose", "seconds"), [(0, 60.0), (1, 2.0)])
def test_short_or_quiet_work_shows_nothing(verbose, seconds, clock, capsys):
    with Progress("Matching", total=1.0, verbose=verbose) as progress:
        clock.now += seconds
        progress.advance(rows=1, work=1.0)
    assert capsys.readouterr() == ("", "")


def test_the_sampler_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(_messages, "_PATIENCE", -1.0)
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
