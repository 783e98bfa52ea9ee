"""
Three classes and sample weights
================================

A target can have more than two classes, and the rows of a survey have weights. Here applicants are refused,
put on a waiting list or hired, and each row stands for a number of people.
"""

# %%
# The table
# ---------
# The embedded tables have two classes, so we make a third one: applicants with little skill who were not
# hired are refused, the others wait.

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from fairshap import FairSHAP, FairSHAPClassifier, audit, datasets, metrics

biased = datasets.make_biased(2500, random_state=0)
skilled = biased.X["skill"] > -1
y = np.select([biased.y == 1, skilled], ["hired", "waiting"], "refused")
weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
X, X_test, y, y_test, weight, weight_test = train_test_split(biased.X, y, weight, random_state=0)
pd.Series(y, name="decision").value_counts()

# %%
# Repair
# ------
# With several classes, the risk of a row is half the sum of the absolute changes of its probabilities.
# Weights reach the model that is explained and the one that is trained again. Here the retrained model has to
# keep the sensitive column (``drop_sensitive=False``).

who = {"sensitive": biased.sensitive, "privileged": biased.privileged}
repair = FairSHAP(LogisticRegression(max_iter=500), **who, threshold=0.02, random_state=0)
model = FairSHAPClassifier(repair, drop_sensitive=False).fit(X, y, sample_weight=weight)
print(model.repair_.explanation_)
model.repair_.edits_.frame()["column"].value_counts()

# %%

ax = model.repair_.explanation_.plot(threshold=0.02)

# %%
# Look before you deploy
# ----------------------
# Once edits have removed what stood for the group, a retrained model can turn to the group itself, and its
# risk can rise. It does so here. Counterfactual rows prevent that: each edited row is added once more with
# the group switched, and the two share its weight.

augmented = FairSHAPClassifier(clone(repair).set_params(counterfactuals="edited"), drop_sensitive=False)
augmented.fit(X, y, sample_weight=weight)
models = {"before": model.repair_.model_, "edits": model, "edits, counterfactuals": augmented}
for name, fitted in models.items():
    risk = metrics.discriminative_risk(fitted, X_test, **who)
    accuracy = fitted.score(X_test, y_test, sample_weight=weight_test)
    print(f"{name}: accuracy {accuracy:.3f}, risk {risk:.3f}")

# %%
# Audit each class
# ----------------
# With several classes there is no favorable label unless you name one. Without it, each class has a table of
# its own: here the rate at which each group is predicted it, weighted.

evidence = audit(
    model.repair_.model_, X_test, y_test, **who, sample_weight=weight_test, target="decision", random_state=0
)
for table in evidence.groupings[0].labels:
    rates = {line.group: round(line.selection_rate.value, 2) for line in table.outcomes}
    print(table.label, rates)
