"""What ``tune`` tries: plain remedies, weights, cells, soft labels, corrections and peers."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any

from sklearn.base import clone

from fairshap._crossval import with_params
from fairshap._crossval.ranking import Minimize, weights_of
from fairshap._messages import check_choice, listing
from fairshap._models import trouble_with_either_label
from fairshap._names import FAMILIES
from fairshap._problem import Problem
from fairshap.edits import Threshold
from fairshap.edits._selectors import make_constraints
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError
from fairshap.mitigation import (
    CorrelationRemover,
    CounterfactualAugmenter,
    MitigatedClassifier,
    ParityWeigher,
    ProxyCorrection,
    ReductionClassifier,
    Reweigher,
    SensitiveRemover,
    SoftLabeler,
    ThresholdClassifier,
)
from fairshap.mitigation._randomized import Constraint
from fairshap.model_selection._trials import KINDS, as_classifier, kind_of, needs_attribute, with_positive
from fairshap.predictors import FairSHAPClassifier

# The thresholds of edits in units of the table's own risk or gap, and the strengths of weights and
# corrections.
_THRESHOLDS, _STRENGTHS = (3.0, 1.5, 0.75), (0.2, 0.4, 0.6, 0.8, 1.0, 1.4)
# The accuracy that a search for strengths may give away, and how far apart peers may leave the groups. Soft
# labels win some of it back.
_DROPS, _TOLERANCES = (0.004, 0.01), (0.02, 0.05)
_LABEL_DROPS = (0.004, 0.012, 0.02)
# The gaps that remedies aim at; what is none of them is best served by the first.
_AIMS: dict[str, Constraint] = {
    "dp": "demographic_parity",
    "eo": "equal_opportunity",
    "eodds": "equalized_odds",
}


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A classifier that is tried; ``action`` says in plain words what to do."""

    name: str
    model: Any
    action: str
    kind: str
    needs_attribute: bool

    @property
    def complexity(self) -> int:
        """How simple it is: 0 is the simplest."""
        return KINDS.index(self.kind)

    @property
    def is_slow(self) -> bool:
        """Whether it trains many models that no other candidate has a use for."""
        return isinstance(self.model, (ReductionClassifier, ThresholdClassifier))

    @property
    def is_plain(self) -> bool:
        """Whether it is one of the remedies that anybody would try first."""
        return self.kind in ("column dropped", "reweighing", "counterfactual rows")


