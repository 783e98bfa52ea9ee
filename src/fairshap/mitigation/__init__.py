"""Baselines: what people would use instead of FairSHAP.

Each takes ``sensitive`` and ``privileged`` as FairSHAP does and says by ``transforms_test_rows`` whether
the rows that are predicted must be transformed too:

======================================  ==============================  ===================  =================
class                                   what it does                    what it is           test rows
======================================  ==============================  ===================  =================
:class:`SensitiveRemover`               drops the sensitive column      transformer          transformed
:class:`CorrelationRemover`             removes linear correlation      transformer          transformed
:class:`DisparateImpactRemover`         makes quantiles equal           transformer          transformed
:class:`Reweigher`                      weighs groups and labels        weights              as they are
:class:`CounterfactualAugmenter`        adds a switched twin            sampler              as they are
======================================  ==============================  ===================  =================

:class:`BaselineClassifier` trains any classifier after any of them, or after FairSHAP, and predicts raw rows.
"""

from fairshap.mitigation._classifier import BaselineClassifier, Prepared, prepare
from fairshap.mitigation._correlation import CorrelationRemover
from fairshap.mitigation._impact import DisparateImpactRemover
from fairshap.mitigation._removal import SensitiveRemover
from fairshap.mitigation._reweighing import Reweigher
from fairshap.mitigation._twins import CounterfactualAugmenter

__all__ = [
    "SensitiveRemover",
    "CorrelationRemover",
    "DisparateImpactRemover",
    "Reweigher",
    "CounterfactualAugmenter",
    "BaselineClassifier",
    "Prepared",
    "prepare",
]
