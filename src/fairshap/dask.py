"""The same repair on Dask: the batch function under ``map_partitions``. It needs the extra ``dask``."""

from typing import Any, NamedTuple

import pandas as pd

from fairshap.scale import Repairer
from fairshap.scale._repairer import EDITS, FIELDS, with_edits

__all__ = ["DaskRepair", "repair"]


class DaskRepair(NamedTuple):
    """A repaired Dask frame, and its ledger; both are made when they are computed.

    Examples
    --------
    >>> import dask
    >>> import dask.dataframe as dd
    >>> from fairshap import FairSHAP, Repairer, datasets
    >>> from fairshap.dask import repair
    >>> d = datasets.make_biased(200, random_state=0)
    >>> table = d.X.assign(hired=d.y)
    >>> sampler = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = Repairer.fit(sampler, table, target="hired")
    >>> repaired = repair(dd.from_pandas(table, npartitions=2), repairer)
    >>> fair, edits = dask.compute(repaired.ddf, repaired.edits)
    >>> len(fair), "phi" in edits
    (200, True)
    """

    ddf: Any
    edits: Any


def repair(ddf: Any, repairer: Repairer) -> DaskRepair:
    """Return a Dask frame repaired, and the ledger.

    Every partition is repaired by itself, with the model and the references that the repairer holds. Compute
    or persist both together, so that rows are repaired once: ``dask.compute(*repair(ddf, repairer))``.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        The rows, with the repairer's columns and its target. Other columns are passed through.
    repairer : Repairer
        What :meth:`Repairer.fit` returned, with ``target`` named. It is sent to every worker, and it holds
        people's data.

    Returns
    -------
    DaskRepair
        ``ddf`` has the columns, types, index and partitions of the given frame. ``edits`` has for each edit,
        by the row's index label, ``column``, ``old``, ``new``, ``phi``, ``reference``, ``old_type`` and
        ``new_type``; values are text.

    Examples
    --------
    >>> import dask
    >>> import dask.dataframe as dd
    >>> from fairshap import FairSHAP, Repairer, datasets
    >>> from fairshap.dask import repair
    >>> d = datasets.make_biased(200, random_state=0)
    >>> table = d.X.assign(hired=d.y)
    >>> sampler = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = Repairer.fit(sampler, table, target="hired")
    >>> fair, edits = dask.compute(*repair(dd.from_pandas(table, npartitions=2), repairer))
    >>> fair.shape == table.shape
    True
    >>> len(edits) == len(sampler.fit(d.X, d.y).edits_)
    True
    """
    meta = ddf._meta
    meta_of_both = meta.assign(**{EDITS: pd.Series(dtype=object)})
    both = ddf.map_partitions(with_edits, repairer, meta=meta_of_both)
    ledger = both.map_partitions(_ledger, meta=_ledger(meta_of_both))
    return DaskRepair(both.map_partitions(lambda part: part.drop(columns=EDITS), meta=meta), ledger)


def _ledger(part: pd.DataFrame) -> pd.DataFrame:
    """Return one line for each edit of a partition."""
    edits = part[EDITS].explode().dropna()
    frame = pd.DataFrame(edits.tolist(), columns=list(FIELDS), index=edits.index)
    texts = [name for name in FIELDS if name not in ("phi", "reference")]
    return frame.astype({**dict.fromkeys(texts, "str"), "phi": "float64", "reference": "int64"})
