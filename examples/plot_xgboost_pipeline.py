"""
Your own XGBoost pipeline with categories
=========================================

A team has a pipeline in production: imputation, one-hot encoding and XGBoost. It wants to keep that pipeline,
repair the raw table that goes into it, and train it again.
"""

# %%
# The pipeline
# ------------
# The table has strings, numbers and missing values. The pipeline encodes them for itself.

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from fairshap import FairSHAP, FairSHAPClassifier, datasets, metrics

adult = datasets.load("adult")
X, X_test, y, y_test = train_test_split(
    adult.X, adult.y, train_size=4000, test_size=4000, stratify=adult.y, random_state=0
)
numbers = make_column_selector(dtype_include="number")
categories = make_column_selector(dtype_exclude="number")
pipeline = make_pipeline(
    make_column_transformer(
        (SimpleImputer(strategy="median"), numbers),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=20), categories),
    ),
    XGBClassifier(n_estimators=60, max_depth=4, n_jobs=1, random_state=0),
)
X.dtypes  # noqa: B018

# %%
# Explain it on raw columns
# -------------------------
# The pipeline goes in as it is. The values belong to the raw columns, and not to dozens of dummies. ``route``
# says how they were found: here fairshap walks XGBoost's trees behind the encoding, and calls nothing.

who = {"sensitive": "sex", "privileged": "Male"}
model = FairSHAPClassifier(FairSHAP(pipeline, **who, threshold=0.03, random_state=0))
model.fit(X, y)
print(model.repair_.explanation_)
print(model.repair_.explanation_.route)

# %%
# An edit replaces the value of a raw column, so no row ends up with two categories or with none. Categories
# and numbers are edited alike.

ledger = model.repair_.edits_.frame()
ledger[ledger["column"] == ledger["column"].mode()[0]].nlargest(4, "phi")

# %%

ax = model.repair_.explanation_.plot(threshold=0.03)

# %%
# The retrained pipeline
# ----------------------
# ``estimator_`` is a pipeline of the same kind, fitted again. Its step names are those of yours. The pipeline
# selects columns by their type when it is fitted, so it can be trained without the sensitive column.

print([name for name, _ in model.estimator_.steps])
for name, fitted in (("before", model.repair_.model_), ("after", model)):
    decided = fitted.predict(X_test)
    gap = metrics.demographic_parity_difference(y_test, decided, sensitive_features=X_test["sex"])
    risk = metrics.discriminative_risk(fitted, X_test, **who)
    print(f"{name}: accuracy {fitted.score(X_test, y_test):.3f}, risk {risk:.4f}, gap {gap:.3f}")
