import threading

import numpy as np
import pytest
from xgboost import XGBClassifier

from fairshap import FairSHAP, _progress, datasets
from fairshap._progress import Progress, in_threads


class Clock:
    """Seconds that pass when they are told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_progress, "time", clock)
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


def test_every_piece_is_done_and_told():
    told = {}
    in_threads(
        lambda n: n * n, [(n,) for n in range(50)], 4, lambda item, result: told.update({item: result})
    )
    assert told == {(n,): n * n for n in range(50)}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["work", "finished"])
def test_an_error_ends_the_work_at_once(error, where):
    others = set(threading.enumerate())
    begun, is_out, in_time = [], threading.Event(), []

    def work(number):
        begun.append(number)
        if number == 0:
            if where == "work":
                raise error
            return
        # The pieces under way last until the error has come out, unless it waits for them.
        in_time.append(is_out.wait(timeout=60))

    def finished(item, result):
        raise error

    with pytest.raises(error):
        in_threads(work, [(number,) for number in range(1000)], 2, finished)
    is_out.set()
    for thread in set(threading.enumerate()) - others:
        thread.join()
    assert set(begun) <= {0, 1, 2}
    assert all(in_time)


def test_the_sampler_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_PATIENCE", -1.0)
    d = datasets.make_biased(3000, random_state=0)
    fs = FairSHAP(
        XGBClassifier(n_estimators=5),
        sensitive=d.sensitive,
        privileged=d.privileged,
        verbose=1,
        random_state=0,
    )
    fs.fit(d.X, d.y)
    assert "Attributing" in capsys.readouterr().err
    assert np.isfinite(fs.explanation_.values).all()
