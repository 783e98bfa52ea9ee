"""A small run through the real command, and one that resumes where it stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from paper import jobs as paper_jobs
from paper.__main__ import main
from paper.jobs import Job, Options, Records, run_jobs
from paper.main import plan
from paper.run import EXPERIMENTS, CannotRunError, _known, run

ROOT = Path(__file__).parents[2]
SMALL = ["--settings", "german:sex", "--folds", "2"]


def start(*args, **options):
    command = [sys.executable, "-m", "paper", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, **options)


def all_ended(group):
    """Say whether within two minutes no process of a group is left."""
    for _ in range(2400):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return what the command says of German in two folds, and where it wrote."""
    out = tmp_path_factory.mktemp("results")
    process = start("main", "ablation", *SMALL, "--seeds", 2, "--out", out, "--jobs", 2)
    said, error = process.communicate()
    assert process.returncode == 0, error
    assert error.decode().count(" of 6 jobs: german:sex/whole/") == error.count(b"\n") == 6
    return said.decode().splitlines(), out


def test_german_in_two_folds(done):
    said, out = done
    assert said[0].startswith("main: 4 jobs (0 done before), ")
    assert said[1:3] == [f"  {out / 'main' / name}.md" for name in ("main", "main_signs")]
    assert said[3].startswith("ablation: 2 jobs (0 done before), ")
    for name in ("main", "ablation"):
        names = {f"{name}.{kind}" for kind in ("csv", "md", "png", "svg")} | {"versions.json"}
        assert names < {path.name for path in (out / name).iterdir()}
    frame = pd.read_csv(out / "main" / "main.csv").set_index(["method", "metric"])
    assert set(frame.index.get_level_values("method")) == {"Baseline", "RSA", "CR", "DIR", "FairSHAP"}
    assert frame.loc[("FairSHAP", "dr"), "mean"] < 0.5 * frame.loc[("Baseline", "dr"), "mean"]
    assert frame.loc[("CR", "dr"), "mean"] < 0.2 * frame.loc[("Baseline", "dr"), "mean"]
    assert frame.loc[("Baseline", "accuracy"), "paper_mean"] == 0.6650
    assert (frame.loc[("FairSHAP", "training_ar"), "mean"]) == pytest.approx(0.0156, abs=0.003)
    signs = pd.read_csv(out / "main" / "main_signs.csv")
    assert signs["metric"].tolist() == ["dr", "dp", "eo"]
    assert (signs["seeds"] == 2).all()
    assert ((signs["low"] < signs["change"]) & (signs["change"] < signs["high"])).all()


def test_the_ablations_make_as_many_edits_and_leave_more_risk(done):
    frame = pd.read_csv(done[1] / "ablation" / "ablation.csv").set_index(["method", "metric"])
    drawn = ["Ablation study 1", "Ablation study 2"]
    assert frame.loc[(drawn, "edits"), "mean"].eq(frame.loc[("FairSHAP", "edits"), "mean"]).all()
    assert frame.loc[(drawn, "dr"), "n"].tolist() == [4, 4]
    assert (frame.loc[(drawn, "dr"), "mean"] > frame.loc[("FairSHAP", "dr"), "mean"]).all()


def test_versions_and_options_are_written(done):
    setup = json.loads((done[1] / "main" / "versions.json").read_text())
    assert setup["options"] == {"settings": ["german:sex"], "seeds": 2, "folds": 2, "random_state": 0}
    assert {"python", "fairshap", "numpy", "scikit-learn"} < set(setup["versions"])


def test_a_second_run_reuses_all_and_writes_the_same_bytes(done):
    _, out = done
    before = {path: path.read_bytes() for path in (out / "main").iterdir()}
    (result,) = run(["main"], out, settings=["german:sex"], seeds=2, folds=2, n_jobs=1)
    assert result.reused == result.jobs == 4
    assert {path: path.read_bytes() for path in (out / "main").iterdir()} == before


