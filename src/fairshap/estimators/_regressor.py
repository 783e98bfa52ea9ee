"""FairSHAP as a regressor: consult, repair, retrain."""

from sklearn.base import RegressorMixin

from fairshap.estimators._retraining import Retrainer


class FairSHAPRegressor(RegressorMixin, Retrainer):
    """A regressor that is trained on the table that :class:`FairSHAP` repaired.

    The risk of a row is ``|f(x, A=0) - f(x, A=1)|``, f being the prediction, so that risk, attributions and
    ``threshold`` are in its units. Nothing is changed when predicting.

    Parameters
    ----------
    estimator : regressor, default=None
        The regressor that is consulted and then retrained; None is scikit-learn's
        ``HistGradientBoostingRegressor``. A fitted model in ``sklearn.frozen.FrozenEstimator`` is
        consulted as it is, and a clone of it is retrained.
    sensitive, privileged
        The sensitive attribute, and which values of it are privileged; see :class:`FairSHAP`.
    threshold : float, default=None
        The smallest attribution that leads to an edit, in units of the prediction. None is 0.05 standard
        deviations of the target.
    strategy, budget, max_rounds, guard, column_thresholds
        Which cells are replaced; see :class:`FairSHAP`.
    frozen, editable, max_row_edits, direction, plausible
        What may be edited; see :class:`FairSHAP`.
    augment : {"auto", None, "edited", "all"} or float, default="auto"
        Which rows get counterfactual twins; see :class:`FairSHAPClassifier`.
    holdout : float or None, default="auto"
        The share of the rows on which the repaired model is held against the baseline: a warning says if it
        has measurably more risk, or a lower R2; see :class:`FairSHAPClassifier`.
    positive : None
        A quantity has no positive label; anything but None is an error.
    bins : int, default=None
        Into how many quantile bins the target is cut, rows of one bin counting as rows of one label. None
        is 10, fewer for less than 200 rows.
    comparison, matching, pairing, min_group_size, players, method, max_exact, n_permutations
        How the repair is done; see :class:`FairSHAP`.
    random_state, n_jobs, verbose
        As in :class:`FairSHAP`.

    Attributes
    ----------
    repair_ : FairSHAP
        The fitted sampler, with the ledger, the attributions, the matches and the consulted model.
    estimator_ : regressor
        The retrained regressor, which predicts.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    See Also
    --------
    FairSHAP : The repair alone.
    FairSHAPClassifier : The same for labels.

    Examples
    --------
    >>> from fairshap import FairSHAPRegressor, datasets
    >>> d = datasets.load("german")
    >>> X, amount = d.X.drop(columns="credit_amount"), d.X["credit_amount"]
    >>> reg = FairSHAPRegressor(sensitive="sex", privileged="male", random_state=0).fit(X, amount)
    >>> reg.predict(X).shape
    (1000,)
    """

    _is_regression = True
