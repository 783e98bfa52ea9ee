"""FairSHAP as a classifier: consult, repair, retrain."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fairshap._typing import Floats, Native
from fairshap.estimators._retraining import Retrainer


def _inner_has(method: str) -> Any:
    """Say whether the retrained estimator has a method; before the fit, whether the given one has."""

    def check(self: "FairSHAPClassifier") -> bool:
        inner = self.estimator_ if hasattr(self, "estimator_") else self._estimator()
        getattr(inner, method)
        return True

    return check


class FairSHAPClassifier(ClassifierMixin, Retrainer):
    """A classifier that is trained on the table that :class:`FairSHAP` repaired.

    Nothing is changed when predicting. If the sensitive attribute is given beside the table
    (``sensitive_features``), only the consulted model sees it, and the one that predicts never does.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier that is consulted and then retrained; None is scikit-learn's
        ``HistGradientBoostingClassifier``. A fitted model in ``sklearn.frozen.FrozenEstimator`` is
        consulted as it is, and a clone of it is retrained.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table; several make a group of each combination
        that occurs, and ``privileged`` is a tuple.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged.
    threshold : float, default=None
        The smallest attribution that leads to an edit, a change of probability; None is 0.05. "auto" finds
        one on folds of the table.
    strategy, budget, max_rounds, guard, column_thresholds
        Which cells are replaced; see :class:`FairSHAP`.
    frozen, editable, max_row_edits, direction, plausible
        What may be edited; see :class:`FairSHAP`.
    augment : {"auto", None, "edited", "all"} or float, default="auto"
        Which rows get counterfactual twins, whose weights are passed on to the fit, also through a pipeline
        and a search. "auto" is "edited" where the attribute is a column of the table: once edits have taken
        away what stood for the attribute, a model turns to the attribute itself, and twins leave it no use
        for it. An estimator that does not use weights, which is found out on a few rows before the repair,
        then gets no twins; if they are asked for, rows are repeated instead. A warning says so.
    holdout : float or None, default="auto"
        The share of the rows on which the repaired model is held against the model as it is, both trained on
        the rest: a warning says if it is measurably worse. That takes one more repair; None leaves it out.
        "auto" is 0.2, of 500 rows at least, for an estimator that is not frozen.
    positive : label, default=None
        Which of the labels is the positive one; by default the larger of two. Risk, and so every
        edit, is the same for any; it is kept for what is measured and reported afterwards.
    bins : int, default=None
        For labels that are numbers: match rows of one of so many quantile bins instead of one label.
    comparison : {"max", "mean", "random"}, default="max"
        What the risk is where there are more than two groups; see
        :func:`fairshap.metrics.discriminative_risk`.
    matching : str or object, default="nearest"
        How rows are matched: "nearest", "emd", "sinkhorn" or "sliced", a matcher such as
        ``fairshap.matching.Nearest(k=5)``, or any object with a method ``match``; see :func:`fairshap.match`.
    pairing : {"pooled", "each"}, default="pooled"
        Whether a privileged row has one reference in all unprivileged groups or one in each; see
        :func:`fairshap.match`.
    min_group_size : int, default=None
        Unprivileged groups of fewer rows are taken as one; by default 10 for several columns.
    players : mapping or list of lists, default=None
        Columns that are switched as one.
    method : {"auto", "exact", "permutation"}, default="auto"
        How attributions are computed; see :func:`fairshap.attribute`.
    max_exact : int, default=None
        With "auto", rows that differ from their reference in more players than this are estimated; by
        default 20 where the model's trees can be walked, and 12 where it is called.
    n_permutations : int, default=128
        How many random orders an estimate is drawn from at most, each walked in both directions; fewer
        where each value is clear of the threshold by its error.
    random_state : int, RandomState instance or None, default=None
        The source of those orders, and the default estimator's.
    n_jobs : int, default=None
        How many threads match and attribute; all cores by default. The result is the same for any
        number. The estimator has its own parameter.
    verbose : int, default=0
        From 1 on, a bar shows how far it is where that takes over two seconds.

    Attributes
    ----------
    repair_ : FairSHAP
        The fitted sampler, with the ledger, the attributions, the matches and the consulted model.
    estimator_ : classifier
        The retrained classifier, which predicts.
    classes_ : ndarray, shape (classes,)
        The labels.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    See Also
    --------
    FairSHAP : The repair alone.
    FairSHAPRegressor : The same for a quantity.

    Examples
    --------
    >>> from fairshap import FairSHAPClassifier, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> clf = FairSHAPClassifier(sensitive=d.sensitive, privileged=d.privileged, random_state=0).fit(d.X, d.y)
    >>> clf.predict(d.X).shape
    (400,)
    """

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Native) -> Floats:
        """Return the probabilities of the labels for each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(self._checked(X)))

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Native) -> Floats:
        """Return the margin of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(self._checked(X)))
