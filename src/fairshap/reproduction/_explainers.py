"""``explainers``: the explainers of the shap package on the same games, against exact values."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairshap._ties import reaches
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution import Attributions, attribute
from fairshap.edits import select_edits
from fairshap.estimators import paper_settings
from fairshap.matching import MatchPlan, match
from fairshap.reproduction._experiment import Experiment, Job, Options, Record
from fairshap.reproduction._explainers_page import EXACT, finish
from fairshap.reproduction._measuring import MODEL, Fold, fit_model, judge, records_of
from fairshap.reproduction._versions import version_of

# The tables and their rows.
_SETTINGS = {"german:sex": 1_000, "compas:sex": 7_214}
#: Rows of each fold on which all explainers are compared.
SAMPLE = 100
THRESHOLD = paper_settings()["threshold"]

# CPU milliseconds a row, roughly.
_COSTS = {"Kernel explainer": 8, "Permutation explainer": 60, "Sampling explainer": 100}
EXPLAINERS = tuple(_COSTS)
# Which explain all training rows, so that a model can be trained on what they lead to. Each of the others
# would take more than a quarter of an hour.
_WHOLE = {
    "german:sex": EXPLAINERS,
    "compas:sex": ("Kernel explainer",),
}


def plan(options: Options) -> list[Job]:
    """Return for each fold a job with a sample of the rows, and one for each explainer that does all."""
    version = version_of("shap")
    jobs = []
    for key in options.settings:
        if key not in _SETTINGS:
            continue
        rows = _SETTINGS[key] * (1 - 1 / options.folds)
        for fold in range(options.folds):
            shared = (key, fold, options.folds, options.random_state, version)
            name = f"{key}/fold {fold}"
            jobs.append(Job(f"{name}/sample", measure_sample, (*shared, SAMPLE), SAMPLE * 0.2))
            for method in (EXACT, *_WHOLE[key]):
                cost = rows * _COSTS.get(method, 0.1) / 1000
                jobs.append(Job(f"{name}/{method}", measure_whole, (*shared, method), cost))
    return jobs


@dataclass(frozen=True, slots=True, eq=False)
class Games:
    """The games of a fold: what each row's risk is made of."""

    fold: Fold
    model: Any
    plan: MatchPlan
    exact: Attributions
    seconds: float

    @classmethod
    def load(cls, key: str, number: int, n_folds: int, random_state: int) -> "Games":
        """Return the games of a fold of seed 1, with their exact values and the seconds that these took."""
        fold = Fold.load(key, "whole", 1, number, n_folds, random_state)
        model = fit_model(fold.X, fold.y)
        matches = match(fold.X, fold.y, **fold.who, n_jobs=1)
        # Twice: the first call loads compiled code.
        for _ in range(2):
            start = time.process_time()
            exact = attribute(model, fold.X, matches, **fold.who, n_jobs=1)
            seconds = time.process_time() - start
        return cls(fold, model, matches, exact, seconds)

    def risk(self, rows: Floats) -> Floats:
        """Return the discriminative risk of rows, as shap asks for it."""
        both = np.concatenate([rows, rows])
        both[: len(rows), self.fold.sensitive], both[len(rows) :, self.fold.sensitive] = 0, 1
        low, high = np.split(self.model.predict_proba(both)[:, 1].astype(np.float64), 2)
        return np.asarray(np.abs(high - low))

    def explain(self, method: str, rows: Ints) -> tuple[Floats, float]:
        """Return what an explainer says of some rows, and the CPU seconds that it took."""
        best = self.plan.best
        explain = _explainer(method)
        with _drawing(self.fold.random_state), warnings.catch_warnings():
            # shap and what it calls warn of what is to come in other versions.
            warnings.simplefilter("ignore")
            # Compiled code is loaded with a row that differs from its reference.
            first = int(np.argmax((self.fold.X[best] != self.fold.X).sum(axis=1)))
            explain(self.risk, self.fold.X[first], self.fold.X[best[first]])
            start = time.process_time()
            values = [explain(self.risk, self.fold.X[row], self.fold.X[best[row]]) for row in rows]
            return np.array(values), time.process_time() - start


