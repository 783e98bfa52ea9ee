"""``explainers``: the explainers of the shap package on the same games, against exact values."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairshap import Explanation, MatchPlan
from paper.figures import draw_comparison, draw_explainers
from paper.jobs import Experiment, Findings, Job, Options, Record, version_of
from paper.methods import (
    MEASURES,
    THRESHOLD,
    explain_rows,
    fit_model,
    judge,
    match_rows,
    reaches,
    records_of,
    replace_values,
)
from paper.settings import SETTINGS, Fold
from paper.tables import (
    LEGEND,
    compare,
    detail,
    far_count,
    label_of,
    markdown,
    published,
    summarize,
    table_of,
)

#: The method that enumerates.
EXACT = "Exact (ours)"
# The tables and their rows.
_SETTINGS = {"german:sex": 1_000, "compas:sex": 7_214}
#: Rows of each fold on which all explainers are compared.
SAMPLE = 100

# Approximate CPU milliseconds a row.
_COSTS = {"Kernel explainer": 8, "Permutation explainer": 60, "Sampling explainer": 100}
EXPLAINERS = tuple(_COSTS)
# Those that explain all training rows, so that a model can be trained on the edits they lead to. Each of the
# others would take more than a quarter of an hour.
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
    """The games of a fold, whose values say what each row's risk is made of."""

    fold: Fold
    model: Any
    plan: MatchPlan
    exact: Explanation
    seconds: float

    @classmethod
    def load(cls, key: str, number: int, n_folds: int, random_state: int) -> "Games":
        """Return the games of a fold of seed 1, with their exact values and the seconds that these took."""
        fold = Fold.load(key, "whole", 1, number, n_folds, random_state)
        model = fit_model(fold.X, fold.y)
        matches = match_rows(fold)
        # Twice: the first call loads compiled code.
        for _ in range(2):
            exact, seconds = explain_rows(fold, model, matches)
        return cls(fold, model, matches, exact, seconds)

    def risk(self, rows: np.ndarray) -> np.ndarray:
        """Return the discriminative risk of rows, as shap asks for it."""
        both = np.concatenate([rows, rows])
        both[: len(rows), self.fold.sensitive], both[len(rows) :, self.fold.sensitive] = 0, 1
        low, high = np.split(self.model.predict_proba(both)[:, 1].astype(np.float64), 2)
        return np.asarray(np.abs(high - low))

    def explain(self, method: str, rows: np.ndarray) -> tuple[np.ndarray, float]:
        """Return what an explainer says of some rows, and the CPU seconds that it took."""
        best = self.plan.best
        explain = _explainer(method)
        with _drawing(self.fold.random_state), warnings.catch_warnings():
            # About coming changes of shap and of what it calls.
            warnings.simplefilter("ignore")
            # Compiled code is loaded with a row that differs from its reference.
            first = int(np.argmax((self.fold.X[best] != self.fold.X).sum(axis=1)))
            explain(self.risk, self.fold.X[first], self.fold.X[best[first]])
            start = time.process_time()
            values = [explain(self.risk, self.fold.X[row], self.fold.X[best[row]]) for row in rows]
            return np.array(values), time.process_time() - start


def _explainer(
    method: str,
) -> Callable[[Callable[[np.ndarray], np.ndarray], np.ndarray, np.ndarray], np.ndarray]:
    """Return a function from risk, row and reference to the values, with shap's defaults."""
    import shap

    def by_regression(risk: Any, x: np.ndarray, r: np.ndarray) -> Any:
        return shap.KernelExplainer(risk, r[None]).shap_values(x, silent=True)

    def by_sampling(risk: Any, x: np.ndarray, r: np.ndarray) -> Any:
        return shap.SamplingExplainer(risk, r[None]).shap_values(x, silent=True)

    def by_orders(risk: Any, x: np.ndarray, r: np.ndarray) -> Any:
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
    names = {**games.fold.names, "part": "sample"}
    exact = games.exact.values[rows]
    shared = {"rows": len(rows), "fold_rows": n, "exact_edits": reaches(exact, THRESHOLD).sum()}
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
    lines: list[Record] = []
    if method == EXACT:
        values, seconds = exact, games.seconds
        lines += records_of(judge(games.model, fold), **fold.names, method="Baseline")
    else:
        values, seconds = games.explain(method, np.arange(len(fold.X)))
    edited = replace_values(fold.X, games.plan, values, THRESHOLD)
    found = judge(fit_model(edited, fold.y), fold)
    found |= {
        "seconds": seconds,
        "edits": (edited != fold.X).sum(),
        "exact_edits": reaches(exact, THRESHOLD).sum(),
    }
    return lines + records_of(found | _errors(values, exact), **fold.names, method=method)


