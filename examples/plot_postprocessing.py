"""
Compare with post-processing
============================

A threshold for each group closes a gap without touching the data. It needs the attribute of everyone who is
decided about, and it treats equal people differently. This example puts both on the table, side by side.
"""

# %%
# The remedies
# ------------
# ``evaluate`` trains all of them on the same folds. ``None`` is the baseline, the other objects are ordinary
# estimators. ``ThresholdClassifier`` hands the work to fairlearn.

from sklearn.linear_model import LogisticRegression

from fairshap import FairSHAP, FairSHAPClassifier, datasets, evaluate
from fairshap.mitigation import MitigatedClassifier, SensitiveRemover, ThresholdClassifier

biased = datasets.make_biased(1200, random_state=0)
who = {"sensitive": biased.sensitive, "privileged": biased.privileged}
model = LogisticRegression()
repair = FairSHAP(model, **who, threshold="relative", random_state=0)
result = evaluate(
    biased.X,
    biased.y,
    model,
    **who,
    methods={
        "baseline": None,
        "drop the column": MitigatedClassifier(SensitiveRemover(**who), model),
        "edits, soft labels": FairSHAPClassifier(repair),
        "thresholds": ThresholdClassifier(model, **who, random_state=0),
        "thresholds within 0.1": ThresholdClassifier(model, **who, tol=0.1, random_state=0),
    },
    n_folds=3,
    random_state=0,
)
print(result)
result.frame()[["method", "accuracy", "dp", "eo", "dr", "flips"]].round(3)

# %%
# Read the last column. ``flips`` is the share of decisions that change if only the group changes. Thresholds
# close the gap in selection rates (``dp``), and in return many decisions depend on the group alone. The
# repaired model does not see the group, so none of its decisions does.

axes = result.plot()

# %%
# Is the difference more than chance?
# -----------------------------------
# Both models are measured on the same rows. An interval without 0 says that they differ.

shown = ["method", "accuracy", "accuracy_low", "accuracy_high", "dp", "dp_low", "dp_high"]
result.differences()[shown].round(3)

# %%
# The groups behind the gap
# -------------------------

result.groups("thresholds").round(3)

# %%
# Which one is right is no question of statistics. Different thresholds for different groups are different
# treatment, and in many places the law has a say in that. Ask before you deploy them.
