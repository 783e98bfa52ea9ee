"""Partitions of a Dask frame are repaired as the whole table is, by any number of processes."""

import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import fairshap.dask
from fairshap import FairSHAP, Repairer, datasets
from fairshap.attribution import _explain

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")


@pytest.mark.parametrize("scheduler", ["synchronous", "processes"])
def test_partitions_are_repaired_as_the_table_is(scheduler, monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)
    d = datasets.make_mixed(300)
    model = HistGradientBoostingClassifier(max_iter=15, random_state=0)
    repair = FairSHAP(model, sensitive="group", privileged="a", threshold=0.03, random_state=0)
    expected, _ = repair.fit_resample(d.X, d.y)
    frame = d.X.assign(hired=d.y)
    repairer = Repairer.fit(repair, frame, target="hired")
    ddf = dd.from_pandas(frame, npartitions=2)
    # An empty partition is no trouble.
    ddf = dd.concat([ddf, ddf[ddf["age"] > 500]])
    with dask.config.set(scheduler=scheduler, num_workers=2):
        found, ledger = dask.compute(*fairshap.dask.repair(ddf, repairer))
    # Dask has a text type of its own.
    assert found.dtypes.equals(ddf.dtypes)
    expected = expected.assign(hired=d.y)
    pd.testing.assert_frame_equal(found.astype(expected.dtypes), expected)
    edits = repair.edits_
    assert ledger.index.tolist() == edits.row.tolist()
    assert ledger["column"].tolist() == edits.column
    assert ledger["phi"].tolist() == edits.phi.tolist()
    assert ledger["reference"].tolist() == edits.reference.tolist()