def _errors(values: np.ndarray, exact: np.ndarray) -> dict[str, float]:
    """Return how far values are from the exact ones, and how many decisions are others."""
    error = np.abs(values - exact)
    return {
        "largest_error": error.max(),
        "mean_error": error.mean(),
        "differing": (reaches(values, THRESHOLD) != reaches(exact, THRESHOLD)).sum(),
    }


def finish(records: list[Record], options: Options) -> Findings:
    """Return cost and error on the sample, and the paper's table."""
    costs = compare_costs([line for line in records if line["part"] == "sample"])
    whole = [line for line in records if line["part"] == "whole"]
    compared = compare(summarize(whole, "explainers"))
    # The paper's row of seconds is beside those of the sample.
    compared = compared[compared["metric"] != "seconds"].reset_index(drop=True)
    drawn = compared.assign(label=compared["setting"].map(label_of))
    methods = list(dict.fromkeys(compared["method"]))
    page = [
        "# Explainers",
        "## Cost and error",
        _cost_text(costs, options),
        _cost_table(costs),
        "## The metrics after FairSHAP",
        _whole_text(costs, compared),
        table_of(pd.concat([compared, _not_done(compared)]), MEASURES, {}),
    ]
    return Findings(
        frames={"explainers": compared, "explainers_costs": costs, "explainers_folds": detail(records)},
        pages={"explainers": "\n\n".join(page) + "\n"},
        figures={
            "explainers": lambda: draw_explainers(costs),
            "explainers_metrics": lambda: draw_comparison(drawn, methods, ("accuracy", "dr", "dp", "eo")),
        },
        summary={
            **far_count(compared),
            "differing_edits": {
                f"{line['label']}, {line['method']}": int(line["differing"])
                for _, line in costs.dropna(subset="differing").iterrows()
            },
        },
    )


