"""Run experiments and write what they find."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from paper import ablation, beyond, curves, explainers, main, matching, models, threshold
from paper.jobs import DISTRIBUTIONS, Experiment, Findings, Options, Records, run_jobs, versions
from paper.settings import SETTINGS

#: All experiments, in the order in which they run.
EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (main, ablation, models, explainers, matching, threshold, curves, beyond)
}

_STYLE = {"svg.hashsalt": "fairshap", "svg.fonttype": "none", "font.size": 9}


class CannotRunError(Exception):
    """What was asked for cannot be run; the text says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one experiment.

    Parameters
    ----------
    name : str
        The experiment.
    files : list of Path
        The files written.
    jobs, reused : int
        The number of its jobs, and how many of them an earlier run had finished.
    seconds : float
        The CPU seconds of all jobs.
    summary : dict
        A few numbers.
    """

    name: str
    files: list[Path]
    jobs: int
    reused: int
    seconds: float
    summary: dict[str, Any]


def run(
    names: Iterable[str],
    out: str | os.PathLike[str],
    *,
    settings: Iterable[str] | None = None,
    seeds: int = 5,
    folds: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[Result]:
    """Run experiments and write their tables and figures, the paper's beside ours.

    The records of each finished job are kept in ``<out>/<name>/records.jsonl`` at once. The same call resumes
    where an earlier one stopped; records of other versions or other arguments are not used.

    Parameters
    ----------
    names : iterable of str
        The experiments, such as "main" (see ``EXPERIMENTS``), or "all".
    out : path-like
        A folder, in which each experiment has its own. They are created if missing.
    settings : iterable of str, optional
        Tables and sensitive columns, such as "german:sex"; by default all that an experiment has.
    seeds : int, default=5
        The number of seeds of the folds, starting with the paper's 1, where a spread over seeds is reported;
        and the number of draws, where cells are drawn.
    folds : int, default=5
        The number of folds.
    random_state : int, default=0
        The seed of everything that is drawn apart from the folds.
    n_jobs : int, optional
        The number of processes; by default one for each core. The results do not depend on it.
    verbose : bool, default=False
        Whether to print a line for each finished job on standard error.
    """
    chosen = [EXPERIMENTS[name] for name in _known(names, [*EXPERIMENTS, "all"], "experiment")]
    keys = SETTINGS if settings is None else _known(settings, list(SETTINGS), "setting")
    if seeds < 1 or folds < 2:
        raise CannotRunError(f"seeds={seeds} and folds={folds}: give at least 1 seed and 2 folds.")
    options = Options(tuple(keys), seeds, folds, random_state)
    _check_packages(chosen)
    plans = [experiment.plan(options) for experiment in chosen]
    for experiment, plan in zip(chosen, plans, strict=True):
        if not plan:
            raise CannotRunError(f"{experiment.name} has none of the settings {', '.join(options.settings)}.")
    kept = []
    for experiment in chosen:
        folder = Path(out) / experiment.name
        folder.mkdir(parents=True, exist_ok=True)
        kept.append(Records(folder / "records.jsonl"))
    open_jobs = [
        [(job, records) for job in plan if job not in records]
        for plan, records in zip(plans, kept, strict=True)
    ]
    run_jobs([job for jobs in open_jobs for job in jobs], n_jobs, verbose)
    results = []
    for experiment, plan, records, ran in zip(chosen, plans, kept, open_jobs, strict=True):
        lines = [line for job in plan for line in records.of(job)]
        findings = experiment.finish(lines, options)
        setup = {
            "experiment": experiment.name,
            "versions": versions(*experiment.packages, *experiment.optional),
            "options": asdict(options),
            "fold_seeds": sorted({line["seed"] for line in lines if "seed" in line}),
        }
        files = _write(records.path.parent, findings, setup)
        seconds = sum(records.seconds(job) for job in plan)
        results.append(
            Result(experiment.name, files, len(plan), len(plan) - len(ran), seconds, findings.summary)
        )
    return results


def _known(asked: Iterable[str], known: Sequence[str], what: str) -> list[str]:
    """Return what is asked for, each once, in the order of what is known."""
    asked = list(asked)
    for name in asked:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise CannotRunError(f"there is no {what} {name!r}; there are {', '.join(known)}.{hint}")
    return [name for name in known if name != "all" and (name in asked or "all" in asked)]


def _check_packages(experiments: Iterable[Experiment]) -> None:
    for experiment in experiments:
        missing = [package for package in experiment.packages if find_spec(package) is None]
        if missing:
            names = ", ".join(DISTRIBUTIONS.get(package, package) for package in missing)
            raise CannotRunError(
                f"{experiment.name} needs {names}; install what the experiments need with "
                "'make setup', or with pip install --group paper --editable '.'"
            )


def _write(folder: Path, findings: Findings, setup: dict[str, Any]) -> list[Path]:
    """Write tables, pages, figures and versions; return the files. Equal findings give equal bytes."""
    contents: dict[str, bytes] = {}
    for name, frame in findings.frames.items():
        contents[f"{name}.csv"] = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
    for name, page in findings.pages.items():
        contents[f"{name}.md"] = page.encode()
    for name, draw in findings.figures.items():
        for kind in ("png", "svg"):
            contents[f"{name}.{kind}"] = _figure(draw, kind)
    contents["versions.json"] = (json.dumps(setup, indent=2) + "\n").encode()
    for name, content in contents.items():
        # A file is whole or not there: an interrupt leaves the old one.
        part = folder / f".{name}.part"
        part.write_bytes(content)
        part.replace(folder / name)
    return [folder / name for name in contents]


def _figure(draw: Callable[[], Any], kind: str) -> bytes:
    import matplotlib as mpl

    file = BytesIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = np.atleast_1d(draw()).flat[0].figure
        # Neither date nor version: the same figure gives the same bytes.
        figure.savefig(file, format=kind, dpi=130, metadata={"Date" if kind == "svg" else "Software": None})
    return file.getvalue()
