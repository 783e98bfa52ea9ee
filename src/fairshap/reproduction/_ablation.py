"""``ablation``: as many edits as FairSHAP makes, in cells that are drawn."""

from typing import Any

from fairshap._figures.reproduction import draw_comparison
from fairshap.reproduction._experiment import Experiment, Findings, Job, Options, Record
from fairshap.reproduction._measuring import (
    MEASURES,
    MODEL,
    Fold,
    edit_rows,
    fit_model,
    judge,
    records_of,
    repair,
)
from fairshap.reproduction._settings import SETTINGS, Part
from fairshap.reproduction._tables import LEGEND, compare, detail, far_count, label_of, summarise, table_of

_DRAWN = ("Ablation study 1", "Ablation study 2")
METHODS = ("Baseline", *_DRAWN, "FairSHAP")


def plan(options: Options) -> list[Job]:
    """Return a job for each fold of the five tables with sex; of Census KDD, a tenth, joined both ways."""
    jobs = []
    for key in options.settings:
        known = SETTINGS[key]
        if known.sensitive != "sex":
            continue
        parts: tuple[Part, ...] = ("tenth", "artefact") if known.large else ("whole",)
        cost = known.seconds * (0.1 if known.large else 1.0) * (4 + 2.4 * options.seeds)
        jobs += [
            Job(
                f"{key}/{part}/fold {fold}",
                measure_ablations,
                (key, part, fold, options.folds, options.seeds, options.random_state),
                cost,
            )
            for part in parts
            for fold in range(options.folds)
        ]
    return jobs


def measure_ablations(
    key: str, part: Part, number: int, n_folds: int, n_draws: int, random_state: int
) -> list[Record]:
    """Return the baseline, FairSHAP and several draws of both ablations on one fold of seed 1."""
    fold = Fold.load(key, part, 1, number, n_folds, random_state)
    model = fit_model(fold.X, fold.y)
    edits = repair(fold, model).edits_
    names: dict[str, Any] = {"setting": key, "part": part, "model": MODEL, "seed": 1, "fold": number}

    def judged(method: str, rows: Any, draw: int) -> list[Record]:
        found = judge(fit_model(rows, fold.y), fold, fold.X_test) | {"edits": len(edits)}
        return records_of(found, **names, method=method, draw=draw)

    lines = records_of(judge(model, fold, fold.X_test), **names, method="Baseline", draw=0)
    for method in _DRAWN:
        for draw in range(n_draws):
            # Folds differ in what is drawn too.
            seed = random_state + 1000 * draw + number
            lines += judged(method, edit_rows(method, fold, len(edits), seed), draw)
    return lines + judged("FairSHAP", edits.apply(fold.X), 0)


def finish(records: list[Record], options: Options) -> Findings:
    """Return the table beside the paper's."""
    compared = compare(summarise(records, "ablation"))
    shown = compared[compared["metric"].isin(MEASURES)]
    labels = [label_of(*names) for names in zip(shown["setting"], shown["part"], strict=True)]
    wide = shown.assign(label=labels)
    text = (
        f"{options.folds} folds, seed 1, XGBoost with its defaults; both ablations make as many edits as "
        f"FairSHAP does, in cells that are drawn, {options.seeds} times for each fold (the paper: once). "
        f"Study 1 puts in a value of the same column, study 2 that of the matched reference. {LEGEND}"
    )
    if any(SETTINGS[key].large for key in options.settings):
        text += (
            " Census KDD is the paper's sample of a tenth of the rows: joined rightly, and with the "
            "paper's mistake, see the main table."
        )
    return Findings(
        frames={"ablation": compared, "ablation_folds": detail(records)},
        pages={"ablation": "\n\n".join(["# The ablations", text, table_of(shown, MEASURES, {})]) + "\n"},
        figures={"ablation": lambda: draw_comparison(wide, METHODS, ("accuracy", "dr", "dp", "eo"))},
        summary=far_count(compared),
    )


ABLATION = Experiment("ablation", "as many edits in cells that are drawn", plan, finish)
