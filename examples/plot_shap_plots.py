"""
Draw an explanation with shap
=============================

fairshap computes Shapley values of a *risk*: how far a score moves if only the sensitive attribute changes.
They can be handed to the shap package, whose plots many people know.
"""

# %%
# Explain
# -------
# The steps alone: match every row with a similar one of the other group, explain, look. Nothing is edited.

import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from fairshap import ColumnEncoder, datasets, explain, match

german = datasets.load("german")
X, y, who = german.X, german.y, {"sensitive": german.sensitive, "privileged": german.privileged}
model = make_pipeline(ColumnEncoder(), HistGradientBoostingClassifier(max_iter=30, random_state=0)).fit(X, y)
explanation = explain(model, X, match(X, y, **who), y=y, **who, random_state=0)
print(explanation)

# %%
# The values of a row add up to its risk less the risk of its reference.

total = explanation.values.sum(axis=1) - (explanation.risk - explanation.reference_risk)
print("largest deviation:", f"{np.nanmax(np.abs(total)):.0e}")

# %%
# Beeswarm
# --------
# To the right: the value of this column raises the risk of the row. To the left: it protects the row.

values = explanation.to_shap()
plt.figure()
shap.plots.beeswarm(values, max_display=8, show=False, plot_size=(6, 3.5))
plt.tight_layout()

# %%
# Waterfall
# ---------
# The row with the highest risk. The plot starts at the risk of the reference and ends at that of the row.

riskiest = int(np.nanargmax(explanation.risk))
plt.figure()
shap.plots.waterfall(values[riskiest], max_display=8, show=False)
plt.gcf().set_size_inches(6, 3.5)
plt.tight_layout()

# %%
# The row beside its reference:

reference = int(explanation.match_plan.reference[explanation.match_plan.row == riskiest][0])
X.iloc[[riskiest, reference]].T.set_axis(["row", "reference"], axis=1)

# %%
# Bars by column
# --------------

plt.figure()
shap.plots.bar(values, max_display=8, show=False)
plt.gcf().set_size_inches(6, 3)
plt.tight_layout()

# %%
# fairshap's own plot splits the same values by group.

ax = explanation.plot(threshold=0.05)
