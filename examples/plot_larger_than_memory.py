"""
Larger than memory
==================

A table of many Parquet files does not fit into memory. ``repair_dataset`` reads it twice, file by file: once
to fit a model and to choose references, and once to repair. The example is small, but the calls are the same
for any size.
"""

# %%
# Some files
# ----------
# ``make_mixed`` makes any part of an endless table, so the files can be written one by one.

import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingClassifier

from fairshap import FairSHAP, datasets, repair_dataset

folder = Path(tempfile.mkdtemp())
(folder / "people").mkdir()
for part in range(3):
    rows = datasets.make_mixed(800, first_row=part * 800)
    rows.X.assign(hired=rows.y).to_parquet(folder / "people" / f"part-{part}.parquet", row_group_size=400)
print(sorted(path.name for path in (folder / "people").iterdir()))

# %%
# Repair them
# -----------
# The seed is an integer, so that an interrupted run can go on where it stopped. ``max_memory`` is in GiB.
# ``max_references`` limits the rows that others are matched with.

repair = FairSHAP(
    HistGradientBoostingClassifier(max_iter=30, random_state=0),
    sensitive="group",
    privileged="a",
    random_state=0,
)
done = repair_dataset(
    folder / "people", folder / "fair", repair, target="hired", max_references=300, max_memory=2.0
)
print(done)

# %%
# What the rows add up to
# -----------------------
# The figures of all batches are exact sums. They describe the model that was explained, on its own training
# rows.

done.sums.frame()[["accuracy", "dr", "dp", "eo"]].round(3)

# %%
# What is in the folder
# ---------------------
# Files, row groups and types stay the same. The ledgers are in ``_ledger``, one for each file.

for path in sorted((folder / "fair").rglob("*")):
    if path.is_file():
        print(path.relative_to(folder / "fair").as_posix())

# %%

first, second = (pq.ParquetFile(folder / name / "part-0.parquet") for name in ("people", "fair"))
print(first.schema_arrow.equals(second.schema_arrow), first.num_row_groups == second.num_row_groups)

# %%
# Calling it again changes nothing: every file is in the manifest with its checksum.

manifest = json.loads((folder / "fair" / "_fairshap" / "manifest.json").read_text())
print(sorted(manifest))
