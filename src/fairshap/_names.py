"""The names that options and parameters share: without any import, so that the help of a command is quick."""

#: What each name of a method stands for.
METHODS: dict[str, str] = {
    "baseline": "no mitigation",
    "rsa": "the sensitive column dropped",
    "cr": "correlation with it removed",
    "reweighing": "rows weighted by group and label",
    "rsa-reweighing": "the same, and the column dropped",
    "rsa-reweighing-squared": "the same with squared weights",
    "rsa-weights": "the column dropped, rows weighted by group and label with searched strengths",
    "counterfactuals": "every row added with the attribute switched",
    "correction": "a rule that corrects for what proxies tell of the group, without the column",
    "rsa-soft-labels": "the column dropped, each row with either label, weighted as such a rule has it",
    "exponentiated-gradient": "trained under demographic parity by fairlearn, without the column",
    "grid-search": "the same by fairlearn's grid search",
    "thresholds": "a threshold for each group by fairlearn",
    "error-parity": "the same by the package error-parity",
    "fairshap": "the cells that carry the risk replaced",
    "fairshap-counterfactuals": "the same, and edited rows added with the attribute switched",
    "fairshap-parity": "cells replaced where that narrows the gap, and the column dropped",
    "fairshap-reweighing": "the same, and rows weighted by group and label",
    "fairshap-cr": "correlation removed after fairshap",
    "fairshap-exponentiated-gradient": "fairlearn's exponentiated gradient after fairshap",
    "fairshap-grid-search": "fairlearn's grid search after fairshap",
    "fairshap-thresholds": "fairlearn's thresholds after fairshap",
    "fairshap-error-parity": "those of error-parity after fairshap",
}

#: The families of candidates that ``tune`` tries; the baseline and dropping the column are always among them.
FAMILIES = ("plain", "weights", "cells", "labels", "corrections", "peers")

#: What can be made small by one word, and what the limit of a search can be on: names of measures.
MINIMIZE = (
    "fairness",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "discriminative_risk",
    "flips",
    "fprd",
    "pqp",
)
SCORING = ("accuracy", "balanced_accuracy", "auc", "ap", "log_loss", "brier")
