"""Raw columns as players: risk and accuracy on held-out folds, before and after retraining.

The peer is the model without repair. It shows where a repair of raw columns without twins, as in the paper,
lowers the risk of the retrained model and where it does not, and what twins of the edited rows do about it.
Five folds, XGBoost, T = 0.05; one JSON line at the end.
"""

import json

import numpy as np
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import FairSHAPClassifier, datasets, metrics


def run(name: str) -> dict[str, float]:
    """Return the mean accuracy and risk over the folds, before and after."""
    data = datasets.load(name)
    who = {"sensitive": data.sensitive, "privileged": data.privileged}
    rows = []
    for train, test in KFold(5, shuffle=True, random_state=1).split(data.X):
        X, y = data.X.iloc[test], data.y.iloc[test]
        plain, twins = (
            FairSHAPClassifier(XGBClassifier(), **who, augment=augment, holdout=None).fit(
                data.X.iloc[train], data.y.iloc[train]
            )
            for augment in (None, "edited")
        )
        models = (plain.repair_.model_, plain, twins)
        rows.append(
            [metrics.accuracy(y, model.predict(X)) for model in models]
            + [metrics.discriminative_risk(model, X, **who) for model in models]
        )
    names = [f"{measure}_{when}" for measure in ("accuracy", "risk") for when in ("before", "after", "twins")]
    return dict(zip(names, np.mean(rows, axis=0).round(4).tolist(), strict=True))


def main() -> None:
    results = {name: run(name) for name in ("german", "compas", "adult")}
    for name, result in results.items():
        for measure in ("accuracy", "risk"):
            before, after, twins = (result[f"{measure}_{when}"] for when in ("before", "after", "twins"))
            print(f"{name:8} {measure:8} {before:.4f} -> {after:.4f}, with twins {twins:.4f}")
    ratios = {name: round(r["risk_after"] / r["risk_before"], 3) for name, r in results.items()}
    print(json.dumps({"benchmark": "raw_columns", "ratio_of_risk": ratios, **results}))


if __name__ == "__main__":
    main()
