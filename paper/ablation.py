"""``ablation``: as many edits as FairSHAP makes, in cells that are drawn."""

import numpy as np
from sklearn.utils.random import sample_without_replacement

from paper.figures import draw_comparison
from paper.jobs import Experiment, Findings, Job, Options, Record
from paper.methods import MEASURES, fit_model, judge, records_of, repair
from paper.settings import SETTINGS, Fold, Part
from paper.tables import LEGEND, compare, detail, far_count, labels_of, summarize, table_of

METHODS = ("Baseline", "Ablation study 1", "Ablation study 2", "FairSHAP")


def plan(options: Options) -> list[Job]:
    """Return a job for each fold of the five tables with sex; of Census KDD, a tenth, joined both ways."""
    jobs = []
    for key in options.settings:
        known = SETTINGS[key]
        if known.sensitive != "sex":
            continue
        parts: tuple[Part, ...] = ("tenth", "artefact") if known.large else ("whole",)
        jobs += [
            Job(
                f"{key}/{part}/fold {fold}",
                measure_ablations,
                (key, part, fold, options.folds, options.seeds, options.random_state),
                known.part_seconds * (4 + 2.4 * options.seeds),
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
    repaired = repair(fold, model)
    n_edits, best = len(repaired.edits), repaired.explanation.match_plan.best

    def judged(method: str, rows: np.ndarray, draw: int) -> list[Record]:
        found = judge(fit_model(rows, fold.y), fold) | {"edits": n_edits}
        return records_of(found, **fold.names, method=method, draw=draw)

    lines = records_of(judge(model, fold), **fold.names, method="Baseline", draw=0)
    # Each fold draws other cells too.
    seeds = [random_state + 1000 * draw + number for draw in range(n_draws)]
    for draw, seed in enumerate(seeds):
        lines += judged("Ablation study 1", edit_randomly(fold.X, fold.sensitive, n_edits, seed), draw)
    for draw, seed in enumerate(seeds):
        lines += judged("Ablation study 2", edit_by_match(fold.X, best, fold.sensitive, n_edits, seed), draw)
    return lines + judged("FairSHAP", repaired.X, 0)


def edit_randomly(X: np.ndarray, sensitive: int, n_edits: int, seed: int) -> np.ndarray:
    """Return the rows with random cells replaced by the value of a random row that has another one.

    The sensitive column is left alone. Every edit changes its cell, as FairSHAP's do; in the paper's
    description a replaced cell may keep its value.
    """
    rng = np.random.RandomState(seed)
    editable = np.setdiff1d(np.flatnonzero((X[0] != X).any(axis=0)), [sensitive])
    row, place = np.divmod(_draw(len(X) * len(editable), n_edits, rng), len(editable))
    column = editable[place]
    reference = np.empty_like(row)
    chance = rng.random_sample(n_edits)
    for j in np.unique(column):
        chosen = column == j
        reference[chosen] = rows_with_another(X[:, j], row[chosen], chance[chosen])
    return _replaced(X, row, column, reference)


def edit_by_match(X: np.ndarray, best: np.ndarray, sensitive: int, n_edits: int, seed: int) -> np.ndarray:
    """Return the rows with random cells replaced by the value of the row's reference.

    Cells are drawn from those that differ from the reference's, the sensitive column aside, so that every
    edit changes its cell. The published code draws from all cells.
    """
    rows = np.flatnonzero(best >= 0)
    differ = X[rows] != X[best[rows]]
    differ[:, sensitive] = False
    cells = np.flatnonzero(differ)
    at, column = np.divmod(cells[_draw(len(cells), n_edits, np.random.RandomState(seed))], X.shape[1])
    return _replaced(X, rows[at], column, best[rows[at]])


def rows_with_another(values: np.ndarray, rows: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return for each row one of those that hold another value; all are equally likely."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    # In the order of the values, the rows with the same one are a run, which is jumped over.
    order = np.argsort(codes, kind="stable")
    size = counts[codes[rows]]
    start = (np.cumsum(counts) - counts)[codes[rows]]
    n_others = len(values) - size
    place = np.minimum((chance * n_others).astype(np.int64), n_others - 1)
    return order[np.where(place >= start, place + size, place)]


def _draw(n_cells: int, n_edits: int, rng: np.random.RandomState) -> np.ndarray:
    return np.sort(sample_without_replacement(n_cells, n_edits, random_state=rng)).astype(np.int64)


def _replaced(X: np.ndarray, row: np.ndarray, column: np.ndarray, reference: np.ndarray) -> np.ndarray:
    edited = X.copy()
    edited[row, column] = X[reference, column]
    return edited


def finish(records: list[Record], options: Options) -> Findings:
    """Return the table beside the paper's."""
    compared = compare(summarize(records, "ablation"))
    shown = compared[compared["metric"].isin(MEASURES)]
    wide = shown.assign(label=labels_of(shown))
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


EXPERIMENT = Experiment("ablation", "as many edits in cells that are drawn", plan, finish)
