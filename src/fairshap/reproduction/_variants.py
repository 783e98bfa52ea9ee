"""Other ways to a fairer model than the paper's, on one fold: what ``beyond`` compares."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any
from warnings import catch_warnings

import numpy as np

from fairshap._typing import Floats
from fairshap.edits import Edits
from fairshap.estimators import paper_settings, tune
from fairshap.exceptions import NoiseWarning
from fairshap.repair import Augment, Repaired, describe_twins
from fairshap.reproduction._consulting import Consulted, judge_repaired
from fairshap.reproduction._experiment import Record
from fairshap.reproduction._measuring import MODEL, Fold, fit_model, judge, records_of
from fairshap.reproduction._settings import Arrays, Part, load_arrays

ENCODED, RAW = "encoded features", "raw columns"
STRATEGIES = ("threshold", "optimal", "iterative")
AUGMENTS: tuple[Augment, ...] = (None, "edited", "all")
#: The names of what has no edits, and of what is picked.
BASELINE, DROPPED, TWINS, TUNED = "Baseline", "RSA", "twins alone", "tuned"

# What tune calls those that it need not repair anything for.
_PLAIN = {"the model as it is": BASELINE, "the model without the sensitive column": DROPPED}


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to choose edits and to train on them.

    Parameters
    ----------
    players : str
        What is switched as one.
    strategy : str
        Which cells are replaced.
    augment : {None, "edited", "all"}
        Which rows get twins.
    """

    players: str
    strategy: str
    augment: Augment

    @property
    def method(self) -> str:
        """Its name; the paper's own has the paper's."""
        if self == Variant(ENCODED, "threshold", None):
            return "FairSHAP"
        twins = "" if self.augment is None else f", {describe_twins(self.augment)}"
        return f"{self.strategy}, {self.players}{twins}"


#: All of them, and the few for tables that take long: no rounds, and twins with raw columns only.
ALL = tuple(Variant(*parts) for parts in product((ENCODED, RAW), STRATEGIES, AUGMENTS))
FEW = tuple(one for one in ALL if one.strategy != "iterative" and (one.players == RAW or one.augment is None))
NAMES = (BASELINE, DROPPED, TWINS, *(one.method for one in ALL), TUNED)


def measure_variants(
    key: str, part: Part, number: int, n_folds: int, is_full: bool, random_state: int
) -> list[Record]:
    """Return what all variants, or a few, come to on one fold, beside what needs no edits."""
    fold = Fold.load(key, part, 1, number, n_folds, random_state)
    arrays = load_arrays(key, part)
    names = {"setting": key, "part": part, "model": MODEL, "seed": 1, "fold": number}
    model = fit_model(fold.X, fold.y)
    encoded = Consulted.ask(fold, model)
    asked = {ENCODED: encoded, RAW: Consulted.ask(fold, model, encoded, players=arrays.players)}
    lines = records_of(_plain(BASELINE, fold, model), **names, method=BASELINE)
    lines += records_of(_plain(DROPPED, fold, model), **names, method=DROPPED)
    twins = encoded.repair(threshold=np.inf, augment="all")
    lines += records_of(_found(fold, twins, arrays), **names, method=TWINS)
    for one in ALL if is_full else FEW:
        repaired = asked[one.players].repair(strategy=one.strategy, augment=one.augment)
        lines += records_of(_found(fold, repaired, arrays), **names, **asdict(one), method=one.method)
    return lines


def measure_tuned(
    key: str,
    part: Part,
    number: int,
    n_folds: int,
    thresholds: Sequence[float],
    n_repeats: int,
    random_state: int,
) -> list[Record]:
    """Return what the repair comes to that ``tune`` picks on the training rows of one fold."""
    from xgboost import XGBClassifier

    fold = Fold.load(key, part, 1, number, n_folds, random_state)
    arrays = load_arrays(key, part)
    # What is told of noise does not change what is picked.
    with catch_warnings(action="ignore", category=NoiseWarning):
        tuning = tune(
            fold.X,
            fold.y,
            XGBClassifier(n_jobs=1),
            **fold.who,
            players=arrays.players,
            thresholds=tuple(thresholds),
            strategies=("threshold",),
            augments=("edited", "all"),
            comparison=paper_settings()["comparison"],
            n_repeats=n_repeats,
            random_state=random_state,
            n_jobs=1,
        )
    model = fit_model(fold.X, fold.y)
    if tuning.recommended in _PLAIN:
        found = _plain(_PLAIN[tuning.recommended], fold, model)
    else:
        picked = tuning.repair
        consulted = Consulted.ask(fold, model, players=picked.players, threshold=picked.threshold)
        found = _found(fold, consulted.repair(augment=picked.augment), arrays)
    names = {"setting": key, "part": part, "model": MODEL, "seed": 1, "fold": number}
    return records_of(found, **names, method=TUNED, picked=tuning.recommended)


def _plain(name: str, fold: Fold, model: Any) -> dict[str, float]:
    """Return what the model does as it is, or one that is trained without the sensitive column."""
    if name == BASELINE:
        return judge(model, fold, fold.X_test) | {"edits": 0, "values": 0}
    rows, test_rows = (np.delete(X, fold.sensitive, axis=1) for X in (fold.X, fold.X_test))
    found = judge(fit_model(rows, fold.y), fold, test_rows, sees_attribute=False)
    # Who does not see the attribute does not mind that it is switched.
    return found | {"dr": 0.0, "edits": 0, "values": 0}


def _found(fold: Fold, repaired: Repaired, arrays: Arrays) -> dict[str, float]:
    found = judge_repaired(fold, repaired)
    after = np.asarray(repaired.X)[: len(fold.X)]
    return found | count_invalid(repaired.edits, fold.X, after, arrays.players)


def count_invalid(
    edits: Edits, before: Floats, after: Floats, players: dict[str, list[int]]
) -> dict[str, float]:
    """Return how many raw values the edits change, and the shares of edited rows that are no longer valid.

    A row is not valid if edits made it of no category, or of several, in some raw column. A missing value is
    of none in the encoded table: a row that had it, or got it from its reference, is as valid as before.

    Parameters
    ----------
    edits : Edits
        The edits of an encoded table.
    before, after : ndarray
        The rows as they were, and as they are.
    players : dict
        The positions of the features of each raw column that has several, one for each category.

    Returns
    -------
    dict
        ``values``; ``invalid``, the share of edited rows; ``invalid_categorical``, the share of those with an
        edited category. What is a share of nothing is left out.
    """
    owner = {column: name for name, columns in players.items() for column in columns}
    changed = {(row, owner.get(column, column)) for row, column in _cells(edits)}
    found = {"values": float(len(changed))}
    # Each edited row once, with its reference: it has one.
    edited, first = np.unique(edits.row, return_index=True)
    reference = edits.reference[first]
    invalid = np.zeros(len(edited), dtype=bool)
    for columns in players.values():
        old, given, new = before[edited][:, columns], before[reference][:, columns], after[edited][:, columns]
        is_known = (new == old).all(axis=1) | (new == given).all(axis=1)
        invalid |= (new.sum(axis=1) != 1) & ~is_known
    with_category = {row for row, column in _cells(edits) if column in owner}
    if len(edited):
        found["invalid"] = float(invalid.sum() / len(edited))
    if with_category:
        found["invalid_categorical"] = float(invalid.sum() / len(with_category))
    return found


def _cells(edits: Edits) -> Iterator[tuple[int, Any]]:
    return zip(edits.row.tolist(), edits.column, strict=True)
