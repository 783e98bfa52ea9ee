"""``models``: FairSHAP with other classifiers than XGBoost."""

import time
from typing import Any

import pandas as pd

from fairshap._figures.reproduction import draw_comparison
from fairshap.reproduction._classifiers import CLASSIFIERS, UnavailableError, fit_classifier, why_not
from fairshap.reproduction._experiment import Experiment, Findings, Job, Options, Record
from fairshap.reproduction._measuring import MEASURES, Fold, judge, records_of, repair
from fairshap.reproduction._published import published
from fairshap.reproduction._settings import SETTINGS
from fairshap.reproduction._tables import (
    LEGEND,
    cell,
    compare,
    detail,
    far_count,
    label_of,
    markdown,
    summarise,
)
from fairshap.reproduction._versions import version_of

METHODS = ("Baseline", "FairSHAP")
_SETTINGS = ("german:sex", "compas:sex")


def plan(options: Options) -> list[Job]:
    """Return a job for each fold and classifier of the paper's two tables."""
    keys = [key for key in options.settings if key in _SETTINGS]
    # What cannot be had is an argument: when it can, the job is another one.
    reasons = {name: why_not(name) for name in CLASSIFIERS} if keys else {}
    versions = {name: version_of(CLASSIFIERS[name].package) for name in reasons}
    return [
        Job(
            f"{key}/{name}/fold {fold}",
            measure_model,
            (key, name, fold, options.folds, options.random_state, reason, versions[name]),
            SETTINGS[key].seconds * (0.01 if reason else CLASSIFIERS[name].fits),
        )
        for key in keys
        for name, reason in reasons.items()
        for fold in range(options.folds)
    ]


def measure_model(
    key: str, name: str, number: int, n_folds: int, random_state: int, reason: str = "", _: str = ""
) -> list[Record]:
    """Return the baseline and FairSHAP with one classifier on one fold of seed 1, or why there is none.

    The last argument is the version of its package: with another one it is another job.
    """
    names: dict[str, Any] = {"setting": key, "part": "whole", "model": name, "seed": 1, "fold": number}
    try:
        if reason:
            raise UnavailableError(reason)
        return _measure(Fold.load(key, "whole", 1, number, n_folds, random_state), names)
    except UnavailableError as error:
        return [{**names, "method": method, "metric": "none", "reason": str(error)} for method in METHODS]


def _measure(fold: Fold, names: dict[str, Any]) -> list[Record]:
    name, seed = names["model"], fold.random_state
    model = fit_classifier(name, fold.X, fold.y, seed)
    start = time.process_time()
    repaired = repair(fold, model)
    seconds = time.process_time() - start
    edits = repaired.edits_
    after = fit_classifier(name, edits.apply(fold.X), fold.y, seed)
    found = judge(after, fold, fold.X_test) | {
        "edits": len(edits),
        "largest_phi": repaired.attributions_.values.max(),
        "exact_rows": (repaired.attributions_.status == "exact").mean(),
        "repair_seconds": seconds,
    }
    lines = records_of(judge(model, fold, fold.X_test), **names, method="Baseline")
    return lines + records_of(found, **names, method="FairSHAP")


def finish(records: list[Record], options: Options) -> Findings:
    """Return the table beside the paper's, with a line for each classifier that cannot be had."""
    measured = [line for line in records if "reason" not in line]
    # A classifier that failed on one fold is not shown by the others.
    absent = {(line["setting"], line["model"]): line["reason"] for line in records if "reason" in line}
    measured = [line for line in measured if (line["setting"], line["model"]) not in absent]
    compared = compare(summarise(measured, "models")) if measured else pd.DataFrame()
    compared = pd.concat([compared, *map(_absent_lines, absent)], ignore_index=True)
    compared["reason"] = [absent.get(pair, "") for pair in _pairs(compared)]
    order = {name: k for k, name in enumerate(CLASSIFIERS)}
    compared = compared.sort_values(
        ["setting", "model"],
        key=lambda column: column.map(list(SETTINGS).index if column.name == "setting" else order),
        kind="stable",
    ).reset_index(drop=True)
    labels = [f"{label_of(setting)}, {model}" for setting, model in _pairs(compared)]
    drawn = compared.assign(label=labels)
    text = (
        f"{options.folds} folds, seed 1, each classifier with its library's defaults; the paper has the "
        f"first three. {LEGEND} Edits and the largest attribution are means over the folds; the CPU seconds "
        "are those of matching and attribution, of the quickest fold: the first ones load compiled code."
    )
    quickest = {
        pair: min(line["value"] for line in measured if _is_seconds(line, *pair))
        for pair in dict.fromkeys((line["setting"], line["model"]) for line in measured)
    }
    page = ["# Other classifiers", text, _table(compared, quickest), _what_it_shows(compared)]
    return Findings(
        frames={"models": compared, "models_folds": detail(records)},
        pages={"models": "\n\n".join(page) + "\n"},
        figures={"models": lambda: draw_comparison(drawn, METHODS, ("accuracy", "dr", "dp", "eo"))},
        summary={
            **far_count(compared),
            "not_available": {f"{label_of(key)}, {name}": reason for (key, name), reason in absent.items()},
        },
    )


