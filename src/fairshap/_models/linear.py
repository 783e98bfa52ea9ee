"""Linear models as sums, one term for each column, checked against the model itself."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV

from fairshap._frames import Table
from fairshap._models.probing import (
    ENCODED_CELLS,
    N_CHECKED,
    TOLERANCE,
    check_outputs,
    check_sources,
    find_owners,
    make_encoder,
    one_by_one,
)
from fairshap._models.scorer import NotNativeError, Scorer, rows_of, split, spread
from fairshap._typing import Floats, Ints, Native

# Probabilities between which their odds are read without loss.
_CLEAR = 0.001


class LinearTable(NamedTuple):
    """A table through a linear model: the mean of some margins, each through the logistic function or not.

    For each margin, ``encoders`` make features of rows; ``weights``, shape (features, columns), say what each
    feature adds to the term of its column; and every row has one of the ``constants`` besides.
    """

    table: Table
    encoders: Sequence[Callable[[Native], Floats]]
    weights: Sequence[Floats]
    constants: Floats
    is_logistic: bool

    def terms(self, rows: Ints) -> Floats:
        """Return what each column of some rows adds to each margin, shape (margins, rows, columns)."""
        native = rows_of(self.table, rows)
        return np.stack([encode(native) @ of for encode, of in zip(self.encoders, self.weights, strict=True)])

    @property
    def width(self) -> int:
        """How many numbers a row takes while its terms are made."""
        return len(self.weights) * max(len(self.table.names), *(len(of) for of in self.weights))


def read_linear(scorer: Scorer, table: Table) -> LinearTable:
    """Return a table through a linear model, checked against the model itself.

    A NotNativeError says that the model is not linear, that its preprocessing mixes columns, or that the sums
    give an output which is not the model's.
    """
    is_logistic = scorer.has_probabilities
    heads = [_read_head(*head, table, is_logistic) for head in _heads(scorer)]
    encoders, weights, constants = zip(*heads, strict=True)
    read = LinearTable(table, encoders, weights, np.array(constants), is_logistic)
    sources = check_sources(table, np.arange(len(table.names)))
    needed, place = np.unique(np.stack(sources), return_inverse=True)
    terms = np.take_along_axis(read.terms(needed), place.reshape(1, len(sources), -1).swapaxes(1, 2), axis=1)
    margins = terms.sum(axis=2) + read.constants[:, None]
    outputs = expit(margins) if is_logistic else margins
    check_outputs(scorer, table, sources, outputs.mean(axis=0), "its weights")
    return read


def is_linear(scorer: Scorer) -> bool:
    """Say whether a model looks like a linear one."""
    return all(_has_weights(head) for _, head, _ in _heads(scorer))


def _has_weights(head: Any) -> bool:
    # A support vector machine with another kernel has the name, and raises an error like one that has not.
    weights, constant = getattr(head, "coef_", None), getattr(head, "intercept_", ())
    return weights is not None and np.size(constant) == 1 and (weights.ndim == 1 or weights.shape[0] == 1)


def _heads(scorer: Scorer) -> list[tuple[list[Any], Any, Callable[[Native], Floats]]]:
    """Return for each margin the steps before the linear model, that model, and what gives its output."""
    before, model = split(scorer.model)
    if not isinstance(model, CalibratedClassifierCV):
        return [(before, model, scorer)]
    heads: list[tuple[list[Any], Any, Callable[[Native], Floats]]] = []
    for calibrated in model.calibrated_classifiers_:
        inner, head = split(calibrated.estimator)

        def ask(rows: Any, calibrated: Any = calibrated) -> Floats:
            for transformer in before:
                rows = transformer.transform(rows)
            return np.asarray(calibrated.predict_proba(rows)[:, 1], dtype=np.float64)

        heads.append(([*before, *inner], head, ask))
    return heads


def _read_head(
    transformers: list[Any], head: Any, ask: Callable[[Native], Floats], table: Table, is_logistic: bool
) -> tuple[Callable[[Native], Floats], Floats, float]:
    """Return the encoder, weights and constant of a margin, on the scale on which its output is logistic."""
    encode = make_encoder(transformers, head)
    # sparsify() makes a sparse matrix of them.
    weights = head.coef_.toarray() if hasattr(head.coef_, "toarray") else head.coef_
    weights = np.asarray(weights, dtype=np.float64).ravel()
    varied, changes = one_by_one(table)
    probes = encode(table.store.mix(changes))
    if probes.shape[1] != len(weights):
        raise NotNativeError(f"it has {len(weights)} weights for {probes.shape[1]} features")
    owner = find_owners(probes, varied, table)
    owned, unowned = owner >= 0, owner < 0
    size = max(1, ENCODED_CELLS // len(owner))
    for start in range(0, table.n_rows, size):
        rows = np.arange(start, min(start + size, table.n_rows))
        if (encode(rows_of(table, rows))[:, unowned] != probes[0, unowned]).any():
            raise NotNativeError("a feature varies with no column by itself")
    constant = float(np.ravel(head.intercept_)[0]) + float(probes[0, unowned] @ weights[unowned])
    scale = 1.0
    if is_logistic:
        chosen = rows_of(table, spread(table.n_rows, N_CHECKED))
        margins = encode(chosen)[:, owned] @ weights[owned] + constant
        scale, shift = _fit_link(margins, ask(chosen))
        constant = scale * constant + shift
    by_column = np.zeros((len(weights), len(table.names)))
    by_column[owned, owner[owned]] = scale * weights[owned]
    return encode, by_column, constant


def _fit_link(margins: Floats, probabilities: Floats) -> tuple[float, float]:
    """Return the scale and shift that make logits of margins, from the two margins that tell most."""
    clear = np.flatnonzero((probabilities > _CLEAR) & (probabilities < 1 - _CLEAR))
    if len(clear) < 2 or np.ptp(margins[clear]) == 0:
        raise NotNativeError("its probabilities do not tell their margins")
    # Only now: where all probabilities are 0 or 1, any link would do.
    if np.abs(expit(margins) - probabilities).max() <= TOLERANCE:
        return 1.0, 0.0
    low, high = clear[margins[clear].argmin()], clear[margins[clear].argmax()]
    logits = np.log(probabilities) - np.log1p(-probabilities)
    scale = float((logits[high] - logits[low]) / (margins[high] - margins[low]))
    return scale, float(logits[low] - scale * margins[low])
