"""Repair COMPAS and see what it did: fairness before and after, the largest edits, and the files.

Needs nothing but the core install: ``python examples/demo.py --out demo-output``.
"""

import argparse
import os
import time
from pathlib import Path

import pandas as pd
from sklearn.model_selection import train_test_split

from fairshap import FairSHAPClassifier, datasets, metrics

# What each number means, in the order of the table that is printed.
MEANINGS = {
    "accuracy": "share of right predictions (higher is better)",
    "DR": "change of the prediction when only sex changes",
    "DP": "gap in the rate of positive predictions",
    "EO": "gap in the true positive rate",
    "PQP": "gap in precision",
}


def measure(model, X: pd.DataFrame, y: "pd.Series[int]", data: datasets.Dataset) -> dict[str, float]:
    predicted = model.predict(X)
    groups = {"sensitive_features": X[data.sensitive], "privileged": data.privileged}
    return {
        "accuracy": metrics.accuracy(y, predicted),
        "DR": metrics.discriminative_risk(model, X, sensitive=data.sensitive, privileged=data.privileged),
        "DP": metrics.demographic_parity(y, predicted, **groups),
        "EO": metrics.equal_opportunity(y, predicted, **groups),
        "PQP": metrics.predictive_quality_parity(y, predicted, **groups),
    }


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write aside, then rename: a run that is stopped leaves no half a file."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    frame.to_csv(aside, index=False)
    aside.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the two files")
    out = parser.parse_args().out
    data = datasets.load("compas")
    train, test, y_train, y_test = train_test_split(
        data.X, data.y, test_size=0.3, random_state=0, stratify=data.y
    )
    print(f"{data.description}")
    print(
        f"Trained on {len(train):,} rows, measured on {len(test):,} others; sensitive column "
        f"{data.sensitive!r}, privileged {data.privileged!r}.\n"
    )
    start = time.perf_counter()
    classifier = FairSHAPClassifier(
        sensitive=data.sensitive, privileged=data.privileged, threshold=0.05, random_state=0
    ).fit(train, y_train)
    seconds = time.perf_counter() - start
    repair = classifier.repair_

    before = measure(repair.model_, test, y_test, data)
    after = measure(classifier, test, y_test, data)
    print(f"{'held-out rows':14} {'before':>8} {'after':>8}")
    for name, meaning in MEANINGS.items():
        print(f"{name:14} {before[name]:8.4f} {after[name]:8.4f}   {meaning}")

    edits = repair.edits_.frame()
    exact = (repair.attributions_.status == "exact").mean()
    print(
        f"\n{len(edits)} of {train.size:,} cells ({len(edits) / train.size:.2%}) were replaced, in "
        f"{edits['row'].nunique()} rows; consulted, repaired and retrained in {seconds:.1f} s "
        f"({exact:.0%} of the rows exactly).\n"
    )
    print("The ten largest edits:")
    for edit in edits.nlargest(10, "phi").itertuples():
        sex = train[data.sensitive].iloc[edit.row].lower()
        print(
            f"  row {edit.index}, {sex}: {edit.column} {edit.old} -> {edit.new}, from row "
            f"{train.index[edit.reference]} of the other group; it adds {edit.phi:.3f} to the risk"
        )
    out.mkdir(parents=True, exist_ok=True)
    repaired = repair.edits_.apply(train).assign(**{data.y.name: y_train})
    write_csv(repaired, out / "compas-repaired.csv")
    repair.edits_.write(out / "compas-edits.csv")
    print(f"\nWritten: {out / 'compas-repaired.csv'} and {out / 'compas-edits.csv'} (the ledger).")


if __name__ == "__main__":
    main()
