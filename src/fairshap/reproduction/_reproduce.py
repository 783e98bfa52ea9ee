"""Run experiments and write what they find."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairshap._messages import did_you_mean, listing
from fairshap.exceptions import InputError, MissingExtraError
from fairshap.reproduction._ablation import ABLATION
from fairshap.reproduction._beyond import BEYOND
from fairshap.reproduction._curves import CURVES
from fairshap.reproduction._experiment import Experiment, Options
from fairshap.reproduction._explainers import EXPLAINING
from fairshap.reproduction._main import MAIN
from fairshap.reproduction._matching import MATCHING
from fairshap.reproduction._models import MODELS
from fairshap.reproduction._records import Records
from fairshap.reproduction._runner import run_jobs
from fairshap.reproduction._settings import check_settings
from fairshap.reproduction._threshold import THRESHOLD
from fairshap.reproduction._versions import DISTRIBUTIONS
from fairshap.reproduction._writing import write_findings

#: All experiments, in the order in which they are run.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (MAIN, ABLATION, MODELS, EXPLAINING, MATCHING, THRESHOLD, CURVES, BEYOND)
}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What one experiment came to.

    Parameters
    ----------
    name : str
        The experiment.
    files : list of Path
        What was written.
    jobs, reused : int
        The jobs that it consists of, and how many of them an earlier run had finished.
    seconds : float
        The seconds of computing that all of them took, on one thread.
    summary : dict
        A few numbers.
    """

    name: str
    files: list[Path]
    jobs: int
    reused: int
    seconds: float
    summary: dict[str, Any]


def reproduce(
    names: Iterable[str] | str,
    out: str | os.PathLike[str],
    *,
    settings: Iterable[str] | None = None,
    seeds: int = 5,
    folds: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Reproduction]:
    """Run experiments of the paper and write their tables and figures, with the paper's beside ours.

    What a job finds is kept in ``<out>/<name>/records.jsonl`` as soon as it is done. The same call goes on
    where an earlier one stopped; what was found by other versions or with other arguments is not used.

    Parameters
    ----------
    names : str or iterable of str
        The experiments, such as "main" (``EXPERIMENTS`` lists them), or "all".
    out : path-like
        A folder; each experiment has its own in it. They are made if they are not there.
    settings : iterable of str, optional
        Which tables and sensitive columns, such as "german:sex"; by default all that the experiment has.
    seeds : int, default=5
        How many seeds of the folds, from the paper's 1 on, where a spread over seeds is reported; and how
        many draws, where cells are drawn.
    folds : int, default=5
        How many folds.
    random_state : int, default=0
        The seed of what is drawn apart from the folds.
    n_jobs : int, optional
        How many processes; as many as there are cores by default. The result is the same.
    verbose : int, default=0
        Whether a bar is shown.

    Returns
    -------
    list of Reproduction
        What each came to.

    Examples
    --------
    >>> import tempfile
    >>> done, = reproduce("main", tempfile.mkdtemp(), settings=["german:sex"], seeds=1, folds=2, n_jobs=1)
    >>> done.jobs, sorted(done.summary["dr_reduction"])
    (2, ['German (sex)'])
    """
    chosen = [EXPERIMENTS[name] for name in check_names(names)]
    options = Options(
        check_settings(settings), _at_least(seeds, "seeds", 1), _at_least(folds, "folds", 2), random_state
    )
    for experiment in chosen:
        _require(experiment)
    plans = [experiment.plan(options) for experiment in chosen]
    folders = [Path(out) / experiment.name for experiment in chosen]
    for experiment, plan, folder in zip(chosen, plans, folders, strict=True):
        if not plan:
            raise InputError(f"{experiment.name!r} has none of the settings {listing(options.settings)}.")
        folder.mkdir(parents=True, exist_ok=True)
    kept = [Records(folder / "records.jsonl") for folder in folders]
    open_jobs = [
        [(job, records) for job in plan if job not in records]
        for plan, records in zip(plans, kept, strict=True)
    ]
    run_jobs([job for jobs in open_jobs for job in jobs], n_jobs, verbose)
    done = []
    for experiment, plan, folder, records, ran in zip(chosen, plans, folders, kept, open_jobs, strict=True):
        lines = [line for job in plan for line in records.of(job)]
        findings = experiment.finish(lines, options)
        fold_seeds = sorted({line["seed"] for line in lines if "seed" in line})
        files = write_findings(folder, experiment, findings, options, fold_seeds)
        seconds = sum(records.seconds(job) for job in plan)
        done.append(
            Reproduction(experiment.name, files, len(plan), len(plan) - len(ran), seconds, findings.summary)
        )
    return done


def check_names(names: Iterable[str] | str) -> list[str]:
    """Return the experiments that are asked for, each once, in the order in which they are run."""
    asked = [names] if isinstance(names, str) else list(names)
    known = [*EXPERIMENTS, "all"]
    for name in asked:
        if name not in known:
            raise InputError(
                f"there is no experiment {name!r}; there are {listing(known, limit=len(known))}."
                f"{did_you_mean(name, known)}"
            )
    if not asked:
        raise InputError(f"no experiment is named; there are {listing(known, limit=len(known))}.")
    return [name for name in EXPERIMENTS if name in asked or "all" in asked]


def _at_least(value: int, name: str, least: int) -> int:
    if value < least:
        raise InputError(f"{name}={value!r} is too few; give {least} or more.")
    return value


def _require(experiment: Experiment) -> None:
    for package in experiment.packages:
        if find_spec(package) is None:
            raise MissingExtraError(
                f"reproduce {experiment.name}", DISTRIBUTIONS.get(package, package), "reproduce"
            )
