"""FairSHAP as a sampler: a table in, the repaired table out."""

import copy
from typing import Any

import numpy as np
from imblearn.base import SamplerMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import validate_data

from fairshap._messages import warn
from fairshap._typing import Native
from fairshap.attribution import Options, attribute_pairs, check_threshold
from fairshap.edits import edits_at_least
from fairshap.estimators._base import Repairer
from fairshap.exceptions import ModelError, NothingToRepairWarning
from fairshap.groups import Labels, Setting, check_order, check_weights
from fairshap.matching import match_rows
from fairshap.models import Scorer, fit_model, is_frozen
from fairshap.risk import Risk
from fairshap.table import Players, open_store


class FairSHAP(SamplerMixin, Repairer):
    """Replace the few cells that make a classifier treat otherwise equal people differently.

    A classifier is fitted on the table and consulted once. Every row is matched with its nearest row
    of the other group that has the same label. The Shapley values of the row's discriminative
    risk ``|f(x, A=0) - f(x, A=1)|`` against that reference say which of its values carry the
    risk; those of at least ``threshold`` are replaced by the reference's. Both groups are treated alike.

    It is a sampler in the sense of imbalanced-learn: in an ``imblearn.pipeline.Pipeline`` it edits the
    rows that are fitted on, and never those that are predicted.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier to consult; None is scikit-learn's ``HistGradientBoostingClassifier``. One
        that cannot take the raw table is consulted behind :class:`fairshap.ColumnEncoder`. Wrap a
        fitted model in ``sklearn.frozen.FrozenEstimator`` to consult it as it is.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table; several make a group of each combination
        that occurs, and ``privileged`` is a tuple.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged. An interval or a function splits a quantity such as age, whose
        value is then compared with the median of the other side. The function is given a numpy array
        (float64, or datetime64 for dates; for categories the distinct ones, as objects) and returns as many
        booleans.
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
        Columns that are switched as one, such as the one-hot features of one category. By default each
        column is a player of its own.
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
    model_ : classifier
        The fitted classifier that was consulted.
    matches_ : MatchPlan
        The reference of each row.
    attributions_ : Attributions
        What each player adds to the risk of each row.
    edits_ : Edits
        The ledger: every edit, with why.
    positive_ : label
        The positive label.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    See Also
    --------
    FairSHAPClassifier : Consult, repair and retrain in one estimator.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged)
    >>> X_fair, y = fs.fit_resample(d.X, d.y)
    >>> X_fair.shape == d.X.shape
    True
    """

    def fit(self, X: Native, y: Any, **params: Any) -> "FairSHAP":
        """Find the edits and keep them, without returning the repaired table; see :meth:`fit_resample`."""
        self.fit_resample(X, y, **params)
        return self

    def fit_resample(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> tuple[Native, Any]:
        """Return the repaired table and the target.

        Parameters
        ----------
        X : data frame or array
            The training table; categories need no encoding.
        y : array-like
            The label of each row, two values.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X. The consulted model sees it as a last
            column; the table that comes back has the columns it came with.
        sample_weight : array-like, optional
            Weights for the fit of the consulted classifier.

        Returns
        -------
        X_fair : data frame or array
            A copy of X with the edits made: same type, rows, order, index, columns and dtypes.
        y : array-like
            A copy of the target, which is not edited.
        """
        check_threshold(self.threshold)
        options = Options(
            self.method,
            self.max_exact,
            self.n_permutations,
            self.threshold,
            self.screen,
            self.random_state,
            self.n_jobs,
            self.verbose,
        )
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        is_fitted = is_frozen(self._estimator())
        setting = Setting.read(
            X,
            self.sensitive,
            self.privileged,
            sensitive_features,
            is_fitted,
            comparison=self.comparison,
            min_group_size=self.min_group_size,
            random_state=self.random_state,
        )
        labels = Labels.read(y, setting.table.n_rows, self.positive)
        check_order(X, y, "y")
        sample_weight = check_weights(sample_weight, setting.table.n_rows)
        players = Players.read(setting.own, self.players)
        self.model_ = self._consult(setting, labels, sample_weight)
        self.positive_ = labels.classes[labels.positive]
        scorer = Scorer(self.model_)
        self.matches_ = match_rows(
            setting,
            labels,
            self.matching,
            self.pairing,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=self.random_state,
        )
        self.attributions_ = attribute_pairs(
            Risk(scorer, setting),
            self.matches_,
            players=players,
            n_rows=setting.table.n_rows,
            options=options,
        )
        self.edits_ = edits_at_least(
            self.attributions_, setting.own, setting.own, self.matches_.best, self.threshold
        )
        if not len(self.edits_):
            self._say_why_nothing(setting)
        return self.edits_.apply(X), copy.copy(y)

    def _fit_resample(self, X: Native, y: Any, **params: Any) -> tuple[Native, Any]:
        """Answer imbalanced-learn's mixin, whose own fit_resample would drop the index."""
        return self.fit_resample(X, y, **params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this estimator takes and what it hands on to its classifier."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._estimator(),
                method_mapping=MethodMapping().add(caller="fit_resample", callee="fit"),
            )
        )

    def _consult(self, setting: Setting, labels: Labels, sample_weight: Any) -> Any:
        """Return the model to consult: fitted on the table, or the fitted one that was given."""
        estimator = self._estimator()
        if not is_frozen(estimator):
            fit_params = self._fit_params("fit_resample", sample_weight)
            return fit_model(estimator, setting.table.native, labels.values, fit_params)
        takes = getattr(estimator, "n_features_in_", None)
        if setting.added and takes == len(setting.own.names):
            raise ModelError(
                f"the fitted model takes {takes} columns, those of X without {setting.groups.name!r}: "
                "it never sees the sensitive attribute, so there is nothing to repair. Consult a model "
                "that was fitted with it, or give an unfitted estimator."
            )
        return estimator

    def _say_why_nothing(self, setting: Setting) -> None:
        phi, risk = self.attributions_.values, self.attributions_.risk
        column = f"column {setting.groups.name!r}"
        if not len(self.matches_):
            reason = "no row has a reference."
        elif not (np.nanmax(risk) or np.nanmax(np.abs(phi))):
            reason = (
                f"the consulted model never uses {column}: its output is the same whatever "
                "the value. Unfairness that other columns carry is not what FairSHAP measures."
            )
        elif np.nanmax(np.abs(phi)) < 1e-12 * np.nanmax(risk):
            reason = (
                f"the risk is {np.nanmean(risk):.3g} whatever the other columns hold, as in a margin that is "
                f"linear in {column}; no edit can lower it."
            )
        else:
            reason = (
                f"no attribution reaches threshold={self.threshold}; the largest is "
                f"{np.nanmax(phi):.3g}, and the mean risk is {np.nanmean(risk):.3g}."
            )
        warn(f"There is nothing to repair: {reason}", NothingToRepairWarning)
