"""
Several groups and their intersections
======================================

Women and men may be treated alike on average, and so may people of each race, while one combination of the
two is not. This example audits combinations and repairs with respect to them.
"""

# %%
# Audit two attributes
# --------------------
# A list of columns gives a table for each attribute and one for their combinations. Rates of small groups are
# uncertain: groups under 30 rows are listed and not compared.

import warnings

from sklearn.linear_model import LogisticRegression

from fairshap import EditConstraints, Explainer, FairSHAP, audit, datasets, metrics

compas = datasets.load("compas")
rows = compas.X.sample(3000, random_state=0).index
X, y = compas.X.loc[rows], compas.y.loc[rows]
who = {"sensitive": ["sex", "race"], "privileged": ("Female", "Caucasian")}
evidence = audit(
    LogisticRegression(max_iter=1000),
    X,
    y,
    **who,
    positive=0,
    target="two_year_recid",
    favorable="no",
    n_folds=2,
    random_state=0,
)
print(evidence.answers.for_whom)

# %%
# ``positive=0`` says that the favorable outcome is a prediction of no recidivism. The impact ratio compares
# each combination with the most favored one of those that are large enough to compare.

tables = evidence.to_ll144()
print(list(tables))
list(tables.values())[-1].round(3)

# %%
# A star marks a group under 30 rows; its interval is wide.

ax = evidence.plot_outcomes()

# %%
# Repair with respect to combinations
# -----------------------------------
# ``FairSHAP`` makes a group of each combination that occurs. ``min_group_size`` pools groups of fewer rows,
# and a warning names them; we catch it here to print it. ``comparison`` says which difference is the risk of
# a row: the largest over all groups, or their mean.

repair = FairSHAP(
    LogisticRegression(max_iter=1000),
    **who,
    threshold="relative",
    min_group_size=50,
    explainer=Explainer(comparison="mean"),
    constraints=EditConstraints(frozen=["age"]),
    random_state=0,
)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    X_fair, _ = repair.fit_resample(X, y)
print(*[warning.message for warning in told], repair.explanation_, repair.edits_, sep="\n")

# %%
# Neither attribute is edited, and neither is ``age``, which we froze.

repair.edits_.frame()["column"].value_counts()

# %%
# ``metrics.group_frame`` needs no model: it makes rates by combination from labels and predictions. These are
# the rates on the training rows, before the repair.

groups = (X["sex"] + " / " + X["race"]).rename("group")
metrics.group_frame(y, repair.model_.predict(X), sensitive_features=groups).round(2)
