"""WIP"""

from fairshap import datasets, exceptions, matching, metrics
from fairshap.attribution import Explainer, Explanation, explain
from fairshap.edits import Budget, EditConstraints, Edits, Iterative, OptimalSubset, Threshold, select_edits
from fairshap.estimators import FairSHAP
from fairshap.matching import MatchPlan, match
from fairshap._models import ColumnEncoder
from fairshap.predictors import FairSHAPClassifier, FairSHAPRegressor

__version__ = "0.1.0"
