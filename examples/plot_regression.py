"""
Repair a regression
===================

The target can be a quantity. Here a model predicts the amount of a credit, and the risk of a row is how far
the prediction moves, in units of the target, if only the sex changes.
"""

# %%
# Repair and retrain
# ------------------
# Rows are matched within quantile bins of the target. The default threshold is 0.05 standard deviations of
# it. ``drop_sensitive=False`` keeps the column in the retrained model, so that the effect of the edits alone
# can be seen. In production you would leave it out.

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from fairshap import FairSHAP, FairSHAPRegressor, NearestMatcher, audit, datasets, metrics

german = datasets.load("german")
X, X_test, y, y_test = train_test_split(
    german.X.drop(columns="credit_amount"), german.X["credit_amount"].astype(float), random_state=0
)
who = {"sensitive": "sex", "privileged": "male"}
base = HistGradientBoostingRegressor(max_iter=50, random_state=0)
repair = FairSHAP(base, **who, matcher=NearestMatcher(bins=5), random_state=0)
after = FairSHAPRegressor(repair, drop_sensitive=False).fit(X, y)
before = after.repair_.model_
print(after.repair_.edits_)
print(f"threshold: {after.repair_.threshold_:.0f}, in units of the target")

# %%
# Before and after on held-out rows
# ---------------------------------
# A lower risk has a price, which R² shows.

for name, model in (("before", before), ("after", after)):
    risk = metrics.discriminative_risk(model, X_test, **who)
    print(f"{name}: mean risk {risk:.0f}, R2 {model.score(X_test, y_test):.3f}")

# %%
# An audit of a regression has means and errors instead of rates.

evidence = audit(after.repair_.model_, X_test, y_test, **who, target="credit amount", random_state=0)
print(evidence.answers.what_was_unfair)

# %%
# Where the edits are
# -------------------

fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
after.repair_.explanation_.plot(axes[0], threshold=after.repair_.threshold_)
evidence.plot_outcomes(axes[1])
fig.align_labels()

# %%

after.repair_.edits_.frame().nlargest(4, "phi")
