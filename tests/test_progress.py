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


def test_every_piece_is_done_and_told():
    told = {}
    in_threads(
        lambda n: n * n, [(n,) for n in range(50)], 4, lambda item, result: told.update({item: result})
    )
    assert told == {(n,): n * n for n in range(50)}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["work", "finished"])
def test_an_error_ends_the_work_at_once(error, where):
    begun = []

    def work(number):
        begun.append(number)
        if where == "work" and number == 0:
            raise error
        time.sleep(0.01)

    def finished(item, result):
        if where == "finished":
            raise error

    with pytest.raises(error):
        in_threads(work, [(number,) for number in range(1000)], 2, finished)
    assert len(begun) < 20


def test_the_sampler_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    d = datasets.make_biased(3000, random_state=0)
    fs = FairSHAP(XGBClassifier(n_estimators=5), sensitive=d.sensitive, privileged=d.privileged, verbose=1)
    fs.fit(d.X, d.y)
    assert "Attributing" in capsys.readouterr().err
    assert np.isfinite(fs.attributions_.values).all()
