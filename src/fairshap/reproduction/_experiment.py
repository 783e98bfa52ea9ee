"""What an experiment is: independent jobs, and what is made of their records."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pandas as pd

#: One line of what a job found: names, numbers and texts that JSON takes.
Record: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked of all experiments.

    Parameters
    ----------
    settings : tuple of str
        The settings to run, such as "german:sex"; an experiment takes those that it has.
    seeds : int
        How many seeds of the folds, from the paper's 1 on, where a spread over seeds is reported.
    folds : int
        How many folds.
    random_state : int
        The seed of what is drawn apart from the folds.
    """

    settings: tuple[str, ...]
    seeds: int = 5
    folds: int = 5
    random_state: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work that needs no other.

    Parameters
    ----------
    key : str
        Its name, unlike that of any other job of the experiment.
    work : callable
        A function of a module, called with the arguments; returns records.
    arguments : tuple
        Texts, numbers and tuples of them: a job is known again by them.
    cost : float
        Seconds on one thread, roughly: the costliest job is begun first.
    """

    key: str
    work: Callable[..., list[Record]]
    arguments: tuple[Any, ...]
    cost: float = 1.0


@dataclass(frozen=True, slots=True)
class Findings:
    """What an experiment comes to; names are those of files, without their endings.

    Parameters
    ----------
    frames : dict
        Tables, written as CSV.
    pages : dict
        Markdown.
    figures : dict
        Functions that draw and return axes, written as PNG and SVG.
    summary : dict
        A few numbers for whoever reads no file.
    """

    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Callable[[], Any]] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One of the things to reproduce.

    Parameters
    ----------
    name : str
        What it is called on the command line; its folder.
    what : str
        In a few words.
    plan : callable
        From the options to the jobs.
    finish : callable
        From the records of all jobs, in the order of the plan, and the options to the findings.
    packages : tuple of str
        What it imports beyond fairshap's own dependencies.
    optional : tuple of str
        What it uses where it is installed, and does without where it is not.
    """

    name: str
    what: str
    plan: Callable[[Options], list[Job]]
    finish: Callable[[list[Record], Options], Findings]
    packages: tuple[str, ...] = ("xgboost", "fairlearn", "matplotlib")
    optional: tuple[str, ...] = ()
