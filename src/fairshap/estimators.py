"""FairSHAP as a sampler: a table in, the repaired table out."""

import copy
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from imblearn.base import BaseSampler, SamplerMixin
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._display import Shown, edits_table, panel
from fairshap._frames import open_store
from fairshap._messages import is_number as is_risk
from fairshap._messages import warn
from fairshap._models import Weighing, default_estimator, fit_model, fit_weighted, is_frozen, takes_quantities
from fairshap._problem import Privileged, Problem, is_continuous, read_target, warn_of_copies
from fairshap._typing import Floats, Native
from fairshap.attribution import Explainer, Explanation
from fairshap.attribution._explain import explain_matched
from fairshap.attribution._explanation import default_threshold, make_explainer
from fairshap.edits import EditConstraints, Selector
from fairshap.edits._certificate import Certificate, certify
from fairshap.edits._limits import Narrowing
from fairshap.edits._recipe import CounterfactualRows, Recipe
from fairshap.edits._selectors import make_constraints, make_selector
from fairshap.exceptions import InputError, ModelError, NothingToRepairWarning
from fairshap.matching._match import Matching, match_rows

if TYPE_CHECKING:
    from fairshap.evidence import Evidence

# What a fitted sampler knows of single rows, and the model, which may hold rows itself.
_OF_ROWS = ("model_", "explanation_", "edits_", "counterfactual_of_", "sample_weight_", "_evidence")


class Routed:
    """Hands weights that its method ``_caller`` is given on to the estimator, as their requests say."""

    _caller: str
    _estimator: Callable[..., Any]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this estimator takes and what it hands on to its estimator."""
        mapping = MethodMapping().add(caller=self._caller, callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._estimator(), method_mapping=mapping)

    def _fit_params(self, sample_weight: Any) -> dict[str, Any]:
        """Return what the fit of the estimator is given of the user's weights: all, unless routed."""
        if sample_weight is None:
            return {}
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, self._caller, sample_weight=sample_weight).estimator.fit)
        return {"sample_weight": sample_weight}


class Sampler(OneToOneFeatureMixin, SamplerMixin):
    """A sampler whose own ``fit_resample`` keeps the index, which imbalanced-learn's would drop."""

    fit_resample: Callable[..., tuple[Native, Any]]

    def fit(self, X: Native, y: Any, **params: Any) -> Self:
        """Do what :meth:`fit_resample` does without returning the rows."""
        self.fit_resample(X, y, **params)
        return self

    def _fit_resample(self, X: Native, y: Any, **params: Any) -> tuple[Native, Any]:
        """Answer imbalanced-learn's mixin, which asks for it."""
        return self.fit_resample(X, y, **params)

    def __sklearn_tags__(self) -> Any:
        # By these imbalanced-learn knows a sampler.
        tags = BaseSampler.__sklearn_tags__(self)
        tags.input_tags.sparse, tags.input_tags.string, tags.input_tags.allow_nan = False, True, True
        return tags