def _not_done(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's figures that have none of ours beside them, in the tables that were run."""
    paper = published("explainers")
    done = set(zip(compared["dataset"], compared["method"], strict=True))
    known = {SETTINGS[setting].dataset: setting for setting in compared["setting"]}
    is_open = np.array([place not in done for place in zip(paper["dataset"], paper["method"], strict=True)])
    left = paper[is_open & paper["dataset"].isin(known) & (paper["metric"] != "seconds")]
    left = left.rename(columns={"mean": "paper_mean", "std": "paper_std"})
    return left.assign(setting=left["dataset"].map(known), part="whole", mean=np.nan, difference=np.nan)


def compare_costs(records: list[Record]) -> pd.DataFrame:
    """Return a line for each table and explainer: cost, error and decisions over the samples of all folds."""
    paper = published("explainers").set_index(["dataset", "method", "metric"])["mean"]
    lines = []
    frame = detail(records)
    key: Any
    for key, group in frame.groupby(["setting", "method"], sort=False):
        setting, method = key
        by = {metric: values["value"].to_numpy() for metric, values in group.groupby("metric")}
        none = np.full(1, np.nan)
        differing, exact_edits = by.get("differing", none).sum(), by["exact_edits"].sum()
        # The first job of a process loads compiled code, which is not what a row costs.
        row_seconds = float(np.median(by["row_seconds"]))
        lines.append(
            {
                "setting": setting,
                "label": label_of(setting),
                "method": method,
                "rows": int(by["rows"].sum()),
                "row_seconds": row_seconds,
                "fold_seconds": row_seconds * float(by["fold_rows"].mean()),
                "paper_seconds": paper.get((SETTINGS[setting].dataset, method, "seconds"), np.nan),
                "largest_error": by.get("largest_error", none).max(),
                "mean_error": by.get("mean_error", none).mean(),
                "exact_edits": int(exact_edits),
                "differing": differing,
                "share_differing": 100 * differing / exact_edits if exact_edits else np.nan,
            }
        )
    return pd.DataFrame(lines)


def _cost_text(costs: pd.DataFrame, options: Options) -> str:
    exact = costs[costs["method"] == EXACT]
    others = costs[costs["method"] != EXACT]
    ratio = others["row_seconds"] / others["setting"].map(exact.set_index("setting")["row_seconds"])
    methods = list(dict.fromkeys(others["method"]))
    of = {method: others["method"] == method for method in methods}
    rows = ", ".join(f"{n:,} of {label}" for n, label in zip(exact["rows"], exact["label"], strict=True))
    slower = "; ".join(f"{m} {ratio[of[m]].min():,.0f} to {ratio[of[m]].max():,.0f} times" for m in methods)
    differ = ", ".join(f"{others.loc[of[m], 'differing'].sum():.0f} differ with the {m}" for m in methods)
    worst = others.iloc[int(others["largest_error"].argmax())]
    return (
        "The games are those of the paper's FairSHAP with XGBoost, seed 1. Each explainer of the shap "
        "package, with its defaults, explains the same sample of the training rows of "
        f"{options.folds} folds: {rows} in all. An edit differs if the value is on the other side of the "
        "threshold. The seconds of a fold are those of a row times its rows; the paper does not say what "
        "its seconds are of.\n\n"
        f"What a row takes, in units of what it takes by exact values: {slower}. The largest error is "
        f"{worst['largest_error']:.4f} ({worst['method']}, {worst['label']}); beside the "
        f"{exact['exact_edits'].sum():,} edits that exact values lead to, {differ}."
    )


def _cost_table(costs: pd.DataFrame) -> str:
    header = ["setting", "explainer", "rows", "CPU ms a row", "CPU s a fold (paper)", "largest error"]
    header += ["mean error", "exact edits", "edits that differ"]
    lines = []
    for _, line in costs.iterrows():
        is_exact = np.isnan(line["largest_error"])
        paper = "-" if np.isnan(line["paper_seconds"]) else f"{line['paper_seconds']:.0f}"
        lines.append(
            [
                line["label"],
                line["method"],
                f"{line['rows']:,}",
                f"{1000 * line['row_seconds']:.3g}",
                f"{line['fold_seconds']:.3g} ({paper})",
                "0" if is_exact else f"{line['largest_error']:.2g}",
                "0" if is_exact else f"{line['mean_error']:.2g}",
                f"{line['exact_edits']:,}",
                "0" if is_exact else f"{line['differing']:.0f}",
            ]
        )
    return markdown(header, lines)


def _whole_text(costs: pd.DataFrame, compared: pd.DataFrame) -> str:
    done = compared.groupby("setting", sort=False)["method"].unique()
    left = [
        f"the {line['method']} on {line['label']} ({line['fold_seconds'] / 60:.1f} CPU minutes a fold)"
        for _, line in costs.iterrows()
        if line["method"] not in done[line["setting"]]
    ]
    text = (
        f"For these all training rows of each fold were explained, and a model trained on the edits. {LEGEND}"
    )
    if left:
        text += f" Not done, since it takes too long: {', '.join(left)}."
    means = compared.set_index(["setting", "method", "metric"])["mean"].to_dict()
    said = [
        f"{method} on {label_of(setting)} {means[setting, method, 'differing']:.1f} of "
        f"{means[setting, method, 'exact_edits']:.0f} edits a fold, DR {means[setting, method, 'dr']:.4f} "
        f"instead of {means[setting, EXACT, 'dr']:.4f}"
        for setting in done.index
        for method in done[setting]
        if method not in (EXACT, "Baseline")
    ]
    return text + f" What differs from exact values: {'; '.join(said)}."


EXPERIMENT = Experiment(
    "explainers", "shap's explainers against exact values", plan, finish, ("xgboost", "matplotlib", "shap")
)