def _explainer(method: str) -> Callable[[Callable[[Floats], Floats], Floats, Floats], Floats]:
    """Return a function from risk, row and reference to the values, with shap's defaults."""
    import shap

    def by_regression(risk: Any, x: Floats, r: Floats) -> Any:
        return shap.KernelExplainer(risk, r[None]).shap_values(x, silent=True)

    def by_sampling(risk: Any, x: Floats, r: Floats) -> Any:
        return shap.SamplingExplainer(risk, r[None]).shap_values(x, silent=True)

    def by_orders(risk: Any, x: Floats, r: Floats) -> Any:
        masker = shap.maskers.Independent(r[None], max_samples=1)
        # It seeds the shared generator, and so it must not be given the same seed for each row.
        explainer = shap.explainers.Permutation(risk, masker, seed=np.random.randint(2**31 - 1))  # noqa: NPY002
        return explainer(x[None], silent=True).values[0]

    return {
        "Kernel explainer": by_regression,
        "Sampling explainer": by_sampling,
        "Permutation explainer": by_orders,
    }[method]


@contextmanager
def _drawing(seed: int) -> Iterator[None]:
    """Seed numpy's shared generator, from which shap draws, and leave it as it was."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def measure_sample(
    key: str, number: int, n_folds: int, random_state: int, _: str, n_rows: int
) -> list[Record]:
    """Return cost, error and decisions of all explainers on a sample of the rows of a fold.

    The argument without a name is the version of shap: with another one it is another job.
    """
    games = Games.load(key, number, n_folds, random_state)
    n = len(games.fold.X)
    rows = np.sort(np.random.default_rng((random_state, number)).permutation(n)[:n_rows])
    names: dict[str, Any] = {"setting": key, "part": "sample", "model": MODEL, "seed": 1, "fold": number}
    exact = games.exact.values[rows]
    shared = {"rows": len(rows), "fold_rows": n, "exact_edits": _is_edit(exact).sum()}
    found = shared | {"row_seconds": games.seconds / n}
    lines = records_of(found, **names, method=EXACT)
    for method in EXPLAINERS:
        values, seconds = games.explain(method, rows)
        found = shared | {"row_seconds": seconds / len(rows)} | _errors(values, exact)
        lines += records_of(found, **names, method=method)
    return lines


def measure_whole(
    key: str, number: int, n_folds: int, random_state: int, _: str, method: str
) -> list[Record]:
    """Return what the paper measures after all training rows were explained; the baseline with exact ones."""
    games = Games.load(key, number, n_folds, random_state)
    fold, exact = games.fold, games.exact.values
    names: dict[str, Any] = {"setting": key, "part": "whole", "model": MODEL, "seed": 1, "fold": number}
    lines: list[Record] = []
    if method == EXACT:
        values, seconds = exact, games.seconds
        lines += records_of(judge(games.model, fold, fold.X_test), **names, method="Baseline")
    else:
        values, seconds = games.explain(method, np.arange(len(fold.X)))
    edits = select_edits(replace(games.exact, values=values), fold.X, games.plan, threshold=THRESHOLD)
    found = judge(fit_model(edits.apply(fold.X), fold.y), fold, fold.X_test)
    found |= {"seconds": seconds, "edits": len(edits), "exact_edits": _is_edit(exact).sum()}
    return lines + records_of(found | _errors(values, exact), **names, method=method)


def _is_edit(values: Floats) -> Bools:
    """Say which values are large enough for an edit; those of probabilities have the unit 1."""
    return reaches(values, THRESHOLD, unit=1.0)


def _errors(values: Floats, exact: Floats) -> dict[str, float]:
    """Return how far values are from the exact ones, and how many decisions are others."""
    error = np.abs(values - exact)
    return {
        "largest_error": error.max(),
        "mean_error": error.mean(),
        "differing": (_is_edit(values) != _is_edit(exact)).sum(),
    }


EXPLAINING = Experiment(
    "explainers", "shap's explainers against exact values", plan, finish, ("xgboost", "matplotlib", "shap")
)
