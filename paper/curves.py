"""``curves``: the metrics after more and more of FairSHAP's edits."""

from typing import Any

import numpy as np
import pandas as pd

from paper.figures import draw_metric_curves, draw_reductions
from paper.jobs import Experiment, Findings, Job, Options, Record
from paper.methods import MEASURES, apply_largest, fit_model, judge, records_of, repair
from paper.settings import SETTINGS, Fold, Part
from paper.tables import (
    SPREAD_LEGEND,
    compare,
    detail,
    far_count,
    labels_of,
    markdown,
    means_of,
    published,
    spread_table,
    summarize,
)

#: A curve has this many steps, and one point more.
STEPS = 25
_SHOWN = (*MEASURES, "edits")
_REDUCTION = "dr_reduction"
_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)


def plan(options: Options) -> list[Job]:
    """Return a job for each fold of each setting; of Census KDD, a tenth."""
    jobs = []
    for key in options.settings:
        known = SETTINGS[key]
        jobs += [
            Job(
                f"{key}/{known.part}/fold {fold}",
                measure_curve,
                (key, known.part, fold, options.folds, STEPS, options.random_state),
                known.part_seconds * (STEPS + 4),
            )
            for fold in range(options.folds)
        ]
    return jobs


def measure_curve(
    key: str, part: Part, number: int, n_folds: int, n_steps: int, random_state: int
) -> list[Record]:
    """Return the metrics of one fold after more and more of its edits, the largest Shapley values first.

    A point is a share of the fold's own edits at the paper's threshold, so that all folds have all points
    and the last one is FairSHAP as in the main table.
    """
    fold = Fold.load(key, part, 1, number, n_folds, random_state)
    model = fit_model(fold.X, fold.y)
    edits = repair(fold, model).edits
    found = judge(model, fold) | {"edits": 0}
    risk = found["dr"]
    lines: list[Record] = []
    done = 0
    for step in range(n_steps + 1):
        n_edits = round(step * len(edits) / n_steps)
        if n_edits != done:
            edited = apply_largest(fold.X, edits, n_edits)
            found = judge(fit_model(edited, fold.y), fold) | {"edits": n_edits}
            done = n_edits
        names = {**fold.names, "method": method_of(step, n_steps), "share": step / n_steps}
        lines += records_of(found | {_REDUCTION: 1 - found["dr"] / risk}, **names)
    return lines


def method_of(step: int, n_steps: int) -> str:
    """Return the paper's names for the ends of a curve, and others between them.

    Examples
    --------
    >>> method_of(0, 4), method_of(1, 4), method_of(4, 4)
    ('Baseline', '25 % of the edits', 'FairSHAP')
    """
    return {0: "Baseline", n_steps: "FairSHAP"}.get(step, f"{100 * step / n_steps:g} % of the edits")


def finish(records: list[Record], options: Options) -> Findings:
    """Return the curves, and their ends beside the paper's."""
    compared = compare(summarize(records, "main"))
    compared["share"] = compared["method"].map({line["method"]: line["share"] for line in records})
    compared["label"] = labels_of(compared)
    compared = _of_means(compared)
    reductions = _reductions(compared)
    ends = compared[compared["method"].isin(["Baseline", "FairSHAP"])]
    page = [
        "# Metrics against the number of edits",
        f"{options.folds} folds, seed 1, XGBoost with its defaults. In each fold the model is asked once; "
        f"its edits at T = 0.05 are then made from the largest Shapley value on, in {STEPS} steps, and a new "
        f"model is trained at each of the {STEPS + 1} points. A point is the same share of each fold's own "
        "edits; the curves show it at the mean number of edits. The last point is FairSHAP as in the main "
        "table.",
        _sentences(compared),
        "## DR reduction",
        "By how much of the baseline's DR it is lower, of the means over the folds, with the standard "
        "deviation of the folds' own at the end; negative where DR rose. The paper's is that of the means in "
        "its main table; of its figure it says: up to 80 % on German, nearly 40 % on COMPAS, 5 % on Census "
        "KDD and around 20 % on the others.",
        _reductions_table(reductions),
        "## The ends of the curves",
        SPREAD_LEGEND,
        spread_table(ends, _SHOWN, {"label": "setting", "method": "point"}),
    ]
    if any(SETTINGS[key].large for key in options.settings):
        page.append(
            "Census KDD is the paper's sample of a tenth of the rows, joined rightly; the paper's figures "
            "beside it are those of its mistake, see the main table, and are left out of the drawings."
        )
    # The paper's figures of Census KDD are of another table: they would only stretch the axes.
    is_large = {key: known.large for key, known in SETTINGS.items()}
    drawn = compared.assign(paper_mean=compared["paper_mean"].mask(compared["setting"].map(is_large)))
    marks = reductions["paper"].mask(reductions["setting"].map(is_large))
    paper = dict(zip(reductions["label"], marks, strict=True))
    return Findings(
        frames={"curves": compared, "curves_folds": detail(records), "curves_dr_reduction": reductions},
        pages={"curves": "\n\n".join(page) + "\n"},
        figures={
            "curves_dr_reduction": lambda: draw_reductions(drawn, paper),
            "curves": lambda: draw_metric_curves(drawn, MEASURES),
        },
        summary={**far_count(compared), "points": STEPS + 1},
    )


