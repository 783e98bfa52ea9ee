"""
Audit a CSV file
================

An auditor receives a CSV file of credit applications and has to say how a model that learns from it would
treat women and men. Nothing is changed here: an audit only measures.
"""

# %%
# The file
# --------
# We write the embedded German credit table to a temporary folder, so that the example has a file to read. The
# codes of ``job`` look like numbers, and pandas has to be told that they are categories.

import tempfile
import textwrap
from pathlib import Path

import pandas as pd

from fairshap import audit, datasets

folder = Path(tempfile.mkdtemp())
german = datasets.load("german")
german.X.assign(credit=german.y.map({0: "good", 1: "bad"})).to_csv(folder / "credit.csv", index=False)

table = pd.read_csv(folder / "credit.csv", dtype={"job": "category"})
y = table.pop("credit")
table.head()

# %%
# The audit
# ---------
# ``None`` stands for a model that we do not have. scikit-learn's gradient boosting then stands in for it: it
# is trained by cross-validation, and every row is judged by a model that did not see it. A fitted model of
# your own is judged as it is; give it rows that it was not trained on. ``positive`` is the favorable label.
# ``fail_if`` holds the tests that the audit has to pass.

evidence = audit(
    None,
    table,
    y,
    sensitive="sex",
    privileged="male",
    positive="good",
    target="credit",
    fail_if=["impact_ratio < 0.8", "flip_rate > 0.02"],
    n_folds=2,
    random_state=0,
)
print(textwrap.fill(evidence.answers.what_was_unfair, 80))

# %%
# Read the last sentence twice. The model's output moves when only the sex changes, but a shuffled column
# moves it by a similar amount. A small table often cannot tell the two apart, and an honest audit says so.
#
# Who gets what
# -------------
# The impact ratio compares the selection rate of a group with that of the most favored group.

evidence.to_ll144()["sex"].round(3)

# %%
# The bars of the plot are 95 % intervals. The dashed line marks four fifths of the highest rate. It is a rule
# of thumb of US employment practice, and no finding of law.

ax = evidence.plot_outcomes()

# %%
# Through which columns
# ---------------------
# Some columns stand in for the attribute (a high AUC), and some carry the risk. The two need not be the same.

print(evidence.answers.through_which_columns)

# %%
# The tests
# ---------
# A gate that fails makes ``evidence.passed`` false, so that a release can be stopped by it.

for gate in evidence.gates:
    print("passed" if gate.passed else "FAILED", gate.fails_if, gate.result, sep=" | ")
print("all passed:", evidence.passed)

# %%
# Hand it on
# ----------
# One page for people, JSON for machines, and a model card. ``redact=True`` in ``audit`` leaves out the values
# of single rows.

for name in ("audit.html", "audit.json", "model-card.md"):
    evidence.write(folder / name)
print(sorted(path.name for path in folder.iterdir()))

# %%
# The command line does the same without Python, and reads files as people have them::
#
#     fairshap audit credit.csv -t credit -s sex --positive good \
#         --report audit.html --fail-if 'impact_ratio<0.8'
