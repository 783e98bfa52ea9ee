"""FairSHAP as a sampler: a table in, the repaired table out."""

from typing import Any

from imblearn.base import SamplerMixin
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._frames import Players, open_store
from fairshap._messages import warn
from fairshap._models import Weighing, fit_model, fit_weighted, is_frozen
from fairshap._problem import Labels, Setting, check_order, check_weights, warn_of_copies
from fairshap._typing import Native
from fairshap.attribution import Options, check_threshold
from fairshap.edits import Evidence
from fairshap.estimators._base import Repairer
from fairshap.estimators._holdout import warn_if_worse
from fairshap.estimators._reasons import why_nothing
from fairshap.estimators._reporting import compare, findings_of
from fairshap.estimators._trying import best_threshold
from fairshap.exceptions import ModelError, NothingToRepairWarning
from fairshap.matching import match_rows
from fairshap.repair import Augment, Consultation, is_risk
from fairshap.report import Comparison, Report, Tuned, make_report


class FairSHAP(SamplerMixin, Repairer):
    """Replace the few cells that make a model treat otherwise equal people differently.

    A model is fitted on the table and consulted once. Every row is matched with its nearest row
    of the other group that has the same label. The Shapley values of the row's discriminative
    risk ``|f(x, A=0) - f(x, A=1)|`` against that reference say which of its values carry the
    risk; those of at least ``threshold`` are replaced by the reference's. Both groups are treated alike.

    f is the probability of a class; with more than two classes, the difference is half the sum of the
    differences of their probabilities. For a quantity f is the prediction of a regressor, and rows of one
    quantile bin of the target count as rows of one label.

    It is a sampler in the sense of imbalanced-learn: in an ``imblearn.pipeline.Pipeline`` it edits the
    rows that are fitted on, and never those that are predicted.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        The model to consult; None is scikit-learn's ``HistGradientBoostingClassifier``, or
        ``HistGradientBoostingRegressor`` for a target whose numbers are not all whole ones, or with ``bins``.
        One that cannot take the raw table is consulted behind :class:`fairshap.ColumnEncoder`; a pipeline,
        also inside another estimator, has to encode for itself. Wrap a fitted model in
        ``sklearn.frozen.FrozenEstimator`` to consult it as it is.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table; several make a group of each combination
        that occurs, and ``privileged`` is a tuple.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged. An interval or a function splits a quantity such as age, whose
        value is then compared with the median of the other side. The function is given a numpy array
        (float64, or datetime64 for dates; for categories the distinct ones, as objects) and returns as many
        booleans.
    threshold : float or "auto", default=None
        The smallest attribution that leads to an edit, in units of the model's output: a change of
        probability, or for a regressor of its prediction. An attribution that is below it by less than a
        billionth, of the spread of the predictions for a regressor, ties with it and leads to an edit too.
        None is 0.05, as in the paper, and for a regressor 0.05 standard deviations of the target. "auto"
        tries several on folds of the table and takes the most accurate of those that make DR, DP and EO
        lowest, within a standard error and for at most a point of accuracy; see :func:`fairshap.tune`.
    strategy : {"threshold", "budget", "optimal", "iterative"}, default="threshold"
        Which cells are replaced. "threshold": every value whose attribution is at least the threshold, as in
        the paper. "budget": those of the largest attributions, as many as ``budget`` says. "optimal": in
        each row the set of values that makes its risk plus the threshold times the number of edited cells
        lowest; at the same threshold that is fewer edits and less risk. "iterative": by the threshold, then
        again with a model that is trained on the edited table, against the same references, until the mean
        risk stops falling.
    budget : int or float, default=None
        How many cells are replaced at most, the largest attributions first, of equal ones the first row and
        column: a number, or a share of all cells below 1.
    max_rounds : int, default=5
        How many rounds "iterative" has at most.
    augment : {"auto", None, "edited", "all"} or float, default="auto"
        Counterfactual twins: the edited rows, all rows, or with a number those whose risk is at least that,
        also stand in the table with their sensitive value switched, after the rows themselves; for several
        values there is a twin for each. A row and its twins share its weight (``sample_weight_``), so that
        whoever trains on the table must pass the weights on; a pipeline does not, and then a row with a twin
        counts twice. "auto" is None here: the table keeps its rows.
    guard : bool or {"risk", "label"}, default=False
        Leave a row as it is if its risk under the consulted model would rise ("risk", or True); or if its own
        label would become less likely ("label"; for a regressor, if its prediction would be farther from the
        target): such edits contradict the label that they are trained with. On some tables they lower neither
        DP nor EO, on others they are what does; :func:`tune` can try both.
    frozen, editable : list of columns, default=None
        Columns that are never edited, or the only ones that are.
    column_thresholds : mapping, default=None
        Columns with a threshold of their own.
    max_row_edits : int, default=None
        How many cells of a row are edited at most.
    direction : {"both", "unprivileged", "privileged"}, default="both"
        The rows of which groups are edited.
    plausible : bool, default=False
        Edit a category only if, with each of the row's other categories, it occurs in some row of the other
        group.
    holdout : float or None, default="auto"
        The share of the rows that a model is held against, whether the repaired one is measurably worse; it
        takes one more repair. "auto" is None here.
    positive : label, default=None
        Which of the labels is the positive one; by default the larger of two. Risk, and so every
        edit, is the same for any; it is kept for what is measured and reported afterwards.
    bins : int, default=None
        Into how many quantile bins the target is cut, rows of one bin counting as rows of one label. None
        is 10 for a regressor, fewer for less than 200 rows; labels are cut only if it is given.
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
        time only where many can be left out. With "budget" and "optimal" no row is left out.
    random_state : int, RandomState instance or None, default=None
        The source of those orders, and the default estimator's.
    n_jobs : int, default=None
        How many threads match and attribute; all cores by default. The result is the same for any
        number. The estimator has its own parameter.
    verbose : int, default=0
        From 1 on, a bar shows how far it is where that takes over two seconds.

    Attributes
    ----------
    model_ : classifier or regressor
        The fitted model that was consulted.
    threshold_ : float
        The threshold, in units of the model's output.
    matches_ : MatchPlan
        The reference of each row.
    attributions_ : Attributions
        What each player adds to the risk of each row.
    edits_ : Edits
        The ledger: every edit, with why.
    rounds_ : tuple
        For each round whose edits were kept how many there are so far, and the mean risk it started from.
    twin_of_ : ndarray of int, shape (twins,)
        The row that each twin is of; the twins come after the rows.
    sample_weight_ : ndarray of float, or None
        What the rows and twins weigh; None without twins and without weights.
    certificate_ : data frame
        One line for each row: ``row``, ``dr_before``, ``sum_phi``, ``residual``, ``dr_after``, ``distance``.
        The consulted model's risk in the table as it was read and as it was written, the sum of the
        edited attributions, and the interaction residual I, which comes from the game and not from
        the two risks: ``dr_after = dr_before - sum_phi + residual`` is a check of the whole repair. Rows
        without edits have I = 0, rows without a reference NaN. The distance is that of the reference
        that the new values come from. Computed when it is first asked for.
    positive_ : label
        The positive label; None for a quantity, and for more than two labels of which none was named.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    See Also
    --------
    FairSHAPClassifier, FairSHAPRegressor : Consult, repair and retrain in one estimator.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
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
            The target of each row: two labels or more, or a quantity.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X. The consulted model sees it as a last
            column; the table that comes back has the columns it came with.
        sample_weight : array-like, optional
            Weights for the fit of the consulted model.

        Returns
        -------
        X_fair : data frame or array
            A copy of X with the edits made: same type, rows, order, index, columns and dtypes. With
            ``augment`` the twins come after the rows.
        y : array-like
            A copy of the target, which is not edited; with those of the twins.
        """
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        setting = self._setting(X, sensitive_features)
        warn_of_copies(setting)
        check_order(X, y, "y")
        augment = self._twins()
        is_auto = isinstance(self.threshold, str) and self.threshold == "auto"
        threshold = best_threshold(self, X, y, setting, augment) if is_auto else None
        asked = self._ask(setting, y, sample_weight, threshold=threshold)
        recipe = self._recipe(self.threshold_, augment)
        sample_weight = check_weights(sample_weight, setting.table.n_rows)
        repaired = recipe.follow(asked, X, y, self._refit, sample_weight)
        self.model_, self.matches_, self.attributions_ = asked.model, asked.matches, asked.attributions
        self.edits_, self.rounds_ = repaired.edits, repaired.rounds
        self.twin_of_, self.sample_weight_ = repaired.twin_of, repaired.sample_weight
        self._asked, self._target = asked, y
        self._evidence = Evidence(asked.risk, asked.matches, asked.attributions, self.edits_, self.n_jobs)
        if not len(self.edits_) and not len(self.twin_of_):
            reason = why_nothing(self, setting.groups.name)
            if is_risk(augment):
                reason = f"{reason[:-1]}; and no row has a risk of augment={augment:g} or more."
            warn(f"There is nothing to repair: {reason}", NothingToRepairWarning)
        if self.holdout is not None and self.holdout != "auto":
            warn_if_worse(self, X, y, setting, augment, self.holdout, sensitive_features, sample_weight)
        return repaired.X, repaired.y

    def _twins(self) -> Augment:
        """Return which rows get twins: by default none, so that the table keeps its rows."""
        return None if self.augment == "auto" else self.augment

    def _setting(self, X: Native, sensitive_features: Any = None) -> Setting:
        """Return the groups of a table's rows."""
        return Setting.read(
            X,
            self.sensitive,
            self.privileged,
            sensitive_features,
            is_frozen(self._estimator()),
            comparison=self.comparison,
            min_group_size=self.min_group_size,
            random_state=self.random_state,
        )

    def _ask(
        self,
        setting: Setting,
        y: Any,
        sample_weight: Any = None,
        *,
        known: Consultation | None = None,
        threshold: float | None = None,
    ) -> Consultation:
        """Consult a model that is fitted on a table, or the one of a consultation that is known, as matched.

        Sets what is known of the target: ``threshold_``, if none is given, and ``positive_``.
        """
        if threshold is None and self.threshold is not None:
            check_threshold(self.threshold)
        labels = self._labels(y, setting.table.n_rows)
        self.threshold_ = self._threshold(labels) if threshold is None else threshold
        self.positive_ = labels.positive_value
        # Found out if a model is ever trained on rows that have twins.
        self._weighing: Weighing | None = None
        # What makes no sense is refused before anything is fitted.
        strategy = self._recipe(self.threshold_, self._twins()).strategy
        players = Players.read(setting.own, self.players)
        strategy.check(setting.own, players)
        options = Options(
            self.method,
            self.max_exact,
            self.n_permutations,
            strategy.reach,
            # Where edits do not go by a threshold, a row that cannot reach it can have edits all the same.
            self.screen and strategy.reach is not None,
            self.random_state,
            self.n_jobs,
            self.verbose,
        )
        if known is not None:
            return Consultation.hold(known.model, setting, labels, known.matches, players, options)
        sample_weight = check_weights(sample_weight, setting.table.n_rows)
        model = self._consult(setting, labels, sample_weight)
        matches = match_rows(
            setting,
            labels,
            self.matching,
            self.pairing,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=self.random_state,
        )
        return Consultation.hold(model, setting, labels, matches, players, options)

    @property
    def certificate_(self) -> Native:
        """What the edits did to each row, as a frame; measured when it is first asked for."""
        check_is_fitted(self)
        return self._evidence.certificate.frame()

    def __dir__(self) -> list[str]:
        # Whoever looks at all attributes, as scikit-learn does to list or to show them, would measure it.
        names = (name for name in object.__dir__(self) if name != "certificate_")
        return [name for name in names if hasattr(self, name)]

    def parity_bounds(self) -> Native:
        """Return the paper's bound on demographic parity beside what was measured, as a frame.

        Two lines, "before" and "after" the edits, both for the consulted model: the bound on the gap in the
        mean score, the gap itself (``score_parity``), that in the rate of positive predictions
        (``demographic_parity``), and what the bound is made of; see
        :func:`fairshap.metrics.demographic_parity_bound`. It takes two values of the attribute and a model
        with probabilities.
        """
        check_is_fitted(self)
        return self._evidence.bounds_frame()

    def plot_residuals(self, ax: Any = None) -> Any:
        """Draw the interaction residual of each edited row against its squared distance; return the axes.

        The paper bounds the one by a constant times the other for smooth models; the dashed line is the
        least constant that holds for these rows. It takes matplotlib, the extra ``plots``.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on new ones.
        """
        check_is_fitted(self)
        return self._evidence.certificate.plot(ax)

    def report(
        self,
        *,
        X_test: Native | None = None,
        y_test: Any = None,
        retrained: Any = None,
        compared: Comparison | None = None,
        audit: bool = False,
        tuning: Tuned | None = None,
        title: str = "Fairness report",
        command: str | None = None,
        checksum: str | None = None,
        note: str | None = None,
        redact: bool = False,
    ) -> Report:
        """Return a report on the repair, or an audit: one page of HTML that needs nothing else.

        It takes Jinja2 and matplotlib, the extra ``report``. The page holds values of single rows unless it
        is redacted. In a notebook it is shown in place.

        Parameters
        ----------
        X_test, y_test : data frame or array, array-like, optional
            Rows that the model was not trained on, for fairness before and after. Without them both models
            are compared by cross-validation on the table itself, on the folds of :func:`fairshap.evaluate`,
            without sample weights. With a target of more than two labels or a quantity, or with an attribute
            beside the table, there is no comparison; the risks of the consulted model are there all the same.
        retrained : classifier, optional
            The model that was trained on the repaired table, for X_test; by default it is trained here.
        compared : fairshap.report.Comparison, optional
            The models before and after on held-out rows, if they have been compared already; see
            :meth:`fairshap.Comparison.for_report`.
        audit : bool, default=False
            Whether to speak of the table and the model as they are: what is unfair, and what a repair would
            change. Nothing is retrained.
        tuning : Tuning, optional
            The search that the repair came from; see :func:`fairshap.tune`.
        title : str
            The page's title.
        command : str, optional
            What reproduces the result; by default the Python call.
        checksum : str, optional
            The checksum of the data's file; by default one of the table's cells.
        note : str, optional
            What to say at the top of the page, such as where the table comes from.
        redact : bool, default=False
            Whether the values and labels of single rows are left out.

        Examples
        --------
        >>> from fairshap import FairSHAP, datasets
        >>> d = datasets.make_biased(200, random_state=0)
        >>> fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0).fit(d.X, d.y)
        >>> report = fs.report(title="A biased table")
        >>> "<title>A biased table</title>" in report.html
        True
        """
        check_is_fitted(self)
        findings, why_not = findings_of(self, audit), ""
        if compared is None:
            compared, why_not = compare(self, X_test, y_test, retrained, audit)
        return make_report(
            findings,
            compared,
            not_compared=why_not,
            tuning=tuning,
            title=title,
            command=command,
            checksum=checksum,
            note=note,
            redact=redact,
        )

    def _fit_resample(self, X: Native, y: Any, **params: Any) -> tuple[Native, Any]:
        """Answer imbalanced-learn's mixin, whose own fit_resample would drop the index."""
        return self.fit_resample(X, y, **params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this estimator takes and what it hands on to its estimator."""
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
        estimator = self._estimator(is_quantity=labels.classes is None)
        if not is_frozen(estimator):
            X, y = setting.table.native, labels.values
            fit_params = self._fit_params("fit_resample", sample_weight)
            if fit_params and not get_config()["enable_metadata_routing"]:
                Weighing.of(estimator, X, y).check()
            return fit_model(estimator, X, y, fit_params)
        takes = getattr(estimator, "n_features_in_", None)
        if setting.added and takes == len(setting.own.names):
            raise ModelError(
                f"the fitted model takes {takes} columns, those of X without {setting.groups.name!r}: "
                "it never sees the sensitive attribute, so there is nothing to repair. Consult a model "
                "that was fitted with it, or give an unfitted estimator.",
                parameter="estimator",
            )
        return estimator

    def _refit(self, X: Native, y: Any, sample_weight: Any) -> Any:
        """Return the estimator fitted on a table that is being repaired."""
        labels = self._labels(y, open_store(X).n_rows)
        estimator = self._estimator(is_quantity=labels.classes is None)
        if is_frozen(estimator):
            estimator = estimator.estimator
        if sample_weight is not None and self._weighing is None:
            self._weighing = Weighing.of(estimator, X, labels.values)
        return fit_weighted(estimator, X, labels.values, sample_weight, self._weighing)
