import threading
import time

import numpy as np
import pytest
from xgboost import XGBClassifier

from fairshap import FairSHAP, _progress, datasets
from fairshap._progress import Progress, in_threads


def test_a_bar_says_how_far_long_work_is(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    with Progress("Matching", total=10.0, verbose=1) as progress:
        for _ in range(4):
            time.sleep(0.01)
            progress.advance(rows=100, work=2.0)
    shown = capsys.readouterr()
    assert not shown.out
    assert "Matching" in shown.err
    assert "80%" in shown.err
    assert "rows/s" in shown.err
    assert "left" in shown.err


@pytest.mark.parametrize(("verbose", "patience"), [(0, 0.0), (1, 60.0)])
def test_short_or_quiet_work_shows_nothing(verbose, patience, monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_PATIENCE", patience)
    with Progress("Matching", total=1.0, verbose=verbose) as progress:
        progress.advance(rows=1, work=1.0)
    assert capsys.readouterr() == ("", "")


def test_parts_are_all_done_and_told_in_order():
    done, told = [], []
    in_threads(done.append, list(range(50)), 4, told.append)
    assert sorted(done) == told == list(range(50))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_the_work_at_once(error):
    begun, gate = [], threading.Event()

    def work(part):
        begun.append(part)
        if part == 0:
            raise error
        gate.wait(0.05)

    with pytest.raises(error):
        in_threads(work, list(range(1000)), 2)
    assert len(begun) < 10


def test_an_interrupt_in_the_main_thread_ends_the_work():
    begun = []

    def interrupt(part):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads(lambda part: begun.append(part) or time.sleep(0.01), list(range(1000)), 2, interrupt)
    assert len(begun) < 10


def test_the_sampler_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    d = datasets.make_biased(3000, random_state=0)
    fs = FairSHAP(XGBClassifier(n_estimators=5), sensitive=d.sensitive, privileged=d.privileged, verbose=1)
    fs.fit(d.X, d.y)
    assert "Attributing" in capsys.readouterr().err
    assert np.isfinite(fs.attributions_.values).all()
