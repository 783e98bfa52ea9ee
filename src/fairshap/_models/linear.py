"""Linear models as sums, one term for each column, checked against the model itself."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

from fairshap._frames import Table
from fairshap._models.probing import (
    UNOWNED,
    check_outputs,
    check_sources,
    condense,
    find_owners,
    one_by_one,
    rows_of_values,
    to_numbers,
    transform,
)
from fairshap._models.scorer import NotNativeError, Scorer, split
from fairshap._typing import Floats, Ints


class LinearTable(NamedTuple):
    """A table through a linear model: some margins, each a sum over the columns and a constant."""

    #: What each column of each row adds to each margin, shape (margins, rows, columns).
    terms: Floats
    constants: Floats

    def margins(self, sources: Sequence[Ints]) -> Floats:
        """Return the margins of rows whose column j is that of the rows ``sources[j]``."""
        sums = sum(self.terms[:, rows, column] for column, rows in enumerate(sources))
        return np.asarray(sums + self.constants[:, None])


def read_linear(scorer: Scorer, table: Table) -> LinearTable:
    """Return a table through a linear model, or several whose outputs are averaged, checked by the model.

    For probabilities the margins are such that the outputs are logistic. A NotNativeError says that the model
    is not linear, that its preprocessing mixes columns, or that the sums give an output which is not the
    model's.
    """
    parts = []
    for steps, head, scale, shift in _heads(scorer):
        terms, constants = column_terms(steps, head, table)
        parts.append((scale * terms, scale * constants + shift))
    read = LinearTable(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    sources = check_sources(table, np.arange(len(table.names)))
    margins = read.margins(sources)
    outputs = expit(margins) if scorer.has_probabilities else margins
    check_outputs(scorer, table, sources, outputs.mean(axis=0), "its weights")
    return read


def column_terms(steps: list[Any], head: Any, table: Table) -> LinearTable:
    """Return the margins of a linear model behind some steps; they are not checked.

    Each value of a column is encoded once, and a sparse matrix stays one.
    """
    # sparsify() makes a sparse matrix of them.
    weights = head.coef_.toarray() if hasattr(head.coef_, "toarray") else head.coef_
    weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    varied, changes = one_by_one(table)
    probes = to_numbers(transform(steps, table.store.mix(changes)))
    if probes.shape[1] != weights.shape[1]:
        raise NotNativeError(f"it has {weights.shape[1]} weights for {probes.shape[1]} features")
    owner = find_owners(probes, varied, table)
    owned, unowned = owner >= 0, owner < 0
    by_column = np.zeros((len(weights), len(owner), len(table.names)))
    by_column[:, owned, owner[owned]] = weights[:, owned]
    values, which = condense(table)
    terms = np.empty((len(weights), table.n_rows, len(table.names)))
    of_values = np.empty((len(weights), max(len(rows) for rows in values), len(table.names)))
    for wanted, rows in rows_of_values(values, len(owner)):
        encoded = transform(steps, table.store.mix(rows))
        is_sparse = hasattr(encoded, "tocsr")
        encoded = csr_array(encoded) if is_sparse else to_numbers(encoded)
        if (to_numbers(encoded[:, unowned]) != probes[0, unowned]).any():
            raise NotNativeError(UNOWNED)
        for of_margin, part in zip(of_values, by_column, strict=True):
            of_margin[wanted] = (encoded @ csr_array(part)).toarray() if is_sparse else encoded @ part
    for column, codes in enumerate(which):
        terms[:, :, column] = of_values[:, codes, column]
    constants = np.ravel(head.intercept_) + weights[:, unowned] @ probes[0, unowned]
    return LinearTable(terms, constants)


def is_linear(scorer: Scorer) -> bool:
    """Say whether a model looks like a linear one, with one margin or the mean of several."""
    return all(
        has_weights(head)
        and np.size(head.intercept_) == 1
        and link_of(head) in ("identity", "logistic")
        and np.isfinite(scale)
        for _, head, scale, _ in _heads(scorer)
    )


def has_weights(head: Any) -> bool:
    """Say whether an estimator has the weights of a linear model."""
    # A support vector machine with another kernel has the name, and raises an error like one that has not.
    weights = getattr(head, "coef_", None)
    return weights is not None and np.size(getattr(head, "intercept_", ())) == len(np.atleast_2d(weights))


def link_of(head: Any) -> str:
    """Return what makes a linear model's output of its margins."""
    if is_classifier(head) and hasattr(head, "predict_proba"):
        return "softmax" if np.size(head.intercept_) > 1 else "logistic"
    kinds = (GammaRegressor, PoissonRegressor, TweedieRegressor)
    return "exponential" if isinstance(head, kinds) else "identity"


def _heads(scorer: Scorer) -> list[tuple[list[Any], Any, float, float]]:
    """Return the linear models with the steps before each, and the scale and shift that make its logits.

    There are several in a calibration, and no scale (NaN) unless that is a sigmoid.
    """
    before, model = split(scorer.model)
    if not isinstance(model, CalibratedClassifierCV):
        return [(before, model, 1.0, 0.0)]
    heads = []
    for calibrated in model.calibrated_classifiers_:
        inner, head = split(calibrated.estimator)
        sigmoid = calibrated.calibrators[0]
        scale, shift = (-float(getattr(sigmoid, name, np.nan)) for name in ("a_", "b_"))
        heads.append(([*before, *inner], head, scale, shift))
    return heads
