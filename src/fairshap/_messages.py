"""What users are told: errors, checks of parameters, warnings, and how far long work is."""

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from threading import Event, Thread
from typing import Any, ClassVar, Self, TypeGuard, TypeVar

import numpy as np

from fairshap.exceptions import FairshapWarning, InputError, MissingExtraError, SlowWarning

# People say one and the column says the other.
_SYNONYMS = {"gender": "sex", "sex": "gender", "ethnicity": "race", "race": "ethnicity"}

# Seconds after which a bar appears: shorter work needs none; and between two lines where there is no bar.
_PATIENCE, _BETWEEN = 2.0, 10.0
# Seconds from which on a warning says how long work will take; the rows that are timed for that, more and
# more at a time, and the seconds that make it clear before all of these are timed.
_LONG, _TIMED, _SURE = 30.0, (100, 1_600, 25_600), 0.5

Result = TypeVar("Result")


def listing(
    items: Iterable[Any], limit: int = 8, write: Callable[[Any], str] = repr, between: str = ", "
) -> str:
    """Write the items one after the other, the rest counted.

    >>> listing(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = [write(item) for item in items]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return between.join(shown[:limit]) + more


def quote_name(name: object) -> str:
    """Return the name of the attribute in quotes, of several columns each by itself."""
    return " and ".join(map(repr, name)) if isinstance(name, tuple) else repr(name)


def did_you_mean(wanted: object, known: Sequence[Any]) -> str:
    """Return a closing hint that names the known item nearest to what was wanted, or nothing.

    >>> did_you_mean("Sex", ["age", "sex"])
    " Did you mean 'sex'?"
    >>> did_you_mean("1", [0, 1])
    ' Did you mean 1?'
    """
    for exact in (str, lambda item: str(item).casefold()):
        for item in known:
            if item != wanted and exact(item) == exact(wanted):
                return f" Did you mean {item!r}?"
    texts = {str(item).casefold(): item for item in known}
    synonym = texts.get(_SYNONYMS.get(str(wanted).casefold(), ""))
    if synonym is not None:
        return f" Did you mean {synonym!r}?"
    close = get_close_matches(str(wanted).casefold(), list(texts), n=1)
    return f" Did you mean {texts[close[0]]!r}?" if close else ""


def check_choice(value: Any, name: str, known: Sequence[str | None], more: str = "") -> None:
    """Raise an error unless the value of a parameter is one of the known ones; ``more`` says what else is."""
    if not isinstance(value, (str, type(None))) or value not in known:
        hint = did_you_mean(value, known)
        raise InputError(
            f"{name}={value!r} is not known; give one of {listing(known)}{more}.{hint}", parameter=name
        )


def check_count(value: Any, name: str, more: str, least: int = 1) -> None:
    """Raise an error unless a parameter is a whole number that is large enough; ``more`` ends the text."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number from {least} on{more}.", parameter=name)


def check_number(value: Any, name: str, what: str, low: float = 0.0, high: float = np.inf) -> None:
    """Raise an error unless a number is finite and within bounds; ``what`` ends the text."""
    if not is_number(value) or not low <= value <= high or np.isinf(value):
        raise InputError(f"{name}={value!r} is not {what}", parameter=name)


def is_number(value: Any) -> TypeGuard[float]:
    """Say whether the value of a parameter is a number; a boolean is none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def warn(message: str, category: type[FairshapWarning], parameter: str | None = None, hint: str = "") -> None:
    """Give a warning that points at the line of the user's own code which led to it.

    The hint says what to do in Python; the command leaves it out.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fairshap."):
        frame, level = frame.f_back, level + 1
    warnings.warn(category(message, parameter=parameter, hint=hint), stacklevel=level)


