"""FairSHAP as a classifier and as a regressor: explain, repair, retrain."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter, validate_data

from fairshap._crossval.folds import strata_of
from fairshap._frames import open_store
from fairshap._messages import warn
from fairshap._models import (
    Weighing,
    copy_estimator,
    fit_model,
    fit_weighted,
    is_frozen,
    resampler_of,
    takes_quantities,
    trouble_with_either_label,
)
from fairshap._problem import Problem, read_target
from fairshap._typing import Native
from fairshap.attribution._explanation import make_explainer
from fairshap.edits import EditConstraints
from fairshap.estimators import FairSHAP, Routed
from fairshap.exceptions import FairshapError, InputError, ModelError, PooledGroupsWarning, WeightsWarning
from fairshap.mitigation import ParityWeigher, Reweigher, SoftLabeler
from fairshap.mitigation._base import Trainer
from fairshap.mitigation._parity import ParitySearch
from fairshap.mitigation._removal import remover_for
from fairshap.mitigation._sampling import with_either_label

# The accuracy that weights chosen by default may cost; see benchmarks/defaults.py.
_MAX_DROP = 0.012


class _FairSHAPPredictor(Routed, Trainer):
    """A predictor that is trained on the table that :class:`FairSHAP` repaired."""

    _caller = "fit"
    _is_regression = False

    def __init__(
        self, repair: FairSHAP | None = None, estimator: Any = None, *, drop_sensitive: bool = True
    ) -> None:
        self.repair = repair
        self.estimator = estimator
        self.drop_sensitive = drop_sensitive

    def fit(self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Explain, repair and retrain.

        Parameters
        ----------
        X, y : data frame or array, array-like
            The training table, whose categories need no encoding, and its target: labels or numbers.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X. Only the explained model sees it. It is also
            passed to the fit of an estimator that takes it, as :class:`mitigation.ReductionClassifier`.
        sample_weight : array-like, optional
            Weights for both fits; an error if the estimator does not take them.
        """
        repair, estimator = self._repair(), self._estimator()
        self._check_kind(estimator)
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        # What the estimator does with weights is found out before the repair, which takes its time.
        weigher = self._weigher(repair, estimator)
        weighing = self._weigh(repair, estimator, weigher, X, y, sample_weight)
        is_blind = self.drop_sensitive or sensitive_features is not None
        if self._is_auto and is_blind and repair.constraints is None and repair.counterfactuals is None:
            # The groups are treated alike whatever is edited. What is left is the gap between them.
            is_binary = len(np.unique(read_target(y, open_store(X).n_rows))) == 2
            repair.constraints = EditConstraints(direction="parity") if is_binary else None
        X_fair, _ = repair.fit_resample(
            X, y, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        problem, weights, of = repair.explanation_.problem, repair.sample_weight_, repair.counterfactual_of_
        values = np.concatenate([problem.y.values, problem.y.values[of]])
        self._remover = self.weights_ = None
        # The repair has said it of the same table.
        with warnings.catch_warnings(action="ignore", category=PooledGroupsWarning):
            if self.drop_sensitive and sensitive_features is None:
                self._remover = remover_for(repair, estimator, X)
            if weigher is not None and (weighing is None or weighing.is_used) and self._can_weigh(problem):
                # An edited cell is that of another row of the same label, so models that are fitted on some
                # edited rows know the labels of others.
                recorded = X_fair if len(of) else X
                beside = {"sensitive_features": sensitive_features, "sample_weight": weights}
                self.weights_ = self._fit_weigher(weigher, recorded, values, beside)
        if self.weights_ is not None:
            weights = self.weights_.sample_weight_
        if isinstance(self.weights_, SoftLabeler):
            if sensitive_features is not None:
                sensitive_features = _safe_indexing(sensitive_features, np.tile(np.arange(len(values)), 2))
            X_fair, values = with_either_label(X_fair, values)
        if self._remover is not None:
            X_fair = self._remover.transform(X_fair)
        if sensitive_features is not None and has_fit_parameter(estimator, "sensitive_features"):
            # It holds the groups alike, and predicts without the attribute too.
            own = self._fit_params(weights) if self.weights_ is None else {"sample_weight": weights}
            beside = {"sensitive_features": sensitive_features, **own}
            self.estimator_ = fit_model(estimator, X_fair, values, beside)
        elif self.weights_ is not None or sample_weight is None:
            if self.weights_ is None and weighing and weights is not None and np.ptp(weights) > 0:
                weighing.warn_of_repeats()
            self.estimator_ = fit_weighted(estimator, X_fair, values, weights, weighing)
        else:
            self.estimator_ = fit_model(estimator, X_fair, values, self._fit_params(weights))
        self.repair_ = repair
        if problem.y.classes is not None:
            self.classes_ = problem.y.classes
        return self

    def _found(self) -> str:
        return self.repair_._found() if hasattr(self, "repair_") else ""

    def _fit_weigher(self, weigher: Any, X: Native, y: Any, beside: dict[str, Any]) -> Any:
        """Fit what weights the rows; None if nobody asked for it and a fold cannot be trained on."""
        try:
            if self._is_auto and isinstance(weigher, SoftLabeler):
                if weigher._is_learned(X, y, beside):
                    return weigher
                weigher = ParityWeigher(**weigher.get_params(deep=False))
            return weigher.fit(X, y, **beside)
        except Exception as error:
            # An error of the estimator on a fold has a cause; one without is about what the user gave.
            if not self._is_auto or (isinstance(error, FairshapError) and error.__cause__ is None):
                raise
            said = str(error) if isinstance(error, FairshapError) else f"{type(error).__name__}: {error}"
            warn(
                "The rows are not weighted: weights are chosen on folds, and the estimator fails on one "
                f"({said.rstrip('.')}). If a category is rare, let the encoder take unknown ones "
                "(handle_unknown); weights=None chooses none.",
                WeightsWarning,
            )
            return None

    def _weigher(self, repair: FairSHAP, estimator: Any) -> Any:  # noqa: ARG002
        """Return what weights the rows of the repaired table, unfitted; None if nothing does."""
        return None

    def _can_weigh(self, problem: Problem) -> bool:  # noqa: ARG002
        """Say whether the rows of a table can be weighted; where it was asked for, an error says why not."""
        return True

    @property
    def _is_auto(self) -> bool:
        """Whether rows are weighted only where they can be."""
        return False

    def _repair(self) -> FairSHAP:
        """Return the repair, unfitted, with an estimator that says whether y is labels or a quantity."""
        if self.repair is not None and not isinstance(self.repair, FairSHAP):
            raise InputError(
                f"repair={self.repair!r} is not a FairSHAP; give for example "
                "repair=FairSHAP(sensitive='sex', privileged='Male').",
                parameter="repair",
            )
        repair = FairSHAP() if self.repair is None else copy_estimator(self.repair)
        if repair.estimator is None:
            repair.estimator = self._estimator()
        return repair

    def _estimator(self) -> Any:
        """Return the estimator that is retrained: the given one, or the one that the repair explains."""
        repair = self.repair if isinstance(self.repair, FairSHAP) else FairSHAP()
        estimator = repair._estimator(self._is_regression) if self.estimator is None else self.estimator
        return estimator.estimator if is_frozen(estimator) else estimator

    def _weigh(
        self, repair: FairSHAP, estimator: Any, weigher: Any, X: Native, y: Any, sample_weight: Any
    ) -> Weighing | None:
        """Return what the estimator does with weights; None if there will be none.

        Weights that it cannot be fitted with are an error if they are the user's or a weigher's, and so are
        the user's beside counterfactuals if the rows would have to be repeated.
        """
        # Where metadata is routed, this line checks what the estimator requests.
        given = self._fit_params(sample_weight)
        is_given = bool(given) and not get_config()["enable_metadata_routing"]
        if repair.counterfactuals is None and weigher is None and not is_given:
            return None
        weighing = Weighing.of(estimator, X, read_target(y, open_store(X).n_rows))
        if is_given:
            weighing.check()
        if weigher is not None and not weighing.is_used and not self._is_auto:
            raise ModelError(
                f"{weighing.trouble}, and rows weigh differently after {type(weigher).__name__}. Use an "
                "estimator that takes weights, or weights=None.",
                parameter="weights",
            )
        if repair.counterfactuals is None:
            return weighing if weigher is not None else None
        if sample_weight is not None and not weighing.is_used:
            raise ModelError(
                f"{weighing.trouble}, and rows that have weights of their own cannot be repeated instead. "
                f"Leave out sample_weight or counterfactuals={repair.counterfactuals!r}, or use an estimator "
                "that takes both."
            )
        return weighing

    def _check_kind(self, estimator: Any) -> None:
        """Raise an error if a classifier stands where a regressor belongs, or the other way round."""
        if bool(takes_quantities(estimator)) == self._is_regression:
            return
        name, own = type(estimator).__name__, type(self).__name__
        raise ModelError(
            f"{name} is not a regressor, which {own} needs; use FairSHAPClassifier for a classifier."
            if self._is_regression
            else f"{name} is a regressor and {own} needs a classifier; use FairSHAPRegressor."
        )


class FairSHAPClassifier(ClassifierMixin, _FairSHAPPredictor):
    """A classifier that is trained on the table that :class:`FairSHAP` repaired.

    By default it does not see the sensitive column, only edits that narrow the gap between the positive rates
    of the groups are made, and it learns from soft labels, which narrow it further.
    ``weights=None, drop_sensitive=False`` repairs and retrains only, as in the paper.

    Nothing is changed when predicting. If the sensitive attribute is given beside the table
    (``sensitive_features``), only the explained model sees it, and the one that predicts never does.

    Parameters
    ----------
    repair : FairSHAP
        How the table is repaired. Its parameters can be searched as ``repair__threshold``,
        ``repair__selector__threshold`` and so on.
    estimator : classifier, default=None
        The classifier that is trained on the repaired table; None is that of the repair, or scikit-learn's
        ``HistGradientBoostingClassifier``. Counterfactuals need weights, which are passed on also through a
        pipeline and a search; for an estimator that takes none, rows are repeated, and a warning says so.
    weights : {None, "auto"} or object, default="auto"
        Weights the rows of the repaired table by group and label: a :class:`mitigation.Reweigher` or
        :class:`mitigation.ParityWeigher`, or a :class:`mitigation.SoftLabeler`, which gives every row with
        either label. Its attribute and random state are those of the repair and its estimator is this one,
        unless it has its own. What it does is judged on folds of the rows as they were recorded.

        "auto" is a ``SoftLabeler`` whose rule may cost 0.012 of the accuracy of the model without the column.
        Boosted trees win most of it back by learning from probabilities, linear models do not. It is a
        ``ParityWeigher`` instead for an estimator that cannot learn from both labels of a row, such as a
        search, and where models that learned so, out of fold, do not narrow the gap or measurably lose more
        than the limits. It is None for more than two labels, for an estimator without probabilities or that
        takes no weights, such as a pipeline that resamples, for fewer than three rows of a label in a group,
        and beside counterfactuals, where folds share copies of rows. Where one label is rare, 0.012 can be
        most of what a model knows more than a constant: look at the balanced accuracy, and give a
        ``SoftLabeler`` with a limit of your own.

        Also with "auto", a classifier that does not see the column is trained on edits that narrow the gap,
        ``EditConstraints(direction="parity")``, if there are two labels, no counterfactuals, and no
        ``constraints`` of the repair.
    drop_sensitive : bool, default=True
        Whether the classifier is trained without the sensitive column, which only the repair sees then; rows
        to predict may come with or without it. If the classifier would be fitted otherwise without the
        column, as a pipeline that names its columns, the column has the same value in every row instead.
        Counterfactuals are of use only to a classifier that sees the column, ``drop_sensitive=False``.

    Attributes
    ----------
    estimator_ : classifier
        The retrained classifier, which predicts.
    repair_ : FairSHAP
        The fitted repair. Pickled, it holds plain results only, unless ``keep_data`` of the repair is True.
    weights_ : object or None
        What weighted the rows, fitted; its ``frame()`` is the ledger of the weights.
    classes_ : ndarray, shape (classes,)
        The labels.
    n_features_in_, feature_names_in_ : int, ndarray of str
        The number of columns of the table, and their names, if these are all strings.

    See Also
    --------
    FairSHAP : The repair alone.
    FairSHAPRegressor : The same for a quantity.

    Examples
    --------
    >>> from fairshap import FairSHAP, FairSHAPClassifier, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> repair = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> clf = FairSHAPClassifier(repair).fit(d.X, d.y)
    >>> clf.predict(d.X).shape
    (400,)
    """

    def __init__(
        self,
        repair: FairSHAP | None = None,
        estimator: Any = None,
        *,
        weights: Any = "auto",
        drop_sensitive: bool = True,
    ) -> None:
        super().__init__(repair, estimator, drop_sensitive=drop_sensitive)
        self.weights = weights

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "auto"

    def _weigher(self, repair: FairSHAP, estimator: Any) -> Any:
        if self.weights is None or (self._is_auto and not hasattr(estimator, "predict_proba")):
            return None
        if not self._is_auto and not isinstance(self.weights, (Reweigher, ParityWeigher, SoftLabeler)):
            raise InputError(
                f"weights={self.weights!r} must be None, 'auto', or a Reweigher, ParityWeigher or "
                "SoftLabeler of fairshap.mitigation.",
                parameter="weights",
            )
        if self._is_auto:
            if resampler_of(estimator):
                return None
            kind = ParityWeigher if trouble_with_either_label(estimator) else SoftLabeler
            weigher = kind(max_accuracy_drop=_MAX_DROP)
        else:
            weigher = clone(self.weights)
        if isinstance(weigher, ParitySearch) and repair.counterfactuals is not None:
            # Without the column a row and its counterfactual are copies, and would be in different folds.
            if self._is_auto:
                return None
            if isinstance(weigher, SoftLabeler) or weigher.strengths is None:
                raise InputError(
                    f"weights={self.weights!r} predicts rows on folds, and with "
                    f"counterfactuals={repair.counterfactuals!r} of the repair folds share copies of rows. "
                    "Give a ParityWeigher with strengths, or leave out the counterfactuals.",
                    parameter="weights",
                )
        own = {"sensitive": repair.sensitive, "privileged": repair.privileged, "estimator": estimator}
        own |= {"positive": make_explainer(repair.explainer).positive, "random_state": repair.random_state}
        known = weigher.get_params(deep=False)
        return weigher.set_params(**{k: v for k, v in own.items() if k in known and known[k] is None})

    def _can_weigh(self, problem: Problem) -> bool:
        if not self._is_auto:
            return True
        side, labels = problem.groups.side, problem.y
        counts = side >= 0 if problem.sample_weight is None else (side >= 0) & (problem.sample_weight > 0)
        strata = np.bincount(strata_of(labels, side)[counts], minlength=4)
        return len(labels.names) == 2 and bool(strata.min() >= SoftLabeler().n_folds)


class FairSHAPRegressor(RegressorMixin, _FairSHAPPredictor):
    """A regressor that is trained on the table that :class:`FairSHAP` repaired.

    The risk of a row is ``|f(x, A=0) - f(x, A=1)|``, f being the prediction, so risks, Shapley values and
    thresholds are in its units. Attributes are those of :class:`FairSHAPClassifier`, but for the labels.

    Parameters
    ----------
    repair : FairSHAP
        How the table is repaired.
    estimator : regressor, default=None
        The regressor that is trained on the repaired table; None is that of the repair, or scikit-learn's
        ``HistGradientBoostingRegressor``.
    drop_sensitive : bool, default=True
        Whether the regressor is trained without the sensitive column; see :class:`FairSHAPClassifier`.

    Examples
    --------
    >>> from fairshap import FairSHAP, FairSHAPRegressor, datasets
    >>> d = datasets.load("german")
    >>> X, amount = d.X.drop(columns="credit_amount"), d.X["credit_amount"]
    >>> repair = FairSHAP(sensitive="sex", privileged="male", random_state=0)
    >>> FairSHAPRegressor(repair).fit(X, amount).predict(X).shape
    (1000,)
    """

    _is_regression = True
