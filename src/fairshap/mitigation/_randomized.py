"""What classifiers share that hold the groups alike: whom they compare, and how chance decides."""

from typing import Any, ClassVar, Literal, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import validate_data

from fairshap._crossval.measures import is_compared
from fairshap._frames import Table
from fairshap._kernels.hashing import cell_hashes, mix64
from fairshap._messages import check_choice
from fairshap._problem import Privileged, Problem, Target
from fairshap._problem.groups import read_attribute, split_quantity
from fairshap._typing import Bools, Floats, Ints, Native
from fairshap.exceptions import InputError, TargetError
from fairshap.mitigation._training import Trainer

#: In what the groups are held alike.
Constraint: TypeAlias = Literal["demographic_parity", "equal_opportunity", "equalized_odds"]
CONSTRAINTS = ("demographic_parity", "equal_opportunity", "equalized_odds")


class RandomizedClassifier(ClassifierMixin, Trainer):
    """Decides with a probability for each row, so that a constraint on the groups can be met exactly.

    What is drawn for a row depends on its cells, the attribute aside, and on the seed: the same row is
    decided alike in every batch, and for either value of the attribute by the same draw.
    """

    #: Whether the rows to predict must hold the sensitive attribute.
    attribute_at_prediction: ClassVar[bool]

    estimator: Any
    sensitive: Any
    privileged: Privileged
    constraint: Constraint
    positive: Any
    random_state: Any

    def _read(self, X: Native, y: Any, sensitive_features: Any = None) -> tuple[Problem, Target]:
        """Return the training table with its groups, and the labels, of which there must be two."""
        check_choice(self.constraint, "constraint", CONSTRAINTS)
        table = Table.read(X)
        validate_data(self, table.native, skip_check_array=True)
        who = {"sensitive": self.sensitive, "privileged": self.privileged}
        problem = Problem.read(table.native, y, **who, sensitive_features=sensitive_features,
                               is_fitted=False, positive=self.positive, is_quantity=False)  # fmt: skip
        target = problem.y
        if target.classes is None or len(target.classes) != 2:
            raise TargetError(
                f"Only binary classification is supported: {type(self).__name__} takes a target of two "
                f"labels, and y has {len(target.names)}.",
                parameter="y",
            )
        self.classes_ = target.classes
        self._positive = int(target.positive)  # type: ignore[arg-type]
        self._columns = () if problem.added else problem.columns
        return problem, target

    def _decide(self, X: Native, probability: Floats) -> NDArray[Any]:
        """Return a label for each row, the positive one with the given probability."""
        is_positive = probability > draw(Table.read(X), self._columns, self._seed)
        return np.asarray(self.classes_[np.where(is_positive, self._positive, 1 - self._positive)])

    def _columns_of(self, score: Floats) -> Floats:
        """Return the probabilities of both labels, in the order of ``classes_``."""
        both = np.column_stack([1 - score, score])
        return both if self._positive else both[:, ::-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def draw(table: Table, left_out: tuple[int, ...], seed: int) -> Floats:
    """Return a number from 0 to 1 for each row, by its cells in all columns but some."""
    total = np.full(table.n_rows, seed, dtype=np.uint64)
    for column in range(len(table.names)):
        if column in left_out:
            continue
        cells = table.column(column)
        if cells.dtype.kind != "f":
            # By what the categories are: their codes depend on the other rows. The last is a missing value's.
            values = table.store.values(column, table.distinct(column))
            cells = np.array([*(crc32(str(value).encode()) for value in values), -1])[cells]
        total += cell_hashes(cells[:, None], np.array([column]))[:, 0]
    # As many bits as a float has.
    return (mix64(total) >> np.uint64(11)).astype(np.float64) / 2.0**53


def compared_groups(problem: Problem, labels: Bools) -> Ints:
    """Return the group of each row, 0 the privileged one, -1 where it cannot be compared.

    That is where the attribute is missing, or the group has too few rows or only one label.
    """
    side = problem.groups.side
    group = np.where(side == 1, 0, problem.groups.group + 1)
    known = side >= 0
    sizes = np.bincount(group[known])
    enough = is_compared(sizes)
    for label in (False, True):
        enough &= np.bincount(group[known & (labels == label)], minlength=len(sizes)) > 0
    if enough.sum() < 2:
        raise InputError(
            "no two groups have rows of both labels: there is nothing to hold alike. Merge groups, or use "
            "another method.",
            parameter="sensitive",
        )
    return np.where(known & enough[group], group, -1)


class KnownGroups:
    """The groups of a training table by the values of the attribute, for rows to predict."""

    def __init__(self, problem: Problem, group: Ints) -> None:
        self.columns, self.privileged = problem.columns, problem.privileged
        self.is_quantity = problem.groups.by_row
        self.of_value: dict[Any, int] = {}
        if not self.is_quantity:
            attribute = read_attribute(problem.own, self.columns)
            self.of_value = dict(zip(attribute.values, group[attribute.first].tolist(), strict=True))

    def read(self, table: Table) -> Ints:
        """Return the group of each row, -1 where it is missing or was not among the training rows."""
        if self.is_quantity:
            column = self.columns[0]
            side = split_quantity(table, column, self.privileged, table.names[column])
            return np.array([1, 0, -1])[side]
        attribute = read_attribute(table, self.columns)
        groups = [self.of_value.get(value, -1) for value in attribute.values]
        # The last place is for a missing value, whose code is -1.
        return np.array([*groups, -1])[attribute.code]