def test_an_interrupted_run_resumes_where_it_stopped(tmp_path):
    # More than it can do before it is interrupted, however late that is.
    process = start(
        "main", *SMALL, "--seeds", 300, "--out", tmp_path, "--jobs", 2, "--quiet", start_new_session=True
    )
    records = tmp_path / "main" / "records.jsonl"
    while process.poll() is None and not (records.exists() and records.read_bytes().count(b"\n") >= 3):
        time.sleep(0.01)
    # As a terminal does it: all processes of the group hear it.
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130
    assert error.decode() == "interrupted: finished jobs are kept, and the same command resumes.\n"
    assert all_ended(process.pid)
    kept = records.read_bytes()
    finished = {json.loads(line)["key"] for line in kept.splitlines()}
    wanted = {job.key for job in plan(Options(("german:sex",), seeds=12, folds=2))}
    assert 3 <= len(finished) < 600
    assert len(finished & wanted) >= 3
    # As if the run had been killed while it wrote a line.
    records.write_bytes(kept + b'{"key": "german:sex/who')
    result = run(["main"], tmp_path, settings=["german:sex"], seeds=12, folds=2, n_jobs=1)[0]
    assert (result.jobs, result.reused) == (24, len(finished & wanted))
    assert records.read_bytes().startswith(kept)


def test_records_of_other_arguments_are_not_used(tmp_path):
    jobs = plan(Options(("german:sex",), seeds=1, folds=2))
    records = Records(tmp_path / "records.jsonl")
    records.keep(jobs[0], [{"value": 1.0}], 0.1)
    assert jobs[0] in Records(records.path)
    assert jobs[1] not in records
    others = plan(Options(("german:sex",), seeds=1, folds=2, random_state=1))
    assert others[0].key == jobs[0].key
    assert others[0] not in Records(records.path)


def test_a_fingerprint_knows_the_version(monkeypatch):
    job = plan(Options(("german:sex",)))[0]
    before = job.fingerprint
    monkeypatch.setattr(paper_jobs, "versions", lambda: {"fairshap": "0.0"})
    assert job.fingerprint != before


def fail_after(number):
    if number == 2:
        raise ValueError("the second job fails")
    return [{"value": number}]


def test_what_was_finished_before_a_job_failed_is_kept(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    jobs = [Job(f"job {k}", fail_after, (k,), cost=10.0 - k) for k in range(4)]
    with pytest.raises(ValueError, match="second job"):
        run_jobs([(job, records) for job in jobs], n_jobs=1, verbose=False)
    found = Records(tmp_path / "records.jsonl")
    assert [job in found for job in jobs] == [True, True, False, False]
    assert found.of(jobs[1]) == [{"value": 1}]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            ["mian"],
            f"there is no experiment 'mian'; there are {', '.join(EXPERIMENTS)}, all. Did you mean 'main'?",
        ),
        (["main", "--settings", "german:sx"], "Did you mean 'german:sex'?"),
        (["main", "--folds", "1"], "seeds=5 and folds=1: give at least 1 seed and 2 folds."),
        (["ablation", "--settings", "compas:race"], "ablation has none of the settings compas:race."),
    ],
)
def test_what_cannot_be_run_is_refused(args, sentence, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*args, "--out", str(tmp_path / "new")])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith(sentence + "\n")
    assert not (tmp_path / "new").exists()


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    needy = replace(EXPERIMENTS["main"], packages=("no_such_package",))
    monkeypatch.setitem(EXPERIMENTS, "main", needy)
    with pytest.raises(CannotRunError, match="main needs no_such_package; install"):
        run(["main"], tmp_path)


def test_all_is_each_experiment_once():
    assert list(EXPERIMENTS) == [
        "main", "ablation", "models", "explainers", "matching", "threshold", "curves", "beyond",
    ]  # fmt: skip
    assert _known(["all", "main"], [*EXPERIMENTS, "all"], "experiment") == list(EXPERIMENTS)