def import_extra(module: str, what: str, extra: str, package: str | None = None) -> Any:
    """Return a module; without it, say what needs its package and which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, package or module.partition(".")[0], extra) from error


def in_threads(
    work: Callable[..., Result],
    items: Sequence[tuple[Any, ...]],
    n_threads: int,
    finished: Callable[[tuple[Any, ...], Result], None],
) -> None:
    """Do the work for each item in threads, and call ``finished`` in this thread as each is done.

    The order is not that of the items. An error or an interrupt is raised at once: no piece of work starts
    after it, and those under way end by themselves.
    """
    if min(n_threads, len(items)) <= 1:
        for item in items:
            finished(item, work(*item))
        return
    pool = ThreadPoolExecutor(min(n_threads, len(items)))
    try:
        futures = {pool.submit(work, *item): item for item in items}
        for future in as_completed(futures):
            # Popped, so that its result is freed.
            finished(futures.pop(future), future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Progress:
    """How far long work is, ``total`` in any unit: a bar on a terminal, else a line from time to time."""

    #: Those that are under way, the innermost last; and when the last line was printed.
    running: ClassVar[list["Progress"]] = []
    last_line: ClassVar[float] = 0.0

    def __init__(self, what: str, total: float, verbose: int) -> None:
        self.what, self.total, self.verbose = what, total, verbose
        self.rows, self.work = 0, 0.0
        self.bar: Any = None
        self._has_bar: bool | None = None

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        self.running.append(self)
        return self

    def advance(self, rows: int, work: float) -> None:
        """Count finished rows, and the work that they were."""
        self.rows += rows
        self.work += work
        elapsed = time.monotonic() - self._start
        if not self.verbose or elapsed <= _PATIENCE:
            return
        if self._has_bar is None:
            self._has_bar = _is_interactive()
        if not self._has_bar:
            if elapsed >= _BETWEEN:
                self.say(self.status())
            return
        self.bar = self.bar or _bar(self.what, self.total)
        self.bar.update(self.bar.task_ids[0], completed=self.work, speed=f"{self.rows / elapsed:,.0f} rows/s")

    def status(self) -> str:
        """Return how far the work is, in words."""
        elapsed = time.monotonic() - self._start
        if not self.work:
            return f"{self.what}: {_clock(elapsed)} so far"
        left = elapsed * (self.total / self.work - 1)
        return f"{self.what}: {self.work / self.total:.0%} in {_clock(elapsed)}, about {_clock(left)} left"

    @classmethod
    def say(cls, text: str) -> None:
        """Print a line on standard error, unless one was printed a short time ago."""
        now = time.monotonic()
        if now - cls.last_line >= _BETWEEN:
            cls.last_line = now
            print(f"fairshap: {text}", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        self.running.remove(self)
        if self.bar is not None:
            if not any(error):
                # Of a race not all is run.
                self.bar.update(self.bar.task_ids[0], completed=self.total)
            self.bar.stop()


@contextmanager
def heartbeat(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Print a line from time to time on standard error while no bar shows that work goes on."""
    done, start = Event(), time.monotonic()

    def beat() -> None:
        while not done.wait(_BETWEEN):
            running = list(Progress.running)
            if is_wanted() and not any(one.bar for one in running):
                Progress.say(
                    running[-1].status() if running else f"at work for {_clock(time.monotonic() - start)}"
                )

    Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _clock(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _is_interactive() -> bool:
    """Say whether a bar can be drawn on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


class Forecast:
    """Warns, once, of a model that will be asked about many rows for long, from how long the first take."""

    def __init__(self, rows: float, why: str) -> None:
        self.rows, self.why = rows, why
        self._parts = iter(_TIMED if rows > _TIMED[0] else ())
        #: How many rows are timed next, whatever the clock says: in other parts a model may round otherwise.
        self.most = next(self._parts, sys.maxsize)
        self._asked, self._seconds = 0, 0.0

    def ask(self, rows: int, work: Callable[[], Result]) -> Result:
        """Do the work, which asks the model about so many rows, and time it if that is not done yet."""
        start = time.monotonic()
        result = work()
        if self.most != sys.maxsize:
            self._asked += rows
            self._seconds += time.monotonic() - start
            if self._asked >= self.most:
                self.most = next(self._parts, sys.maxsize)
                self._expect()
        return result

    def _expect(self) -> None:
        # What a call costs by itself counts less the more rows it has: at first too much is expected.
        seconds = self._seconds / self._asked * self.rows
        if seconds > _LONG and (self._seconds >= _SURE or self.most == sys.maxsize):
            self.rows, rows = 0, self.rows
            left = f"{seconds / 60:,.0f} minutes" if seconds > 90 else f"{seconds:.0f} seconds"
            warn(
                f"explaining will take about {left}: the model is called about up to "
                f"{rows:,.0f} rows, because {self.why}. Faster are a model that fairshap reads (trees, "
                "linear models, and models made of these) and fewer columns.",
                SlowWarning,
                hint="So are feature_groups, and estimates of more rows, such as by Explainer(max_exact=5, "
                "n_permutations=16).",
            )


def _bar(what: str, total: float) -> Any:
    """Show a bar and return it; rich is imported only here, where a bar is needed."""
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn

    speed = TextColumn("left, {task.fields[speed]}")
    bar = Bar(*Bar.get_default_columns(), speed, console=Console(stderr=True))
    bar.add_task(what, total=total, speed="")
    bar.start()
    return bar
