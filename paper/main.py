"""``main``: the paper's main table, and how the signs of FairSHAP's changes hold over seeds of the folds."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from paper.figures import draw_changes, draw_comparison
from paper.jobs import Experiment, Findings, Job, Options, Record
from paper.methods import MEASURES, changes_of, fit_model, judge, records_of, repair, transform_rows
from paper.settings import SETTINGS, Fold, Part
from paper.tables import (
    LEGEND,
    compare,
    detail,
    far_count,
    label_of,
    labels_of,
    markdown,
    published,
    summarize,
    table_of,
)

#: The methods, in the order of the table, and those that change the rows that are predicted.
METHODS = ("Baseline", "RSA", "CR", "DIR", "FairSHAP")
_CHANGES_TEST_ROWS = ("RSA", "CR", "DIR")
_SIGNED = ("dr", "dp", "eo")
_PAIR = ("Baseline", "FairSHAP")
# On a large table each method is a job of its own, but for the two that share a model.
_APART = (_PAIR, ("RSA",), ("CR",), ("DIR",))
# What a job takes, in fits of the model.
_FITS = {_PAIR: 4.0, ("RSA",): 1.2, ("CR",): 4.0, ("DIR",): 2.5, METHODS: 12.0}

_CENSUS = (
    "Census KDD: the paper's figures are an artefact. Its code drops repeated rows, numbers the features "
    "anew and joins them by number with the attributes and labels of other people, on a tenth of the rows; "
    "the model sees noise and says the majority. The line *the paper's artefact* makes the same mistake; "
    "the other line has the right join, over the whole table."
)


def plan(options: Options) -> list[Job]:
    """Return the jobs: all methods with seed 1, and the baseline and FairSHAP with the other seeds."""
    jobs = []
    for key in options.settings:
        large = SETTINGS[key].large
        for methods in _APART if large else (METHODS,):
            jobs += _folds(options, key, "whole", 1, methods)
        if large:
            jobs += _folds(options, key, "artefact", 1, METHODS)
        for seed in range(1 if large else 2, options.seeds + 1):
            jobs += _folds(options, key, SETTINGS[key].part, seed, _PAIR)
    return jobs


def _folds(options: Options, key: str, part: Part, seed: int, methods: tuple[str, ...]) -> list[Job]:
    cost = SETTINGS[key].seconds * _FITS[methods] * (1.0 if part == "whole" else 0.1)
    return [
        Job(
            f"{key}/{part}/seed {seed}/fold {fold}/{'+'.join(methods)}",
            measure_methods,
            (key, part, seed, fold, options.folds, methods, options.random_state),
            cost,
        )
        for fold in range(options.folds)
    ]


def measure_methods(
    key: str, part: Part, seed: int, number: int, n_folds: int, methods: tuple[str, ...], random_state: int
) -> list[Record]:
    """Return what some of the methods achieve on one fold."""
    fold = Fold.load(key, part, seed, number, n_folds, random_state)
    # FairSHAP explains the model of the baseline.
    model = fit_model(fold.X, fold.y) if {"Baseline", "FairSHAP"} & set(methods) else None
    lines: list[Record] = []
    for method in methods:
        if method == "Baseline":
            found = judge(model, fold)
        elif method == "FairSHAP":
            edited = repair(fold, model).X
            found = judge(fit_model(edited, fold.y), fold) | changes_of(fold.X, edited)
        else:
            rows, test_rows = transform_rows(method, fold)
            sees = method != "RSA"
            found = judge(fit_model(rows, fold.y), fold, test_rows, sees_attribute=sees)
            found |= changes_of(fold.X, rows) if sees else {}
        names = {"setting": key, "part": part, "model": fold.names["model"], "method": method}
        lines += records_of(found, **names, seed=seed, fold=number)
    return lines


def finish(records: list[Record], options: Options) -> Findings:
    """Return the table beside the paper's, and the signs."""
    first = [line for line in records if line["seed"] == 1 and line["part"] != "tenth"]
    compared = _in_order(compare(summarize(first, "main")))
    signs = changes_over_seeds(records)
    changes_test = {method: "yes" if method in _CHANGES_TEST_ROWS else "no" for method in METHODS}
    columns = (*MEASURES, "fidelity", "training_ar")
    page = [
        "# The main table",
        f"{options.folds} folds, seed 1, XGBoost with its defaults. {LEGEND} Fidelity is the mean distance "
        "that a feature moved; TestAN says whether test rows must be changed too.",
        table_of(compared, columns, {"TestAN": changes_test}),
    ]
    if any(SETTINGS[key].large for key in options.settings):
        page.append(_CENSUS)
    wide = compared.assign(label=labels_of(compared))
    return Findings(
        frames={"main": compared, "main_folds": detail(records), "main_signs": signs},
        pages={"main": "\n\n".join(page) + "\n", "main_signs": _signs_page(signs, options)},
        figures={
            "main": lambda: draw_comparison(wide, METHODS, ("accuracy", "dr", "dp", "eo")),
            "main_signs": lambda: draw_changes(signs, _SIGNED),
        },
        summary={
            **far_count(compared),
            "dr_reduction": _reductions(compared),
            "baselines_within_1_std": _near_baselines(compared),
        },
    )