def _pairs(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(frame["setting"], frame["model"], strict=True))


def _absent_lines(pair: tuple[str, str]) -> pd.DataFrame:
    """Return the lines of a classifier that cannot be had: the paper's figures, if any, without ours."""
    setting, model = pair
    known = SETTINGS[setting]
    paper = published("models")
    lines = paper[
        (paper["dataset"] == known.dataset)
        & (paper["sensitive"] == known.sensitive)
        & (paper["model"] == model)
    ]
    if lines.empty:
        lines = pd.DataFrame(
            [
                {"table": "models", "dataset": known.dataset, "sensitive": known.sensitive, "model": model,
                 "method": method, "metric": metric}
                for method in METHODS
                for metric in MEASURES
            ]
        ).assign(mean=float("nan"), std=float("nan"))  # fmt: skip
    return lines.rename(columns={"mean": "paper_mean", "std": "paper_std"}).assign(
        setting=setting, part="whole", mean=float("nan"), std=float("nan"), n=0, difference=float("nan")
    )


def _is_seconds(line: Record, setting: str, model: str) -> bool:
    return line["metric"] == "repair_seconds" and (line["setting"], line["model"]) == (setting, model)


def _table(compared: pd.DataFrame, seconds: dict[tuple[str, str], float]) -> str:
    header = ["setting", "model", "method", *(m if m == "accuracy" else m.upper() for m in MEASURES)]
    header += ["edits", "largest phi", "seconds"]
    lines = []
    key: Any
    for key, group in compared.groupby(["setting", "model", "method"], sort=False):
        setting, model, method = key
        by_metric = {line["metric"]: line for _, line in group.iterrows()}
        reason = group["reason"].iloc[0]
        cells = [cell(by_metric[metric]) for metric in MEASURES]
        extra = [f"not available: {reason}", "", ""] if reason else ["", "", ""]
        if "edits" in by_metric:
            extra = [
                f"{by_metric['edits']['mean']:.0f}",
                f"{by_metric['largest_phi']['mean']:.3f}",
                f"{seconds[setting, model]:.2f}",
            ]
        lines.append([label_of(setting), model, method, *cells, *extra])
    return markdown(header, lines)


def _what_it_shows(compared: pd.DataFrame) -> str:
    """Return what the figures say, in words."""
    means = compared.dropna(subset="mean").pivot_table(
        index=["setting", "model"], columns=["method", "metric"], values="mean", sort=False
    )
    if means.empty:
        return "None of the classifiers can be had here."
    change = means["FairSHAP", "dr"] / means["Baseline", "dr"] - 1
    fell = change[change < 0]
    others = [
        f"{model} on {label_of(setting)} ({change[setting, model]:+.0%}, "
        f"{means['FairSHAP', 'edits'][setting, model]:.0f} edits a fold, the largest attribution "
        f"{means['FairSHAP', 'largest_phi'][setting, model]:.3f})"
        for setting, model in change[change >= 0].index
    ]
    text = f"FairSHAP lowers DR with {len(fell)} of {len(change)} classifiers and tables"
    if len(fell):
        text += f", by {-fell.max():.0%} to {-fell.min():.0%}"
    text += f"; it does not with {', '.join(others)}. " if others else ". "
    costs = means["FairSHAP", "accuracy"] - means["Baseline", "accuracy"]
    text += f"Accuracy changes by {costs.min():+.4f} to {costs.max():+.4f}. "
    exact = means["FairSHAP", "exact_rows"].min()
    if exact == 1:
        return text + (
            "Every attribution is exact, also where the model has to be asked, as SVM and MLP have: rows "
            "differ from their reference in few features, so that all coalitions can be asked for."
        )
    return text + f"At least {exact:.1%} of the rows of each are solved exactly, the others estimated."


MODELS = Experiment(
    "models", "seven classifiers", plan, finish, ("matplotlib",), ("xgboost", "lightgbm", "tabpfn", "torch")
)
