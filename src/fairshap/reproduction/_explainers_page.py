"""What is made of the records of ``explainers``."""

from typing import Any

import numpy as np
import pandas as pd

from fairshap._figures.explainers import draw_explainers
from fairshap._figures.reproduction import draw_comparison
from fairshap.reproduction._experiment import Findings, Options, Record
from fairshap.reproduction._measuring import MEASURES
from fairshap.reproduction._published import published
from fairshap.reproduction._settings import SETTINGS
from fairshap.reproduction._tables import (
    LEGEND,
    compare,
    detail,
    far_count,
    label_of,
    markdown,
    summarise,
    table_of,
)

#: The method that enumerates.
EXACT = "Exact (ours)"


def finish(records: list[Record], options: Options) -> Findings:
    """Return cost and error on the sample, and the paper's table."""
    costs = compare_costs([line for line in records if line["part"] == "sample"])
    whole = [line for line in records if line["part"] == "whole"]
    compared = compare(summarise(whole, "explainers"))
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
