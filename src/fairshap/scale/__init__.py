"""Repairs beyond one table in memory: a repairer for batches, data sets of files, and mergeable sums."""

from fairshap.scale._dataset import DatasetRepair, audit_dataset, repair_dataset
from fairshap.scale._repairer import RepairedBatch, Repairer
from fairshap.scale._sums import Sums

__all__ = ["DatasetRepair", "RepairedBatch", "Repairer", "Sums", "audit_dataset", "repair_dataset"]
