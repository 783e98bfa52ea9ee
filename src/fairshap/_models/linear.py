"""Linear models as sums, one term for each column, checked against the model itself."""

from collections.abc import Callable
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
    some_mixes,
    split,
)
from fairshap._models.scorer import NotNativeError, Scorer, rows_of, spread
from fairshap._typing import Floats, Ints, Native

# Probabilities between which their odds are read without loss.
_CLEAR = 0.001


class Component(NamedTuple):
    """One linear function of a table: a margin that is a sum over its columns.

    ``encode`` makes features of rows; ``weights``, shape (features, columns), say what each feature adds to
    the term of its column.
    """

    encode: Callable[[Native], Floats]
    weights: Floats
    constant: float


class LinearTable(NamedTuple):
    """A table through a linear model: the mean of some margins, each through the logistic function or not."""

    table: Table
    components: list[Component]
    is_logistic: bool

    def terms(self, rows: Ints) -> Floats:
        """Return what each column of some rows adds to each margin, shape (components, rows, columns)."""
        native = rows_of(self.table, rows)
        return np.stack([component.encode(native) @ component.weights for component in self.components])

    @property
    def width(self) -> int:
        """How many numbers a row takes while its terms are made."""
        return max(len(self.table.names), *(len(component.weights) for component in self.components))

    @property
    def constants(self) -> Floats:
        """What every row has besides, for each component."""
        return np.array([component.constant for component in self.components])


def read_linear(scorer: Scorer, table: Table) -> LinearTable:
    """Return a table through a linear model, checked against the model itself.

    A NotNativeError says that the model is not linear, that its preprocessing mixes columns, or that the sums
    give an output which is not the model's.
    """
    components = [
        _component(make_encoder(steps, head), head, ask, table, scorer.has_probabilities)
        for steps, head, ask in _heads(scorer)
    ]
    read = LinearTable(table, components, scorer.has_probabilities)
    sources = check_sources(table, np.arange(len(table.names)), some_mixes(table))
    needed, place = np.unique(np.stack(sources), return_inverse=True)
    terms = np.take_along_axis(read.terms(needed), place.reshape(1, len(sources), -1).swapaxes(1, 2), axis=1)
    margins = terms.sum(axis=2) + read.constants[:, None]
    outputs = expit(margins) if read.is_logistic else margins
    check_outputs(scorer, table, sources, outputs.mean(axis=0), "its weights")
    return read


def is_linear(scorer: Scorer) -> bool:
    """Say whether a model looks like a linear one."""
    _, model = split(scorer.model)
    if isinstance(model, CalibratedClassifierCV):
        heads = [split(calibrated.estimator)[1] for calibrated in model.calibrated_classifiers_]
    else:
        heads = [model]
    return all(np.size(getattr(head, "intercept_", ())) == 1 and _has_weights(head) for head in heads)


def _has_weights(head: Any) -> bool:
    try:
        return bool(head.coef_.ndim == 1 or head.coef_.shape[0] == 1)
    except AttributeError:
        # A support vector machine with another kernel has the name and raises.
        return False


def _heads(scorer: Scorer) -> list[tuple[list[Any], Any, Callable[[Native], Floats]]]:
    """Return for each component the steps before the linear model, that model, and what gives its output."""
    outer, model = split(scorer.model)
    before = [] if outer is None else [outer]
    if not isinstance(model, CalibratedClassifierCV):
        return [(before, model, scorer)]
    heads: list[tuple[list[Any], Any, Callable[[Native], Floats]]] = []
    for calibrated in model.calibrated_classifiers_:
        inner, head = split(calibrated.estimator)

        def ask(rows: Any, calibrated: Any = calibrated) -> Floats:
            rows = rows if outer is None else outer.transform(rows)
            return np.asarray(calibrated.predict_proba(rows)[:, 1], dtype=np.float64)

        heads.append((before if inner is None else [*before, inner], head, ask))
    return heads


def _component(
    encode: Callable[[Native], Floats],
    head: Any,
    ask: Callable[[Native], Floats],
    table: Table,
    is_logistic: bool,
) -> Component:
    """Return one linear function, brought to the scale on which its output is logistic."""
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
    return Component(encode, by_column, constant)


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
