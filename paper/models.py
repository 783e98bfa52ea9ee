"""``models``: FairSHAP with other classifiers than XGBoost."""

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from paper.figures import draw_comparison
from paper.jobs import Experiment, Findings, Job, Options, Record, version_of
from paper.methods import MEASURES, judge, make_model, records_of, repair
from paper.settings import SETTINGS, Fold
from paper.tables import (
    LEGEND,
    cell,
    compare,
    detail,
    far_count,
    label_of,
    markdown,
    published,
    summarize,
    title_of,
)

METHODS = ("Baseline", "FairSHAP")
_SETTINGS = ("german:sex", "compas:sex")


class UnavailableError(Exception):
    """A classifier that is not available here; the text says why."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """A kind of model with its library's defaults.

    Parameters
    ----------
    make : callable
        From a seed to an unfitted classifier.
    package : str
        Its package.
    fits : float
        The approximate cost of a fit and a repair, in fits of XGBoost.
    """

    make: Callable[[int], Any]
    package: str
    fits: float


def _svm(seed: int) -> Any:
    # scikit-learn will drop this way to probabilities; the paper's figures have it.
    if "probability" not in SVC().get_params():
        raise UnavailableError("this version of scikit-learn has no SVC with probabilities of its own")
    return SVC(probability=True, random_state=seed)


def _tabpfn(seed: int) -> Any:
    from tabpfn import TabPFNClassifier
    from tabpfn.constants import ModelVersion

    # The paper's version; later ones want a license to be accepted in a browser.
    return TabPFNClassifier.create_default_for_version(ModelVersion.V2, random_state=seed)


def _lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


#: The paper's three first.
CLASSIFIERS: dict[str, Classifier] = {
    "XGBoost": Classifier(lambda _: make_model(), "xgboost", 4),
    "SVM": Classifier(_svm, "sklearn", 300),
    "TabPFN": Classifier(_tabpfn, "tabpfn", 1000),
    "Logistic regression": Classifier(lambda _: LogisticRegression(), "sklearn", 1),
    "Random forest": Classifier(
        lambda seed: RandomForestClassifier(random_state=seed, n_jobs=1), "sklearn", 25
    ),
    "LightGBM": Classifier(_lightgbm, "lightgbm", 4),
    "MLP": Classifier(lambda seed: MLPClassifier(random_state=seed), "sklearn", 100),
}


def fit_classifier(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Return a fitted classifier; UnavailableError says why there is none."""
    with warnings.catch_warnings():
        # About coming removals, and about a network that has not converged within its default iterations.
        warnings.simplefilter("ignore")
        if name != "TabPFN":
            return CLASSIFIERS[name].make(seed).fit(X, y)
        try:
            # It logs its attempts to download its weights.
            logging.disable(logging.WARNING)
            return CLASSIFIERS[name].make(seed).fit(X, y)
        except Exception as error:
            # The hub, its client and the package raise errors of their own, and without a GPU the package
            # refuses many rows. Their texts hold paths of this machine.
            raise UnavailableError(
                f"it could not be fitted on {len(y)} rows with weights from its hub ({type(error).__name__})"
            ) from error
        finally:
            logging.disable(logging.NOTSET)


def why_not(name: str) -> str:
    """Return why a classifier is not available, or an empty text.

    It is tried on a few rows, because only then does TabPFN load its weights.

    Examples
    --------
    >>> why_not("MLP")
    ''
    """
    package = CLASSIFIERS[name].package
    if find_spec(package) is None:
        return f"the package {package} is not installed"
    if name not in ("TabPFN", "SVM"):
        return ""
    X = np.arange(40.0).reshape(20, 2) % 7
    try:
        fit_classifier(name, X, np.arange(20) % 2, 0)
    except UnavailableError as error:
        return str(error)
    return ""


def plan(options: Options) -> list[Job]:
    """Return a job for each fold and classifier of the paper's two tables."""
    keys = [key for key in options.settings if key in _SETTINGS]
    # The reason why one is not available is an argument: once it is, the job is another one.
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
    fold = Fold.load(key, "whole", 1, number, n_folds, random_state)
    names = {**fold.names, "model": name}
    try:
        if reason:
            raise UnavailableError(reason)
        return _measure(fold, names)
    except UnavailableError as error:
        return [{**names, "method": method, "metric": "none", "reason": str(error)} for method in METHODS]


def _measure(fold: Fold, names: dict[str, Any]) -> list[Record]:
    name, seed = names["model"], fold.random_state
    model = fit_classifier(name, fold.X, fold.y, seed)
    start = time.process_time()
    repaired = repair(fold, model)
    seconds = time.process_time() - start
    after = fit_classifier(name, repaired.X, fold.y, seed)
    found = judge(after, fold) | {
        "edits": len(repaired.edits),
        "largest_phi": repaired.explanation.values.max(),
        "exact_rows": (repaired.explanation.status == "exact").mean(),
        "repair_seconds": seconds,
    }
    lines = records_of(judge(model, fold), **names, method="Baseline")
    return lines + records_of(found, **names, method="FairSHAP")


def finish(records: list[Record], options: Options) -> Findings:
    """Return the table beside the paper's, with a line for each classifier that is not available."""
    measured = [line for line in records if "reason" not in line]
    # A classifier that failed on one fold is not shown by the others.
    absent = {(line["setting"], line["model"]): line["reason"] for line in records if "reason" in line}
    measured = [line for line in measured if (line["setting"], line["model"]) not in absent]
    compared = compare(summarize(measured, "models")) if measured else pd.DataFrame()
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
        f"first three. {LEGEND} Edits and the largest Shapley value are means over the folds; the CPU "
        "seconds are those of matching and explaining, of the quickest fold: the first ones load compiled "
        "code."
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
    """Return the lines of a classifier that is not available: the paper's figures, if any, without ours."""
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
    header = ["setting", "model", "method", *map(title_of, MEASURES), "edits", "largest phi", "seconds"]
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
        f"{means['FairSHAP', 'edits'][setting, model]:.0f} edits a fold, the largest Shapley value "
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
            "Every Shapley value is exact, also where the model has to be asked, as SVM and MLP have: rows "
            "differ from their reference in few features, so that all coalitions can be asked for."
        )
    return text + f"At least {exact:.1%} of the rows of each are solved exactly, the others estimated."


EXPERIMENT = Experiment(
    "models", "seven classifiers", plan, finish, ("matplotlib",), ("xgboost", "lightgbm", "tabpfn", "torch")
)