def _of_means(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the curves with the reduction of the mean DR, as in the paper, not the mean of the folds' own.

    A fold whose model hardly uses the attribute would count as much as the others otherwise.
    """
    risk = compared[compared["metric"] == "dr"].set_index(["label", "share"])["mean"]
    of_means = (1 - risk / risk.xs(0.0, level="share").reindex(risk.index, level="label")).to_dict()
    is_reduction = compared["metric"] == _REDUCTION
    places = zip(compared["label"], compared["share"], strict=True)
    return compared.assign(mean=compared["mean"].where(~is_reduction, [of_means[place] for place in places]))


def _reductions(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the DR reduction of each setting after a part of the edits and after all, and the paper's."""
    paper = published("main")
    risk = paper[paper["metric"] == "dr"].set_index(["dataset", "sensitive", "method"])["mean"]
    lines = []
    key: Any
    for key, group in compared.groupby(["label", "setting"], sort=False):
        label, setting = key
        known = SETTINGS[setting]
        own = group[group["metric"] == _REDUCTION]
        mean, std = (dict(zip(own["share"], own[name], strict=True)) for name in ("mean", "std"))
        edits = group[(group["metric"] == "edits") & (group["share"] == 1)]["mean"].iloc[0]
        line = {"setting": setting, "label": label, "edits": edits}
        for share in _SHARES:
            line[f"at_{share:.0%}"] = mean[share]
        before, after = (risk[known.dataset, known.sensitive, name] for name in ("Baseline", "FairSHAP"))
        lines.append(line | {"std": std[1.0], "paper": 1 - after / before})
    return pd.DataFrame(lines)


def _reductions_table(reductions: pd.DataFrame) -> str:
    shares = [f"at_{share:.0%}" for share in _SHARES]
    header = ["setting", "edits", *(f"after {share:.0%} of them" for share in _SHARES), "the paper's"]
    lines = []
    for _, line in reductions.iterrows():
        cells = [f"{line[name]:.0%}" for name in shares]
        cells[-1] += f" ± {line['std']:.0%}"
        lines.append([line["label"], f"{line['edits']:.0f}", *cells, f"{line['paper']:.0%}"])
    return markdown(header, lines)


def _sentences(compared: pd.DataFrame) -> str:
    """Return how steadily DR falls, and how many edits half of the fall takes, setting by setting."""
    means = means_of(compared, ["label", "share"])
    texts = ["The paper says that DR falls consistently as edits are added. Here:", ""]
    for label in means.index.unique("label"):
        curve = means.loc[label]
        risk = curve["dr"].to_numpy()
        falls = int((np.diff(risk) < 0).sum())
        lowest = curve.index[risk.argmin()]
        text = f"- {label}: DR falls in {falls} of {len(risk) - 1} steps and is lowest after {lowest:.0%}"
        if risk[-1] < risk[0]:
            # From here on at least half of what all edits do is done.
            half = curve.index[int((risk <= (risk[0] + risk[-1]) / 2).argmax())]
            text += f" of the edits; the first {half:.0%} do half of what all of them do."
        else:
            text += " of the edits; after all of them it is not lower than before."
        texts.append(text)
    return "\n".join(texts)


EXPERIMENT = Experiment("curves", "metrics against the number of edits", plan, finish)
