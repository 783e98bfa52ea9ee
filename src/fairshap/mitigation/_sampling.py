"""Change the training rows or their weights, and leave the rows to predict as they are."""

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from fairshap._crossval.trials import draw_seed
from fairshap._messages import check_number
from fairshap._models import trouble_with_either_label
from fairshap._problem import Privileged, Problem, Target, check_order, check_weights
from fairshap._typing import Native
from fairshap.edits._recipe import add_counterfactuals, with_rows
from fairshap.estimators import Sampler
from fairshap.exceptions import InputError, ModelError
from fairshap.mitigation._base import Mitigator, RowWeigher
from fairshap.mitigation._parity import ParitySearch, Strata
from fairshap.mitigation._strengths import Judge, Posteriors, probabilities


class Reweigher(RowWeigher):
    """Weight the rows of each group and label as if the two were independent; the rows stay unchanged.

    The weight of a row of group s and label y is ``P(s) P(y) / P(s, y)``, after Kamiran and Calders, *Data
    preprocessing techniques for classification without discrimination*, 2012; for two groups these are the
    weights of AIF360's ``Reweighing``. A row whose attribute is missing has weight 1 and is not counted.

    Parameters
    ----------
    strength : float, default=1.0
        The power of the weights: 0 leaves them 1, 2 squares them, which narrows the gap further. The total
        weight of the rows is kept, but not at strength 1 if a group has no rows of a label.

    Attributes
    ----------
    sample_weight_ : ndarray of float, shape (rows,)
        The weights of the training rows, multiplied by the given ones.
    factors_ : ndarray of float, shape (groups, 2)
        The weight of each group, the privileged one first, and label; 1 where no row has both.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import Reweigher
    >>> X = pd.DataFrame({"sex": ["m", "m", "m", "f"]})
    >>> Reweigher(sensitive="sex", privileged="m").fit(X, [1, 1, 0, 0]).sample_weight_
    array([0.75, 0.75, 1.5 , 0.5 ])
    """

    def __init__(
        self, *, sensitive: Any = None, privileged: Privileged = None, strength: float = 1.0
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.strength = strength

    def fit(self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows, or add up their weights, by group and label."""
        check_number(self.strength, "strength", "a power of the weights; give a number from 0 on, such as 2.")
        problem = self._problem(X, sensitive_features=sensitive_features)
        labels = Target.read(y, problem.own.n_rows, is_quantity=False)
        check_order(X, y, "y")
        given = check_weights(sample_weight, problem.own.n_rows)
        given = np.ones(problem.own.n_rows) if given is None else given
        side, counted = problem.groups.side, problem.groups.side >= 0
        group = np.where(side == 1, 0, problem.groups.group + 1)
        sums = np.zeros((group[counted].max() + 1, len(labels.names)))
        np.add.at(sums, (group[counted], labels.codes[counted]), given[counted])
        if not sums.sum():
            message = "sample_weight is zero for all rows; at least one must weigh something."
            raise InputError(message, parameter="sample_weight")
        expected = np.outer(sums.sum(axis=1), sums.sum(axis=0)) / sums.sum()
        factors = np.divide(expected, sums, out=np.ones_like(sums), where=sums > 0) ** self.strength
        if self.strength != 1:
            factors *= sums.sum() / np.sum(factors * sums)
        self.factors_ = np.where(sums > 0, factors, 1.0)
        self.sample_weight_ = given * np.where(counted, self.factors_[group, labels.codes], 1.0)
        return self


class CounterfactualAugmenter(Sampler, Mitigator):
    """Add a counterfactual of every row: only the sensitive value is switched, the label is kept.

    With more than two values there is one for each other value; a quantity such as age gets the median of the
    other side. Several sensitive columns are switched together, to a combination that occurs. A row and its
    counterfactuals share the row's weight, so the total weight stays. A row whose attribute is missing has
    none and keeps its weight. The attribute must be a column of the table: otherwise a counterfactual would
    be an equal copy.

    Attributes
    ----------
    counterfactual_of_ : ndarray of int, shape (counterfactuals,)
        The row of each counterfactual.
    sample_weight_ : ndarray of float, shape (rows and counterfactuals,)
        The weight of each row and counterfactual, for the fit of a classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import CounterfactualAugmenter
    >>> X = pd.DataFrame({"sex": ["m", "f"], "age": [30, 40]})
    >>> augmenter = CounterfactualAugmenter(sensitive="sex", privileged="m")
    >>> X_twice, y_twice = augmenter.fit_resample(X, [0, 1])
    >>> X_twice["sex"].tolist(), y_twice, augmenter.counterfactual_of_.tolist()
    (['m', 'f', 'f', 'm'], [0, 1, 0, 1], [0, 1])
    """

    def fit_resample(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> tuple[Native, Any]:
        """Return the rows with their counterfactuals below, in the same order, and the labels."""
        if sensitive_features is not None:
            raise InputError(
                "sensitive_features is given, but the counterfactual of a row without the attribute would "
                "be an equal copy. Put the attribute into X and name it by sensitive, or train without it.",
                parameter="sensitive_features",
            )
        problem = self._problem(X)
        Target.read(y, problem.own.n_rows, is_quantity=False)
        check_order(X, y, "y")
        weights = check_weights(sample_weight, problem.own.n_rows)
        everyone = np.arange(problem.own.n_rows)
        X, y, *added = add_counterfactuals(problem, everyone, problem.own.native, y, weights)
        self.counterfactual_of_, self.sample_weight_ = added
        return X, y


class SoftLabeler(Sampler, ParitySearch):
    """Label rows softly by a rule without the attribute that narrows the gaps between groups.

    A :class:`ProxyCorrection` as a training table: each row is there with either label, weighted by the
    probability of this label if rows weighed as the rule has it. The probabilities are out of fold. A model
    that learns from them, without the sensitive column, needs neither the rule nor the attribute to predict.
    At strength 0 they are the estimator's own; training on these is known as self-distillation and alone can
    make a model more accurate. So compare with ``strengths={}`` before you credit the correction.

    Parameters are those of :class:`ParityWeigher`. Train with the weights and without the sensitive column,
    as :class:`MitigatedClassifier` does with ``drop_sensitive=True``.

    Attributes
    ----------
    sample_weight_ : ndarray of float, shape (twice the rows,)
        The weights: first those of all rows with their own label, then those of all with the other one. Both
        weights of a row add up to its own.
    strengths_ : dict
        The strengths that were chosen, or given.
    out_of_fold_ : data frame
        Accuracy, ROC AUC and gaps of out-of-fold predictions of the rule, before and after.
    n_fits_ : int
        The number of models that were fitted: three a fold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets
    >>> from fairshap.mitigation import MitigatedClassifier, SoftLabeler
    >>> d = datasets.make_biased(400, random_state=0)
    >>> who = {"sensitive": d.sensitive, "privileged": d.privileged}
    >>> labeler = SoftLabeler(LogisticRegression(), **who, random_state=0)
    >>> X_twice, y_twice = labeler.fit_resample(d.X, d.y)
    >>> len(X_twice), labeler.sample_weight_[[0, 400]].sum()
    (800, np.float64(1.0))
    >>> model = MitigatedClassifier(labeler, LogisticRegression(), drop_sensitive=True).fit(d.X, d.y)
    >>> model.predict(d.X.drop(columns=d.sensitive)).shape
    (400,)
    """

    def fit_resample(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> tuple[Native, Any]:
        """Return all rows, below them all rows again, and their labels: their own, then the other ones."""
        check_order(X, y, "y")
        estimator = self._estimator()
        trouble = trouble_with_either_label(estimator)
        if trouble:
            raise ModelError(
                f"{type(estimator).__name__} cannot learn from soft labels, which give every row twice, with "
                f"either label: {trouble}. Use ParityWeigher, which weights rows once, or another estimator.",
                parameter="estimator",
            )
        problem = self._read(X, y, sensitive_features, sample_weight)
        posteriors, _ = self._learner(problem).cross_fit(self.n_folds, draw_seed(self.random_state))
        return self._label(problem, y, posteriors)

    def _is_learned(self, X: Native, y: Any, beside: dict[str, Any]) -> bool:
        """Fit, and say whether models that learn from the labels narrow the gap and keep the limits.

        They are asked about rows that they were not fitted on. Without strengths there is nothing to learn.
        """
        problem = self._read(X, y, **beside)
        learner, seed = self._learner(problem), draw_seed(self.random_state)
        posteriors, _ = learner.cross_fit(self.n_folds, seed)
        self._label(problem, y, posteriors)
        if not any(self.strengths_.values()):
            return False
        self.n_fits_ += self.n_folds
        score = learner.learn_softly(self.sample_weight_, self.n_folds, seed)
        return Judge(posteriors, self.minimize, self._limits()).follows(score)

    def _label(self, problem: Problem, y: Any, posteriors: Posteriors) -> tuple[Native, Any]:
        """Label by posteriors that are known."""
        weights = self._choose(posteriors)
        self.n_fits_ = 3 * self.n_folds
        positive, probability = posteriors.positive, probabilities(posteriors.joint, weights)
        own = np.where(positive, probability, 1 - probability)
        self.sample_weight_ = np.concatenate([own, 1 - own]) * np.tile(posteriors.weight, 2)
        strata = Strata(problem)
        why = "" if any(self.strengths_.values()) else "the model's own probabilities"
        self._ledger = strata.ledger(strata.factors_of(probability), why)
        return with_either_label(problem.own.native, y)

    def frame(self) -> pd.DataFrame:
        """Return the ledger: group, label, rows, the factor and the totals of their weight, and why.

        A row counts with its probability for either label.
        """
        check_is_fitted(self)
        return pd.DataFrame(self._ledger)


def with_either_label(X: Native, y: Any) -> tuple[Native, Any]:
    """Return all rows, below them all rows again, and their labels: their own, then the other ones."""
    is_first = np.asarray(y) == np.asarray(y)[0]
    everyone = np.arange(len(is_first))
    # Of either label some row.
    switched = np.where(is_first, is_first.argmin(), 0)
    return with_rows(X, y, everyone, {}, np.append(everyone, switched))
