"""
An encoded table and feature groups
===================================

Some tables arrive encoded: each category has become several columns of zeros and ones. A repair that edits
these columns one by one can make people who have two housing situations, or none. Naming the columns that
belong together prevents that.
"""

# %%
# The table
# ---------
# ``encoded=True`` gives the German credit table as the paper encodes it. ``feature_groups`` says which
# columns belong to one raw column. For a table of your own, write this dictionary yourself.

from sklearn.linear_model import LogisticRegression

from fairshap import Explainer, FairSHAP, datasets

german = datasets.load("german", encoded=True)
print(german.X.shape)
print({name: len(columns) for name, columns in german.feature_groups.items()})

# %%
# Column by column
# ----------------
# Without groups each dummy is a feature of its own. Count the rows in which the dummies of a raw column no
# longer add up to one.


def count_broken(X):
    """Return the rows that have several values of a raw column, or none."""
    sums = [X[columns].sum(axis=1) for columns in german.feature_groups.values()]
    return int(sum((one != 1) for one in sums).astype(bool).sum())


def repaired(explainer):
    """Return the fitted repair and its table."""
    model = LogisticRegression(C=10, max_iter=1000)
    repair = FairSHAP(
        model,
        sensitive=german.sensitive,
        privileged=german.privileged,
        threshold="relative",
        explainer=explainer,
        random_state=0,
    )
    return repair, repair.fit_resample(german.X, german.y)[0]


single, X_single = repaired(Explainer())
print(single.edits_, "rows broken:", count_broken(X_single))

# %%
# Group by group
# --------------
# With groups the dummies of a raw column are one feature: they have one Shapley value, and they are replaced
# together or not at all.

grouped, X_grouped = repaired(Explainer(feature_groups=german.feature_groups))
print(grouped.edits_, "rows broken:", count_broken(X_grouped))
print(grouped.explanation_.feature_names)

# %%
# The ledger still has a line for each cell, because the table has a column for each dummy. The two lines of a
# switched category share one Shapley value.

ledger = grouped.edits_.frame()
purpose = ledger[ledger["column"].isin(german.feature_groups["purpose"])]
purpose.head(4)

# %%

ax = grouped.explanation_.plot(threshold=grouped.threshold_)

# %%
# If you still have the raw table, use that: fairshap takes strings and categories, and no groups are needed.