class FairSHAP(Routed, Shown, Sampler, BaseEstimator):
    """Edit the few cells that make a model treat otherwise equal people differently.

    A model is fitted on the table and explained on it. Every row is matched with its nearest row of the other
    group that has the same label. The Shapley values of the row's discriminative risk
    ``|f(x, A=0) - f(x, A=1)|`` against that reference say which of its values carry the risk. Values of at
    least ``threshold`` are replaced by the reference's. Both groups are treated alike.

    f is the probability of a class; with more than two, the difference is half the sum of theirs. For a
    regressor f is the prediction, and rows of one quantile bin of the target count as rows of one label.

    It is a sampler in the sense of imbalanced-learn: in an ``imblearn.pipeline.Pipeline`` it edits the rows
    that are fitted on, and never those that are predicted.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        The model to explain. None is scikit-learn's ``HistGradientBoostingClassifier``, or
        ``HistGradientBoostingRegressor`` for a target whose numbers are not all whole. An estimator that
        cannot take the raw table is fitted behind :class:`fairshap.ColumnEncoder`; a pipeline has to encode
        for itself. Wrap a fitted model in ``sklearn.frozen.FrozenEstimator`` to explain it unchanged.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table. Several columns make a group of each
        combination that occurs, and ``privileged`` is a tuple.
    privileged : value, list of values, pandas.Interval or function
        The privileged values. An interval or a function splits a quantity such as age; a row's value is then
        compared with the median of the other side. The function is given a numpy array and returns as many
        booleans.
    threshold : float, "relative" or "auto", default=None
        Short for ``selector=Threshold(threshold)``: the smallest Shapley value that leads to an edit. None is
        0.05, as in the paper, and for a regressor 0.05 standard deviations of the target. "relative" is short
        for ``selector=Threshold(relative=True)``, which goes by the table's own risk. "auto" tries
        several on folds of the table and takes the most accurate of those that make DR, DP and EO lowest,
        within a standard error and at a cost of at most a point of accuracy; see :func:`fairshap.tune`.
    matcher : str or object, default="nearest"
        How rows are matched: "nearest", "emd", "sinkhorn" or "sliced", a matcher such as
        ``NearestMatcher(n_neighbors=5)``, or any object with a method ``match``; see :func:`fairshap.match`.
    selector : Selector, default=None
        Chooses the cells: :class:`Threshold`, :class:`Budget`, :class:`OptimalSubset`, :class:`Iterative`.
    constraints : EditConstraints, default=None
        Which cells may be edited.
    explainer : Explainer, default=None
        How the Shapley values are computed, and which columns are switched together.
    counterfactuals : {None, "edited", "all"} or float, default=None
        Counterfactual augmentation: the edited rows, all rows, or with a number those whose risk is at least
        that, are added below the rows with their sensitive value switched, once for each other value. A row
        and its counterfactuals share its weight (``sample_weight_``), so whoever trains on the table must
        pass the weights on. A pipeline does not: a row with a counterfactual then counts twice.
    min_group_size : int, default=None
        Unprivileged groups of fewer rows are pooled; by default 10 for several columns.
    random_state : int, RandomState instance or None, default=None
        The seed of the default estimator, of sampled Shapley values and of random comparisons.
    n_jobs : int, default=None
        The number of threads that match and explain; all cores by default. The result does not depend on it.
        The estimator has its own parameter.
    verbose : int, default=0
        From 1 on, a progress bar is shown for what takes over two seconds.
    keep_data : bool, default=False
        Whether a pickle of the fitted sampler keeps what is known of single rows: ``model_``,
        ``explanation_``, ``edits_`` and what is made of them. Otherwise it holds plain results only.

    Attributes
    ----------
    summary_ : dict
        Plain results: the numbers of rows, edits, edited rows and counterfactuals, the edits of each column,
        the mean risk before, the threshold and the route.
    explanation_ : Explanation
        The model explained on the table: match plan, risks and Shapley values.
    edits_ : Edits
        The ledger: every edit, with why.
    model_ : classifier or regressor
        The fitted model that was explained.
    threshold_ : float or None
        The smallest Shapley value that leads to an edit; None if the selector has no such value.
    rounds_ : tuple
        For each round whose edits were kept, the number of edits so far and the mean risk it started from.
    counterfactual_of_ : ndarray of int
        The row that each counterfactual is of; the counterfactuals come after the rows.
    sample_weight_ : ndarray of float, or None
        The weights of rows and counterfactuals; None if there are neither counterfactuals nor weights.
    certificate_ : data frame
        For each row the explained model's risk before and after the edits, the sum of the edited Shapley
        values, the interaction residual, which comes from the game and not from the two risks, and the
        distance: ``dr_after = dr_before - sum_phi + residual`` checks the whole repair.
    n_features_in_, feature_names_in_ : int, ndarray of str
        The number of columns of the table, and their names, if these are all strings.

    See Also
    --------
    FairSHAPClassifier, FairSHAPRegressor : Repair and retrain in one estimator.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> X_fair, y = fs.fit_resample(d.X, d.y)
    >>> X_fair.shape == d.X.shape
    True
    """

    _caller = "fit_resample"
    # Found out if a model is ever trained on rows that have counterfactuals.
    _weighing: Weighing | None = None

    def __init__(
        self,
        estimator: Any = None,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        threshold: float | Literal["auto", "relative"] | None = None,
        matcher: Matching = "nearest",
        selector: Selector | None = None,
        constraints: EditConstraints | None = None,
        explainer: Explainer | None = None,
        counterfactuals: CounterfactualRows = None,
        min_group_size: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        keep_data: bool = False,
    ) -> None:
        self.estimator = estimator
        self.sensitive = sensitive
        self.privileged = privileged
        self.threshold = threshold
        self.matcher = matcher
        self.selector = selector
        self.constraints = constraints
        self.explainer = explainer
        self.counterfactuals = counterfactuals
        self.min_group_size = min_group_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.keep_data = keep_data

    @classmethod
    def paper(cls, estimator: Any = None, **params: Any) -> "FairSHAP":
        """Return the configuration of the paper's experiments.

        It goes with ``datasets.load(name, encoded=True)``, each of whose encoded columns is a feature. The
        random comparison, where there are more than two groups, is that of the published code.

        Examples
        --------
        >>> from fairshap import FairSHAP
        >>> FairSHAP.paper(sensitive="sex", privileged=1).threshold
        0.05
        """
        settings: dict[str, Any] = {"threshold": 0.05, "explainer": Explainer(comparison="random")}
        return cls(estimator, **settings | params)

    def fit_resample(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> tuple[Native, Any]:
        """Return the repaired table and the target.

        Parameters
        ----------
        X, y : data frame or array, array-like
            The training table, whose categories need no encoding, and its target: labels or a quantity.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X. The explained model sees it as a last
            column, but not in the gap game; the table that comes back has the columns it came with.
        sample_weight : array-like, optional
            Weights for the fit of the explained model.

        Returns
        -------
        X_fair : data frame or array
            A copy of X with the edits made: same type, rows, order, index, columns and dtypes.
        y : array-like
            A copy of the target, which is not edited. Counterfactuals come last in both.
        """
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        problem = self._problem(X, y, sensitive_features, sample_weight)
        if make_explainer(self.explainer).game == "risk":
            warn_of_copies(problem)
        threshold = self.threshold
        if isinstance(threshold, str) and threshold == "auto":
            from fairshap._crossval import best_threshold

            threshold = best_threshold(self, problem)
        recipe = self._recipe(threshold)
        explanation = self._explain(problem, recipe)
        repaired = recipe.follow(explanation, X, y, self._refit)
        self.model_, self.explanation_ = explanation.model, explanation
        self.edits_, self.rounds_ = repaired.edits, repaired.rounds
        self.counterfactual_of_, self.sample_weight_ = repaired.counterfactual_of, repaired.sample_weight
        self.threshold_ = recipe.selector.once.threshold_of(explanation)
        self.__dict__.pop("_evidence", None)
        self.summary_ = {
            "n_rows": len(explanation),
            "n_edits": len(self.edits_),
            "n_edited_rows": len(np.unique(self.edits_.row)),
            "n_counterfactuals": len(self.counterfactual_of_),
            "edits_by_column": dict(Counter(self.edits_.column).most_common()),
            "mean_risk": explanation.mean_risk,
            "threshold": self.threshold_,
            "route": explanation.route,
        }
        if not len(self.edits_) and not len(self.counterfactual_of_):
            reason = why_nothing(explanation, recipe)
            if is_risk(self.counterfactuals):
                reason = f"{reason[:-1]}; and no row has a risk of {self.counterfactuals:g} or more."
            warn(f"There is nothing to repair: {reason}", NothingToRepairWarning)
        return repaired.X, repaired.y

    def _found(self) -> str:
        if not hasattr(self, "summary_"):
            return ""
        known: dict[str, Any] = dict(self.summary_)
        by_column = known.pop("edits_by_column")
        facts = {name.removeprefix("n_").replace("_", " "): value for name, value in known.items()}
        return panel("What was found", facts, edits_table(by_column))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state if self.keep_data else {k: v for k, v in state.items() if k not in _OF_ROWS}

    def __copy__(self) -> "FairSHAP":
        # Only what leaves the process is without rows.
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "FairSHAP":
        made = memo[id(self)] = type(self).__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __getattr__(self, name: str) -> Any:
        if name in (*_OF_ROWS, "certificate_"):
            check_is_fitted(self)
            shown = "certificate_" if name == "_evidence" else name
            raise AttributeError(
                f"{shown} is not part of a pickled {type(self).__name__}, because it tells of single rows. "
                "Set keep_data=True before pickling, or fit again."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @cached_property
    def _evidence(self) -> Certificate:
        repaired = self.edits_.apply(self.explanation_.problem.own.native)
        return certify(self.explanation_, self.edits_, repaired)

    @property
    def certificate_(self) -> Native:
        """What the edits did to each row, as a frame; measured when it is first asked for."""
        check_is_fitted(self)
        return self._evidence.frame()

    def __dir__(self) -> list[str]:
        # Whoever looks at all attributes, as scikit-learn does to list or to show them, would measure it.
        names = (name for name in object.__dir__(self) if name not in ("certificate_", "_evidence"))
        return [name for name in names if hasattr(self, name)]

    def report(
        self,
        *,
        X_test: Native | None = None,
        y_test: Any = None,
        sensitive_features_test: Any = None,
        positive: Any = None,
        evaluation: Any = None,
        tuning: Any = None,
        fail_if: Iterable[str] = (),
        **about: Any,
    ) -> "Evidence":
        """Return the evidence of the repair: what was unfair, what was changed, and what that did.

        ``.write("report.html")`` writes it as one page, which needs Jinja2 and matplotlib, the extra
        ``report``; ``.md``, ``.json`` and ``.pdf`` are other forms. The page holds values of single rows
        unless it is redacted. In a notebook it is shown in place.

        Parameters
        ----------
        X_test, y_test : data frame or array, array-like, optional
            A held-out set, for fairness before and after; by default the models are cross-validated on the
            folds of :func:`fairshap.evaluate`, without sample weights. With more than two labels or a
            quantity there is no comparison. If the attribute is beside the table, the models that would be
            deployed are compared, which do not see it.
        sensitive_features_test : array-like, optional
            The sensitive attribute of the held-out set, if it is beside the table.
        positive : label, optional
            The favorable label; by default the larger of two.
        evaluation : Evaluation, optional
            What :func:`fairshap.evaluate` returned, whose first two methods are shown as before and after.
        tuning : Tuning, optional
            The search that the repair came from; see :func:`fairshap.tune`.
        fail_if, **about
            As of :func:`fairshap.audit`; also ``ledger`` and ``repaired``, the SHA-256 of these files.

        Examples
        --------
        >>> from fairshap import FairSHAP, datasets
        >>> d = datasets.make_biased(200, random_state=0)
        >>> fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0).fit(d.X, d.y)
        >>> report = fs.report(title="A biased table")
        >>> "<title>A biased table</title>" in report.html
        True
        """
        from fairshap.evidence._audit import audit_repair

        check_is_fitted(self)
        if self.explanation_.game != "risk":
            raise InputError(
                "a report is about the discriminative risk, and the gap game was explained; use "
                "Explainer(game='risk'). explanation_.frame() and explanation_.plot() show the gap.",
                parameter="explainer",
            )
        files = {name: about.pop(name, "") for name in ("ledger", "repaired")}
        about = {"title": "Fairness report", **about}
        held_out = (X_test, y_test, sensitive_features_test, positive, evaluation, tuning)
        return audit_repair(self, *held_out, fail_if, about, **files)

    # The steps, for everything that repairs: fit_resample, tuning, the report.

    def _estimator(self, is_quantity: bool = False) -> Any:
        """Return the estimator to explain: the given one, or the default for labels or for a quantity."""
        if self.estimator is not None:
            return self.estimator
        estimator = default_estimator(self.random_state, is_quantity)
        if get_config()["enable_metadata_routing"]:
            estimator.set_fit_request(sample_weight=True)
        return estimator

    def _problem(
        self,
        X: Native,
        y: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        positive: Any = None,
    ) -> Problem:
        """Read the table, its groups, its target and its weights."""
        explainer = make_explainer(self.explainer)
        if y is None:
            read_target(y, 0)
        return Problem.read(
            X,
            y,
            sensitive=self.sensitive,
            privileged=self.privileged,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            is_fitted=is_frozen(self._estimator()) and explainer.game == "risk",
            positive=explainer.positive if positive is None else positive,
            bins=getattr(self.matcher, "bins", None),
            is_quantity=None if self.estimator is None else takes_quantities(self.estimator),
            comparison=explainer.comparison,
            min_group_size=self.min_group_size,
            random_state=self.random_state,
        )

    def _recipe(self, threshold: float | Literal["relative"] | None = None) -> Recipe:
        """Return how the table is repaired once it is explained."""
        return Recipe(
            make_selector(self.selector, threshold), make_constraints(self.constraints), self.counterfactuals
        )

    def _explain(self, problem: Problem, *recipes: Recipe, model: Any = None) -> Explanation:
        """Explain a model, fitted unless it is given, on a table, for recipes to follow."""
        explainer = make_explainer(self.explainer)
        features = explainer.players(problem.own)
        for recipe in recipes:
            # Columns that the table does not have are an error before anything is fitted.
            recipe.constraints.features(problem.own, features)
        reaches = [recipe.selector.once.reach(default_threshold(problem.target)) for recipe in recipes]
        reach = min((one for one in reaches if one is not None and np.isfinite(one)), default=None)
        options = explainer.options(reach, self.random_state, self.n_jobs, self.verbose)
        self._weighing = None
        seen = problem.without_added if options.game == "gap" else problem
        if model is None:
            model = self._fitted_model(seen)
        how = {"n_jobs": self.n_jobs, "verbose": self.verbose, "random_state": self.random_state}
        plan = match_rows(problem, self.matcher, **how)
        return explain_matched(model, seen, plan, features, options)

    def _fitted_model(self, problem: Problem) -> Any:
        """Return the model to explain: fitted on the table, or the fitted one that was given."""
        estimator = self._estimator(is_quantity=problem.y.classes is None)
        if not is_frozen(estimator):
            X, y = problem.table.native, problem.y.values
            fit_params = self._fit_params(problem.sample_weight)
            if fit_params and not get_config()["enable_metadata_routing"]:
                Weighing.of(estimator, X, y).check()
            return fit_model(estimator, X, y, fit_params, table=problem.table)
        takes = getattr(estimator, "n_features_in_", None)
        if problem.added and takes == len(problem.own.names):
            raise ModelError(
                f"the fitted model takes {takes} columns, those of X without {problem.groups.name!r}: "
                "it never sees the sensitive attribute, and its risk is 0. Explain a model that was fitted "
                "with it, give an unfitted estimator, or explain the gap: Explainer(game='gap')."
            )
        return estimator

    def _refit(self, X: Native, y: Any, sample_weight: Floats | None) -> Any:
        """Return the estimator fitted on a table that is being repaired."""
        values = read_target(y, open_store(X).n_rows)
        if self.estimator is not None:
            estimator = self.estimator.estimator if is_frozen(self.estimator) else self.estimator
        else:
            is_cut = getattr(self.matcher, "bins", None) is not None
            estimator = self._estimator(is_quantity=is_cut or is_continuous(np.unique(values)))
        if sample_weight is not None and self._weighing is None:
            self._weighing = Weighing.of(estimator, X, values)
        return fit_weighted(estimator, X, values, sample_weight, self._weighing)


def why_nothing(explanation: Explanation, recipe: Recipe) -> str:
    """Return why there are no edits, in words."""
    values, attribute = explanation.values, explanation.problem.groups.name
    # Minus infinity, where none is known.
    largest, span, risk = (
        float(np.max(v, where=~np.isnan(v), initial=-np.inf))
        for v in (values, np.abs(values), explanation.risk)
    )
    if not len(explanation.match_plan):
        return "no row has a reference."
    if explanation.game == "risk" and not (risk or span > 0):
        return (
            f"the explained model never uses column {attribute!r}: its output is the same whatever "
            "the value. "
            + (
                "Its preprocessing may drop a column that it does not name: let it pass others on "
                "(remainder='passthrough'), or put the column into X and name it."
                if explanation.problem.added
                else "Unfairness that other columns carry is not what FairSHAP measures."
            )
        )
    mean, of = np.nanmean(explanation.risk), "risk" if explanation.game == "risk" else "size of a gap"
    if explanation.game == "risk" and span < 1e-12 * risk:
        return (
            f"the risk is {mean:.3g} whatever the other columns hold, as in a margin that is "
            f"linear in column {attribute!r}; no edit can lower it."
        )
    is_enough, why = recipe.selector.once.why_nothing(largest, explanation)
    given = recipe.constraints.given()
    if given and is_enough:
        why = f"the largest Shapley value is {largest:.3g}, but none is left within {', '.join(given)}"
    if is_enough and recipe.constraints.direction is not None:
        narrowing = Narrowing.of(explanation.problem, explanation.best)
        if not (narrowing.rows & (narrowing.weight <= narrowing.room)).any():
            why = (
                "the groups hardly differ in their rates of positive labels, so that direction='parity' has "
                "no gap to narrow"
            )
    return f"{why}, and the mean {of} is {mean:.3g}."
