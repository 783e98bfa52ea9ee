"""
Repair a table, read the ledger, deploy the model
=================================================

A data scientist wants to know which cells of a training table make a model use the sex of a person, to
replace them, and to put the retrained model into production without a single training row inside.
"""

# %%
# Repair and retrain
# ------------------
# ``FairSHAP`` repairs the table. ``FairSHAPClassifier`` repairs it and trains the model again. Keep rows for
# the test that no step has seen.

import tempfile
from pathlib import Path

import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from fairshap import Edits, FairSHAP, FairSHAPClassifier, datasets, metrics

compas = datasets.load("compas")
X, X_test, y, y_test = train_test_split(
    compas.X, compas.y, train_size=2500, stratify=compas.y, random_state=0
)
who = {"sensitive": "sex", "privileged": "Male"}
repair = FairSHAP(HistGradientBoostingClassifier(max_iter=30, random_state=0), **who, random_state=0)
model = FairSHAPClassifier(repair).fit(X, y)
print(model.repair_.edits_)

# %%
# Read the ledger
# ---------------
# Every edit has a line: the row, the column, the old and the new value, the Shapley value of the risk that
# the cell carried (``phi``), and the row of a similar person of the other group that the new value comes
# from.

ledger = model.repair_.edits_.frame()
ledger.nlargest(5, "phi")

# %%
# Most edits are in few columns.

ledger["column"].value_counts()

# %%
# Each dot of the plot is a row. What lies to the right of the threshold is replaced.

ax = model.repair_.explanation_.plot(threshold=model.repair_.threshold_)

# %%
# The ledger is a file that a colleague can check and apply again. It refuses a table whose old values differ.
# It holds values of people, so treat it like the table.

folder = Path(tempfile.mkdtemp())
model.repair_.edits_.write(folder / "edits.csv")
X_fair = Edits.read(folder / "edits.csv").apply(X)
print("cells that differ:", int((X_fair != X).to_numpy().sum()), "of", X.size)

# %%
# Did it help?
# ------------
# Test on rows as they were recorded. ``repair_.model_`` is the model before the repair. The retrained model
# never sees the column, so switching the sex cannot move its scores. That alone says nothing about the gaps
# between the groups, so look at those too.

for name, fitted in (("before", model.repair_.model_), ("after", model)):
    predicted = fitted.predict(X_test)
    gap = metrics.demographic_parity_difference(y_test, predicted, sensitive_features=X_test["sex"])
    risk = metrics.discriminative_risk(fitted, X_test, **who)
    print(f"{name}: accuracy {fitted.score(X_test, y_test):.3f}, risk {risk:.3f}, gap {gap:.3f}")

# %%
# What to deploy
# --------------
# Deploy ``estimator_``: the retrained model, an ordinary scikit-learn pipeline that takes rows without the
# sensitive column. skops writes it without pickle, and names the types that a reader has to trust.

served = X_test.drop(columns="sex")
skops.io.dump(model.estimator_, folder / "model.skops")
trusted = skops.io.get_untrusted_types(file=folder / "model.skops")
loaded = skops.io.load(folder / "model.skops", trusted=trusted)
print((loaded.predict(served) == model.predict(X_test)).all())
print(*trusted, sep="\n")

# %%
# No training row travels. The whole predictor can be saved too: it then keeps totals of the repair, and what
# is known of single rows stays behind.

whole = skops.io.dumps(model)
copy = skops.io.loads(whole, trusted=skops.io.get_untrusted_types(data=whole))
print(copy.repair_.summary_["edits_by_column"])
try:
    copy.repair_.edits_  # noqa: B018
except AttributeError as error:
    print(error)
