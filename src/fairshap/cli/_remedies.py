"""A remedy that ``tune`` tries, as a table to train on: edited cells, added rows, weights."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

from fairshap import FairSHAP
from fairshap._crossval import CrossValidation
from fairshap._crossval.ranking import check_minimize
from fairshap._crossval.trials import draw_seed
from fairshap._messages import check_choice, listing
from fairshap._models import copy_estimator
from fairshap._typing import Floats, Ints
from fairshap.cli._options import ConstraintOptions, RunOptions
from fairshap.cli._problem import CommandTable
from fairshap.edits import Edits
from fairshap.exceptions import InputError
from fairshap.mitigation import (
    CounterfactualAugmenter,
    MitigatedClassifier,
    ParityWeigher,
    Reweigher,
    SensitiveRemover,
    SoftLabeler,
)
from fairshap.model_selection._candidates import Candidate, Maker

#: The families of candidates that are tables; the others are rules for predicting.
TABLES = ("plain", "weights", "cells", "labels")
_PLAIN = (SensitiveRemover, type(None))


def read_minimized(text: str) -> Any:
    """Return the name of what is made small, or weights."""
    if "=" not in text:
        return text
    weights: dict[str, Any] = {}
    for name, _, weight in (part.partition("=") for part in text.split(",")):
        # What is no number is refused by name.
        weights[name.strip()] = weight
        with suppress(ValueError):
            weights[name.strip()] = float(weight)
    return weights


def find_remedy(
    name: str,
    problem: CommandTable,
    estimator: Any,
    run: RunOptions,
    limits: ConstraintOptions,
    minimize: str,
) -> Candidate:
    """Return the candidate that ``tune`` calls by a name, or say which names there are."""
    made_small = read_minimized(minimize)
    check_minimize(made_small)
    how: dict[str, Any] = {"constraints": limits.constraints(), "matcher": limits.matcher}
    seed = draw_seed(run.seed)
    template = FairSHAP(estimator, **problem.who, **how, random_state=seed, n_jobs=run.jobs)
    read = CrossValidation.read("repair", template, problem.X, problem.y, problem.positive, None, 1)
    made = Maker(template, read.problem, made_small, problem.positive).make(None, is_blind=False)
    known = {one.name: one for one in made}
    check_choice(name, "remedy", [*known], "; fairshap tune shows what each of them does")
    return known[name]


@dataclass(frozen=True, slots=True)
class TrainingTable:
    """What a remedy makes of a table: one to train on, with weights where it has a column of them."""

    edits: Edits
    #: The row that each added row is a copy of, and the values of its attribute.
    copied: Ints
    switched: pd.DataFrame
    #: A row that has the label of each added row.
    labeled: Ints
    weights: Floats | None
    #: The name of their column.
    weight_column: str
    left_out: list[str]

    @classmethod
    def of(cls, candidate: Candidate, problem: CommandTable) -> "TrainingTable":
        """Return the table of a candidate; one that is a rule for predicting is an error."""
        model, X, y = copy_estimator(candidate.model), problem.X, problem.y
        none: Ints = np.empty(0, dtype=np.int64)
        edits, copied = Edits(none, [], [], [], [], np.empty(0), none), none
        after, labels = X, y
        labeled, weights = none, None
        method = getattr(model, "method", None)
        if candidate.kind.startswith("cells"):
            repair = model._repair()
            after, labels = repair.fit_resample(X, y)
            edits, copied = repair.edits_, repair.counterfactual_of_
            labeled, weights = copied, repair.sample_weight_
            weigher = model._weigher(repair, model._estimator())
            if weigher is not None:
                weights = weigher.fit(after, labels, sample_weight=weights).sample_weight_
        elif isinstance(method, CounterfactualAugmenter):
            after, _ = method.fit_resample(X, y)
            copied = np.asarray(method.counterfactual_of_, dtype=np.int64)
            weights = np.asarray(method.sample_weight_, dtype=np.float64)
            labeled = copied
        elif isinstance(method, SoftLabeler):
            after, labels = method.fit_resample(X, y)
            copied, weights = np.arange(len(X)), method.sample_weight_
            first = y.reset_index(drop=True).drop_duplicates()
            labeled = pd.Series(first.index, first.to_numpy())[labels.iloc[len(X) :]].to_numpy()
        elif isinstance(method, (Reweigher, ParityWeigher)):
            weights = method.fit(X, y).sample_weight_
        elif not (isinstance(model, MitigatedClassifier) and isinstance(method, _PLAIN)):
            raise InputError(
                f"remedy={candidate.name!r} is a rule for predicting, and no table to train on. In Python "
                "it is one of fairshap.tune(...).",
                parameter="remedy",
            )
        names = np.atleast_1d(problem.sensitive).tolist()
        is_blind = model.drop_sensitive or isinstance(method, SensitiveRemover)
        taken, name = problem.source.document.names, "sample_weight"
        while name in taken:
            name = f"{name}_"
        switched = after[names].iloc[len(X) :]
        left_out = names if is_blind else []
        return cls(edits, copied, switched, labeled, weights, name, left_out)

    def finish(self, frame: pd.DataFrame, target: str) -> pd.DataFrame:
        """Return a table of edited cells with the added rows and the weights, without what is left out."""
        own = np.arange(len(frame))
        added = frame.iloc[np.concatenate([own, self.copied])].reset_index(drop=True)
        for name in self.switched.columns:
            added[name] = pd.concat([frame[name], self.switched[name]], ignore_index=True)
        added[target] = pd.concat([frame[target], frame[target].iloc[self.labeled]], ignore_index=True)
        if self.weights is not None:
            added[self.weight_column] = self.weights
        return added.drop(columns=self.left_out)

    def to_bytes(self, problem: CommandTable, path: str) -> bytes:
        """Return the file of the table; cells are byte for byte what they were if only cells are edited."""
        is_same = not (len(self.copied) or self.weights is not None or self.left_out)
        finish = None if is_same else partial(self.finish, target=problem.target)
        return problem.source.to_bytes(path, self.edits, finish)

    def files(
        self, problem: CommandTable, out: str, edits: str | None
    ) -> list[tuple[str | None, Callable[[], bytes]]]:
        """Return the ledger and the table, with what makes the bytes of each."""
        table = self.to_bytes(problem, out)
        checksums = {"original": problem.source.checksum, "repaired": sha256(table).hexdigest()}
        return [(edits, lambda: self.edits.to_bytes(**checksums)), (out, lambda: table)]

    def describe(self) -> dict[str, Any]:
        """Return what was done, as JSON takes it."""
        return {
            "edits": len(self.edits),
            "rows_edited": len(np.unique(self.edits.row)),
            "rows_added": len(self.copied),
            "weight_column": None if self.weights is None else self.weight_column,
            "weights": None if self.weights is None else [self.weights.min(), self.weights.max()],
            "left_out": self.left_out,
        }

    def lines(self, n_cells: int) -> list[str]:
        """Return what was done, in sentences."""
        told = self.describe()
        said = []
        if told["edits"]:
            share = told["edits"] / n_cells
            said.append(
                f"{told['edits']:,} of {n_cells:,} cells ({share:.2%}) were replaced, in "
                f"{told['rows_edited']:,} rows."
            )
        if len(self.copied):
            what = "attribute" if np.array_equal(self.labeled, self.copied) else "label"
            said.append(f"{len(self.copied):,} rows were added: copies with the {what} switched.")
        if self.weights is not None:
            low, high = told["weights"]
            span = f"{low:.3g}" if low == high else f"from {low:.3g} to {high:.3g}"
            said.append(
                f"The column {self.weight_column} has the weights of the rows, {span}: "
                "hand it to the fit as sample_weight, and not to the model as a column."
            )
        if self.left_out:
            said.append(f"Left out: {listing(self.left_out)}. The model is to be trained without.")
        return said or ["The table is as it was."]
