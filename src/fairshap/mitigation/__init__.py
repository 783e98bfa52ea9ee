"""Mitigation: what people would use instead of FairSHAP.

``transforms_test_rows`` of each class says whether the rows to predict must be transformed as well:

======================================  ===========================================  ============  ===========
class                                   mechanism                                    kind          test rows
======================================  ===========================================  ============  ===========
:class:`SensitiveRemover`               drops the sensitive column                   transformer   transformed
:class:`CorrelationRemover`             removes linear correlation                   transformer   transformed
:class:`Reweigher`                      weights rows by group and label              weights       unchanged
:class:`CounterfactualAugmenter`        adds each row with the attribute switched    sampler       unchanged
:class:`SoftLabeler`                    adds each row with the other label           sampler       unchanged
:class:`ProxyCorrection`                corrects for what proxies tell of the group  classifier    unchanged
======================================  ===========================================  ============  ===========

:class:`MitigatedClassifier` trains any classifier after any of them or FairSHAP, and predicts raw rows. Two
more classifiers hold the groups alike by themselves: :class:`ReductionClassifier` trains under a constraint,
:class:`ThresholdClassifier` sets a threshold for each group. Their ``attribute_at_prediction`` says whether
the rows to predict must hold the attribute. A reduction after a repair is the estimator of a
``MitigatedClassifier`` whose method is a FairSHAP; thresholds after a repair have a FairSHAPClassifier as
their own estimator.

All take ``sensitive`` and ``privileged`` as :class:`fairshap.FairSHAP` does. The privileged values form one
group, every other value its own; those that only remove the attribute check them without using them. Their
methods take

X : data frame or array
    The training table, or other rows with its columns. It is never changed.
y : array-like
    The label of each row, two values. Transformers ignore it.
sensitive_features : array-like, optional
    The sensitive attribute of the rows, if it is not a column of X. Weights need no more than that; the
    others need the column.
sample_weight : array-like, optional
    The weights of the rows.
"""

from fairshap.mitigation._classifier import MitigatedClassifier
from fairshap.mitigation._parity import ParityWeigher, ProxyCorrection
from fairshap.mitigation._randomized import ReductionClassifier, ThresholdClassifier
from fairshap.mitigation._removal import CorrelationRemover, SensitiveRemover
from fairshap.mitigation._sampling import CounterfactualAugmenter, Reweigher, SoftLabeler

__all__ = [
    "SensitiveRemover",
    "CorrelationRemover",
    "Reweigher",
    "ParityWeigher",
    "CounterfactualAugmenter",
    "ProxyCorrection",
    "SoftLabeler",
    "MitigatedClassifier",
    "ReductionClassifier",
    "ThresholdClassifier",
]
