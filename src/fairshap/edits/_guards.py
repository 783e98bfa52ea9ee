"""Guards: rows that are left as they are, because their edits would do harm."""

from typing import Any, Literal, TypeAlias

import numpy as np

from fairshap._frames import Players
from fairshap._messages import did_you_mean
from fairshap._models import Risk
from fairshap._problem import Labels
from fairshap._ties import exceeds
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution import risk_when_replaced
from fairshap.exceptions import InputError

#: What must not rise: nothing, the risk (True is the same), or how far the model is from the row's label.
Guard: TypeAlias = bool | Literal["risk", "label"]


def check_guard(guard: Any) -> None:
    """Raise an error unless a guard is known."""
    is_name = isinstance(guard, str) and guard in ("risk", "label")
    if not isinstance(guard, (bool, np.bool_)) and not is_name:
        raise InputError(
            f"guard={guard!r} is not known; give False, 'risk' (or True) or 'label'."
            f"{did_you_mean(guard, ['risk', 'label'])}",
            parameter="guard",
        )


def describe_guard(guard: Guard) -> str:
    """Say what a guard that is on watches."""
    return "guard of labels" if guard == "label" else "guard of risk"


def leave_harmed(
    replaced: Bools, guard: Guard, risk: Risk, labels: Labels, players: Players, rows: Ints, references: Ints
) -> None:
    """Take back the replacements of rows that they would do harm to.

    Parameters
    ----------
    replaced : ndarray of bool, shape (rows, players)
        Changed.
    guard : Guard
        What must not rise.
    risk : Risk
        The consulted model and the table.
    labels : Labels
        The target of the table's rows.
    players : Players
        Which columns are switched as one.
    rows, references : ndarray of int, shape (rows,)
        Positions in the table.
    """
    if not len(rows):
        return
    if guard == "label":
        before, after = (
            _miss(risk, labels, players, rows, references, who) for who in (np.zeros_like(replaced), replaced)
        )
    else:
        before, after = (
            risk_when_replaced(risk, players, rows, references, who)
            for who in (np.zeros_like(replaced), replaced)
        )
    replaced[exceeds(after, before, risk.unit)] = False


def _miss(
    risk: Risk, labels: Labels, players: Players, rows: Ints, references: Ints, replaced: Bools
) -> Floats:
    """Return how far the model is from the target of rows, some of whose players are the reference's.

    Of a label it is minus its score, in whatever unit that is; of a quantity the distance to it.
    """
    table, scorer = risk.setting.table, risk.scorer
    codes = _positions(labels, getattr(scorer.model, "classes_", None))
    miss = np.empty(len(rows))
    for part in np.split(np.arange(len(rows)), range(risk.call_rows, len(rows), risk.call_rows)):
        own, other = rows[part], references[part]
        sources = [np.where(replaced[part, player], other, own) for player in players.of_column]
        # An attribute that was added is no player's column.
        sources += [own] * (len(table.names) - len(sources))
        scores = scorer(table.store.mix(sources))
        if labels.classes is None:
            miss[part] = np.abs(scores - labels.values[own])
        elif scores.ndim == 1:
            miss[part] = np.where(codes[own] == 1, -scores, scores)
        else:
            miss[part] = -scores[np.arange(len(own)), codes[own]]
    return miss


def _positions(labels: Labels, known: Any) -> Ints:
    """Return where the label of each row stands among those that the model knows, which may be more.

    A model may also have been trained on the numbers of the labels, from 0 on.
    """
    if labels.classes is None:
        return labels.codes
    own = np.unique(labels.values, return_inverse=True)[1]
    if known is None:
        return own
    places = {label: k for k, label in enumerate(np.asarray(known).tolist())}
    names = labels.classes.tolist()
    missing = [name for name in names if name not in places]
    if not missing:
        return np.array([places[name] for name in names], dtype=np.int64)[own]
    if len(missing) == len(names) and list(places) == list(range(len(names))):
        return own
    raise InputError(
        f"guard='label' asks the model for the labels of y, and it does not know {missing[0]!r}; it knows "
        f"{', '.join(map(repr, places))}.",
        parameter="guard",
    )
