"""
Choose a remedy with tune
=========================

There are dozens of remedies, and each has a price. ``tune`` tries them by cross-validation and recommends the
simplest one that is within a standard error of the best. Its answer may well be: drop the column.
"""

# %%
# Say what counts
# ---------------
# We want a small gap in selection rates, and we can pay for it with at most two points of accuracy. The model
# will not see the attribute when it predicts. The table is made up: group ``a`` has an advantage in one
# district.

import textwrap

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from fairshap import datasets, tune

biased = datasets.make_biased(1600, random_state=0)
X, X_test, y, y_test = train_test_split(biased.X, biased.y, test_size=600, random_state=0)
tuning = tune(
    X,
    y,
    LogisticRegression(),
    sensitive=biased.sensitive,
    privileged=biased.privileged,
    minimize="demographic_parity",
    max_accuracy_drop=0.02,
    attribute_at_prediction=False,
    candidates=["plain", "weights"],
    n_folds=3,
    random_state=0,
)
print(textwrap.fill(tuning.reason, 80))

# %%
# Look at what was tried
# ----------------------
# Candidates that are surely worse are dropped after a few folds; ``n_folds`` says how many they saw.

shown = ["name", "accuracy", "dp", "eo", "dr", "n_folds", "allowed"]
tuning.frame()[shown].round(3).head(8)

# %%

ax = tuning.plot()

# %%
# Train the pick
# --------------
# ``tuning.estimator`` is the recommended classifier, not fitted yet.

model = tuning.estimator.fit(X, y)
print(f"accuracy on held-out rows: {model.score(X_test, y_test):.3f}")

# %%
# Other points of the trade-off
# -----------------------------
# The picks of the curve are chosen on the folds and measured once on the held-out rows. So the gap that was
# measured can lie above the one that was asked for.

curve = tuning.curve(X, y, X_test, y_test, at=[0.05, 0.1, 0.2], axes=["dp"])
curve.frame()[["axis", "at", "name", "level", "accuracy"]].round(3)

# %%

ax = curve.plot()