@dataclass(frozen=True, slots=True, eq=False)
class Maker:
    """Makes the candidates for a table."""

    template: FairSHAP
    problem: Problem
    minimize: Minimize
    positive: Any = None

    def make(self, candidates: Any, is_blind: bool) -> list[Candidate]:
        """Return all candidates, the baseline first; beside it only those that predict blindly, if asked."""
        made = [self._one("baseline", MitigatedClassifier(None, self._estimator), "Keep the model as it is")]
        made += self._dropped()
        if isinstance(candidates, Mapping):
            models = {name: as_classifier(one, self._estimator) for name, one in candidates.items()}
            made += [self._one(name, model, f"Take {name!r}") for name, model in models.items()]
        else:
            names = FAMILIES if candidates is None else candidates
            if isinstance(names, str) or not names:
                raise InputError(
                    f"candidates={candidates!r} must be a list of some of {listing(FAMILIES)}, or a mapping "
                    "of names to classifiers and mitigation methods.",
                    parameter="candidates",
                )
            for name in names:
                check_choice(name, "candidates", FAMILIES)
            for name in FAMILIES:
                made += getattr(self, f"_{name}")() if name in names else []
        if len({one.name for one in made}) < len(made):
            message = "candidates names 'baseline' or 'drop the column', which are always tried."
            raise InputError(message, parameter="candidates")
        return [one for k, one in enumerate(made) if k == 0 or not (is_blind and one.needs_attribute)]

    @property
    def is_beside(self) -> bool:
        """Whether the attribute is not a column of the table."""
        return bool(self.problem.added)

    @property
    def _strengths(self) -> list[float]:
        """The strengths that are tried; negative ones if the privileged group is positive less often."""
        side, positive = self.problem.groups.side, self.problem.y.values == self.problem.y.positive_value
        sign = 1.0 if positive[side == 1].mean() >= positive[side == 0].mean() else -1.0
        return [sign * strength for strength in _STRENGTHS]

    @property
    def _estimator(self) -> Any:
        return self.template.estimator

    @property
    def _who(self) -> dict[str, Any]:
        return {"sensitive": self.template.sensitive, "privileged": self.template.privileged}

    @property
    def _aim(self) -> Constraint:
        """The gap that is made small, or the first of several, among those that remedies aim at."""
        return next((_AIMS[name] for name in weights_of(self.minimize) if name in _AIMS), _AIMS["dp"])

    def _one(self, name: str, model: Any, action: str) -> Candidate:
        return Candidate(name, model, action, kind_of(model), needs_attribute(model, self.problem))

    def _weighed(self, name: str, method: Any, action: str, *, drop: bool = True) -> Candidate:
        """Return the candidate that trains with weights, without the sensitive column unless it is kept."""
        drop = drop and not self.is_beside
        if drop and isinstance(method, Reweigher):
            # As in ``evaluate``, reweighing by itself keeps the column.
            name = f"drop the column, {name}"
        model = MitigatedClassifier(method, self._estimator, drop_sensitive=drop)
        said = f"Drop the sensitive column and {action}" if drop else action[0].upper() + action[1:]
        return self._one(name, model, said)

    def _dropped(self) -> list[Candidate]:
        if self.is_beside:
            return []
        model = MitigatedClassifier(SensitiveRemover(**self._who), self._estimator)
        return [self._one("drop the column", model, f"Drop the column {self.template.sensitive!r}")]

    def _plain(self) -> list[Candidate]:
        """Return reweighing and its square, and counterfactual rows."""
        action = "weight the rows by group and label (reweighing)"
        made = [
            self._weighed("reweighing", Reweigher(**self._who), action),
            self._weighed("reweighing squared", Reweigher(**self._who, strength=2.0), f"{action}, squared"),
        ]
        if self.is_beside:
            return made
        rows = MitigatedClassifier(CounterfactualAugmenter(**self._who), self._estimator)
        return [
            *made,
            self._weighed("reweighing", Reweigher(**self._who), action, drop=False),
            self._one("counterfactual rows", rows, "Add every row with the attribute switched"),
        ]

    def _weights(self) -> list[Candidate]:
        """Return weights of several strengths, given and searched."""
        made = []
        for gap, strength in product(self._priced, self._strengths):
            params = {**self._who, "positive": self.positive, "strengths": {gap: strength}}
            weigher = ParityWeigher(self._estimator, **params)
            said = f"weight the rows by group and label, at a strength of {strength:g} for {_spaced(gap)}"
            made.append(self._weighed(f"weights, {_spaced(gap)} {strength:g}", weigher, said))
        for drop in _DROPS:
            said = f"weight the rows by group and label, for at most {drop:g} of accuracy"
            weigher = ParityWeigher(self._estimator, **self._searched(drop))
            made.append(self._weighed(f"weights, searched for {drop:g}", weigher, said))
        return made

    def _labels(self) -> list[Candidate]:
        """Return soft labels, searched, and those of strength 0, if the estimator can learn from them."""
        if trouble_with_either_label(self._estimator):
            return []
        made = [self._labeled("self-distillation", {}, "learn from its own out-of-fold probabilities")]
        for drop in _LABEL_DROPS:
            said = f"learn from soft labels that narrow the gap, for at most {drop:g} of accuracy"
            made.append(self._labeled(f"soft labels, searched for {drop:g}", None, said, drop))
        return made

    def _corrections(self) -> list[Candidate]:
        """Return proxy corrections of several strengths, given and searched."""
        made = []
        for gap, strength in product(self._priced, self._strengths):
            model = ProxyCorrection(self._estimator, **self._seeded, strengths={gap: strength})
            said = f"Predict by a proxy correction of strength {strength:g} for {_spaced(gap)}"
            made.append(self._one(f"correction, {_spaced(gap)} {strength:g}", model, said))
        for drop in _DROPS:
            model = ProxyCorrection(self._estimator, **self._searched(drop))
            said = f"Predict by a proxy correction, for at most {drop:g} of accuracy"
            made.append(self._one(f"correction, searched for {drop:g}", model, said))
        return made

    def _labeled(self, name: str, strengths: Any, action: str, drop: float = 0.0) -> Candidate:
        """Return the candidate that learns from soft labels, without the sensitive column."""
        labeler = SoftLabeler(self._estimator, **self._searched(drop), strengths=strengths)
        return self._weighed(name, labeler, action)

    @property
    def _priced(self) -> tuple[str, ...]:
        """The gaps that strengths are given for."""
        gaps = ("demographic_parity", "equal_opportunity")
        return gaps[:1] if self._aim == gaps[0] else gaps

    def _searched(self, drop: float) -> dict[str, Any]:
        return {**self._seeded, "minimize": self._aim, "max_accuracy_drop": drop}

    @property
    def _seeded(self) -> dict[str, Any]:
        return {**self._who, "positive": self.positive, "random_state": self.template.random_state}

    def _cells(self) -> list[Candidate]:
        """Return edits of several thresholds: all or towards parity, by risk or gap, with weights or not."""
        made = []
        for threshold in _THRESHOLDS:
            made += [
                self._edits(threshold, drop=False),
                self._edits(threshold, drop=False, rows="edited"),
                self._edits(threshold, drop=False, direction="parity"),
                self._edits(threshold, direction="parity"),
                self._edits(threshold, direction="parity", weights=Reweigher(**self._who)),
                self._edits(threshold, direction="parity", game="gap"),
                self._edits(threshold, direction="parity", game="gap", weights=Reweigher(**self._who)),
            ]
        if not trouble_with_either_label(self._estimator):
            labeler = SoftLabeler(minimize=self._aim, max_accuracy_drop=_LABEL_DROPS[1])
            made.append(self._edits(_THRESHOLDS[1], direction="parity", weights=labeler))
        # Of those that differ in nothing but a column that is not there, or in what the user has set, one is
        # enough.
        return list({one.name: one for one in made if one.model is not None}.values())

    def _edits(
        self,
        threshold: float,
        *,
        game: str = "risk",
        direction: str | None = None,
        rows: str | None = None,
        weights: Any = None,
        drop: bool = True,
    ) -> Candidate:
        """Return the candidate that edits cells."""
        drop = drop and not self.is_beside
        constraints = clone(make_constraints(self.template.constraints))
        direction = direction or constraints.direction
        explainer = with_positive(self.template.explainer, self.positive)
        game = "gap" if explainer.game == "gap" else game
        chosen = {
            "selector": Threshold(threshold, relative=True),
            "explainer": explainer.set_params(game=game),
            "constraints": constraints.set_params(direction=direction),
            "counterfactuals": None if self.is_beside else rows,
            "estimator": None,
        }
        model = FairSHAPClassifier(
            with_params(self.template, **chosen), self._estimator, weights=weights, drop_sensitive=drop
        )
        parts = [f"cells {threshold:g}"]
        parts += ["towards parity"] if direction else []
        parts += ["gap game"] if game == "gap" else []
        parts += ["counterfactuals of edited rows"] if chosen["counterfactuals"] else []
        is_soft = isinstance(weights, SoftLabeler)
        parts += ["soft labels" if is_soft else "reweighing"] if weights is not None else []
        parts += ["column dropped"] if drop else []
        what = "gap" if game == "gap" else "risk"
        said = f"Edit the cells that carry {threshold:g} times the mean {what} or more"
        said += " in rows where that narrows the gap" if direction else ""
        more = ["add the edited rows with the attribute switched"] if chosen["counterfactuals"] else []
        learned = "learn from soft labels" if is_soft else "weight the rows by group and label"
        more += [learned] if weights is not None else []
        more += ["drop the sensitive column"] if drop else []
        said = " and ".join([", ".join([said, *more[:-1]]), *more[-1:]])
        return self._one(", ".join(parts), model, said)

    def _peers(self) -> list[Candidate]:
        """Return the reductions and thresholds of fairlearn, if it is installed."""
        if find_spec("fairlearn") is None:
            return []
        made, params = [], {**self._seeded, "constraint": self._aim}
        reduction, eps = "Train under a constraint (fairlearn's {})", _TOLERANCES[0]
        model = ReductionClassifier(self._estimator, **params, eps=eps, max_iter=10)
        said = reduction.format("ExponentiatedGradient")
        made.append(self._one(f"exponentiated gradient {eps:g}", model, said))
        model = ReductionClassifier(self._estimator, **params, method="grid_search", grid_size=10)
        made.append(self._one("grid search", model, reduction.format("GridSearch")))
        # Two rates can be made equal, and no more be held within a tolerance.
        tolerances = (0.0,) if self._aim == "equalized_odds" else _TOLERANCES
        if not self.is_beside:
            remover = MitigatedClassifier(CorrelationRemover(**self._who), self._estimator)
            said = "Remove what is linear in the attribute (fairlearn's CorrelationRemover)"
            made.append(self._one("correlation remover", remover, said))
        for tol in () if self.is_beside else tolerances:
            model = ThresholdClassifier(self._estimator, **params, tol=tol)
            said = "Give each group a threshold of its own (fairlearn's ThresholdOptimizer)"
            made.append(self._one(f"thresholds by group {tol:g}", model, said))
        return made


def _spaced(name: str) -> str:
    return name.replace("_", " ")