def _in_order(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the lines by setting, part and method, in the paper's order; a job may hold one method only."""
    parts = ["whole", "tenth", "artefact"]
    keys = {"setting": list(SETTINGS), "part": parts, "method": list(METHODS)}
    order = np.lexsort([compared[name].map(known.index) for name, known in reversed(keys.items())])
    return compared.iloc[order].reset_index(drop=True)


def changes_over_seeds(records: list[Record]) -> pd.DataFrame:
    """Return how FairSHAP changes DR, DP and EO: the mean over seeds with a 95 % interval.

    A seed gives one change, the mean over its folds. The interval is Student's; it says what other folds of
    the same table would give, not other tables. A large table is taken by its tenth, for all seeds.
    """
    frame = detail(records)
    part = {key: known.part for key, known in SETTINGS.items()}
    frame = frame[frame["method"].isin(_PAIR) & (frame["part"] == frame["setting"].map(part))]
    frame = frame[frame["metric"].isin(_SIGNED)]
    means = frame.groupby(["setting", "part", "metric", "method", "seed"], sort=False)["value"].mean()
    by_seed = means.unstack("method")
    paper = published("main").set_index(["dataset", "sensitive", "metric", "method"])["mean"]
    lines = []
    key: Any
    for key, group in by_seed.groupby(["setting", "part", "metric"], sort=False):
        setting, rows, metric = key
        change = (group["FairSHAP"] - group["Baseline"]).to_numpy()
        n = len(change)
        half = stats.t.ppf(0.975, n - 1) * change.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        known = SETTINGS[setting]
        reported = [paper.get((known.dataset, known.sensitive, metric, method), np.nan) for method in _PAIR]
        lines.append(
            {
                "setting": setting,
                "part": rows,
                "label": label_of(setting, rows),
                "metric": metric,
                "baseline": group["Baseline"].mean(),
                "change": change.mean(),
                "low": change.mean() - half,
                "high": change.mean() + half,
                "seeds": n,
                "paper_baseline": reported[0],
                "paper_change": reported[1] - reported[0],
            }
        )
    signs = pd.DataFrame(lines)
    order = np.lexsort([signs["metric"].map(_SIGNED.index), signs["setting"].map(list(SETTINGS).index)])
    return signs.iloc[order].reset_index(drop=True)


def _signs_page(signs: pd.DataFrame, options: Options) -> str:
    header = ["setting", "metric", "baseline", "change (95 % interval)", "relative", "sign"]
    header += ["the paper's change"]
    lines = [
        [
            line["label"],
            line["metric"].upper(),
            f"{line['baseline']:.4f}",
            f"{line['change']:+.4f} ({line['low']:+.4f} to {line['high']:+.4f})",
            f"{line['change'] / line['baseline']:+.0%}",
            sign(line["low"], line["high"]),
            f"{line['paper_change']:+.4f}",
        ]
        for _, line in signs.iterrows()
    ]
    text = (
        f"FairSHAP less the baseline, the mean over {options.folds} folds, for {options.seeds} seeds of the "
        "folds from 1 on. The interval is over the seeds: what other folds of the same table would give. "
        "The sign is unclear where the interval holds 0."
    )
    if (signs["part"] == "tenth").any():
        text += (
            " Census KDD: the right join, on the paper's sample of a tenth of the rows, since five seeds "
            "on all rows would take half an hour; the paper's change there is that of its artefact."
        )
    return "\n\n".join(["# What FairSHAP changes, over seeds", text, markdown(header, lines)]) + "\n"


def sign(low: float, high: float) -> str:
    """Return what an interval says of a change.

    Examples
    --------
    >>> sign(-0.2, -0.1), sign(-0.1, 0.2)
    ('falls', 'unclear')
    """
    if high < 0:
        return "falls"
    return "rises" if low > 0 else "unclear"


def _reductions(compared: pd.DataFrame) -> dict[str, float]:
    """Return by what share FairSHAP lowers DR."""
    risk = compared[compared["metric"] == "dr"].pivot(
        index=["setting", "part"], columns="method", values="mean"
    )
    share = 1 - risk["FairSHAP"] / risk["Baseline"]
    return {label_of(setting, part): round(float(share[setting, part]), 4) for setting, part in share.index}


def _near_baselines(compared: pd.DataFrame) -> dict[str, bool]:
    """Return for which settings all figures of the baseline are within one deviation of the paper's."""
    lines = compared[(compared["method"] == "Baseline") & compared["metric"].isin(MEASURES)]
    near = (lines["difference"].abs() <= 1).groupby([lines["setting"], lines["part"]], sort=False).all()
    return {label_of(setting, part): bool(near[setting, part]) for setting, part in near.index}


EXPERIMENT = Experiment("main", "seven settings, five methods", plan, finish)
