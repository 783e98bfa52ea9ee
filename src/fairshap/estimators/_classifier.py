"""FairSHAP as a classifier: consult, repair, retrain."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._typing import Floats, Native
from fairshap.estimators._base import Repairer
from fairshap.estimators._sampler import FairSHAP
from fairshap.groups import Labels, check_weights
from fairshap.models import fit_model, is_frozen
from fairshap.table import open_store


def _inner_has(method: str) -> Any:
    """Say whether the retrained estimator has a method; before the fit, whether the given one has."""

    def check(self: "FairSHAPClassifier") -> bool:
        inner = self.estimator_ if hasattr(self, "estimator_") else self._estimator()
        getattr(inner, method)
        return True

    return check


class FairSHAPClassifier(MetaEstimatorMixin, ClassifierMixin, Repairer):
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
    threshold : float, default=0.05
        The smallest attribution that leads to an edit.
    positive : label, default=None
        Which of the two labels is the positive one; by default the larger. Risk, and so every
        edit, is the same for either; it is kept for what is measured and reported afterwards.
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
    screen : bool, default=False
        Leave out the rows none of whose values can reach the threshold, which changes no edit of a row
        that is solved exactly; their values are NaN. Every row is looked at first, so that it saves
        time only where many can be left out.
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
    classes_ : ndarray, shape (2,)
        The two labels.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    See Also
    --------
    FairSHAP : The repair alone.

    Examples
    --------
    >>> from fairshap import FairSHAPClassifier, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> clf = FairSHAPClassifier(sensitive=d.sensitive, privileged=d.privileged).fit(d.X, d.y)
    >>> clf.predict(d.X).shape
    (400,)
    """

    def fit(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> "FairSHAPClassifier":
        """Consult, repair and retrain.

        Parameters
        ----------
        X : data frame or array
            The training table; categories need no encoding.
        y : array-like
            The label of each row, two values.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X.
        sample_weight : array-like, optional
            Weights for both fits.
        """
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        repair = FairSHAP(**self.get_params(deep=False))
        X_fair, y = repair.fit_resample(
            X, y, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        n_rows = repair.matches_.n_rows
        labels = Labels.read(y, n_rows, self.positive)
        sample_weight = check_weights(sample_weight, n_rows)
        estimator = self._estimator()
        if is_frozen(estimator):
            estimator = estimator.estimator
        self.estimator_ = fit_model(estimator, X_fair, labels.values, self._fit_params("fit", sample_weight))
        self.repair_ = repair
        self.classes_ = labels.classes
        return self

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(self._checked(X)))

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Native) -> Floats:
        """Return the probabilities of the two labels for each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(self._checked(X)))

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Native) -> Floats:
        """Return the margin of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(self._checked(X)))

    def _checked(self, X: Native) -> Native:
        """Return the rows to predict, which must have the columns that were fitted on."""
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this estimator takes and what it hands on to its classifier."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._estimator(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = get_tags(self._estimator()).input_tags.allow_nan
        tags.input_tags.string = True
        return tags
