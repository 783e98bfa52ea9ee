"""
In an imbalanced-learn pipeline, with metadata routing
======================================================

``FairSHAP`` is a sampler of imbalanced-learn. It can stand in a pipeline beside other samplers, and the
pipeline edits the rows that it is fitted on, never those that it predicts.
"""

# %%
# The attribute beside the table
# ------------------------------
# Often the attribute must not be in the table. Then it travels beside it, as ``sensitive_features``, and
# scikit-learn's metadata routing takes it to the step that asks for it. Switch routing on, and say which step
# that is. ``FairSHAP`` comes first: after a sampler that removes rows, the attribute would no longer fit.

import sklearn
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import OneHotEncoder

from fairshap import FairSHAP, datasets

sklearn.set_config(enable_metadata_routing=True)

biased = datasets.make_biased(1200, random_state=0)
group = biased.X["group"]
X, y = biased.X.drop(columns="group"), biased.y

repair = FairSHAP(LogisticRegression(), privileged="a", threshold=0.02, random_state=0)
pipeline = make_pipeline(
    repair.set_fit_resample_request(sensitive_features=True),
    RandomUnderSampler(random_state=0),
    OneHotEncoder(handle_unknown="ignore"),
    LogisticRegression(),
)

# %%
# Fit and look inside
# -------------------
# Only the repair sees the attribute. The model that predicts never does.

pipeline.fit(X, y, sensitive_features=group)
print(pipeline.named_steps["fairshap"].edits_)
print(pipeline.named_steps["fairshap"].edits_.frame()["column"].value_counts().to_dict())
print("predicts from", list(pipeline[-2].feature_names_in_))

# %%
# The table was made so that the group matters in the north only. The right repair is known, and the ledger
# shows how much of it was found: edits of ``district``.
#
# Cross-validate
# --------------
# Every training part is repaired with its own part of the attribute. The test parts stay as recorded.

scores = cross_validate(pipeline, X, y, params={"sensitive_features": group}, cv=4)
print(scores["test_score"].round(3))

# %%
# Search
# ------
# The parameters of the repair can be searched like any others. The score here is accuracy, which no fairness
# measure enters: for a choice that weighs both, use :func:`fairshap.tune`.

search = GridSearchCV(pipeline, {"fairshap__threshold": [0.01, 0.02, 0.04]}, cv=3)
search.fit(X, y, sensitive_features=group)
print(search.best_params_)
print(search.cv_results_["mean_test_score"].round(3))

# %%
# Routing is a global setting; give it back as it was.

sklearn.set_config(enable_metadata_routing=False)
