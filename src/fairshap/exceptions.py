"""What can go wrong, and what is worth a warning.

::

    FairshapError
    ├── InputError (ValueError)       the table, the target or a parameter is not usable as given
    │   ├── ColumnError               a column that is not there, or is there twice
    │   ├── GroupError                the sensitive attribute does not split the rows into two groups
    │   ├── TargetError               the target is neither labels nor a quantity, one a row
    │   └── FileFormatError           a file does not hold a table that can be read
    ├── FileError (OSError)           a file cannot be opened, or must not or cannot be written
    ├── CellTypeError (TypeError)     a cell holds something that is neither a number nor a category
    ├── ModelError (ValueError)       the model cannot be consulted
    ├── MissingExtraError (ImportError)  a package that only some of fairshap needs is not installed
    ├── NotConvergedError (RuntimeError)  a solver ended without a result that can be used
    └── LedgerError (ValueError)      a ledger cannot be read, or belongs to another table

    FairshapWarning (UserWarning)
    ├── NothingToRepairWarning        no edit was made, with the reason
    ├── UnmatchedRowsWarning          rows without a reference, left as they are
    ├── FewReferencesWarning          labels of which the other group has too few rows to choose from
    ├── OrderWarning                  labels or attributes in another order than the rows
    ├── PooledGroupsWarning           groups of few rows, taken as one
    ├── WeightsWarning                an estimator that takes no weights: no twins, or repeated rows
    ├── SkippedWarning                what could not be trained, left out of a comparison
    ├── CopiedAttributeWarning        columns that tell the sensitive attribute exactly
    ├── WorseModelWarning             a repaired model that is worse on rows that were held out
    ├── NoiseWarning                  a risk no larger than that of a shuffled attribute
    ├── UnseenGroupsWarning           values of the attribute that were not there when fitting
    ├── NotConvergedWarning           a solver ended before its result was as exact as was asked for
    └── MarginWarning                 the model has no probabilities: risk and threshold are margins
"""

__all__ = [
    "CellTypeError",
    "ColumnError",
    "CopiedAttributeWarning",
    "FairshapError",
    "FairshapWarning",
    "FewReferencesWarning",
    "FileError",
    "FileFormatError",
    "GroupError",
    "InputError",
    "LedgerError",
    "MarginWarning",
    "MissingExtraError",
    "ModelError",
    "NotConvergedError",
    "NotConvergedWarning",
    "NoiseWarning",
    "NothingToRepairWarning",
    "OrderWarning",
    "PooledGroupsWarning",
    "SkippedWarning",
    "TargetError",
    "UnmatchedRowsWarning",
    "UnseenGroupsWarning",
    "WeightsWarning",
    "WorseModelWarning",
]


class FairshapError(Exception):
    """Base of every error that fairshap raises on purpose."""


class InputError(FairshapError, ValueError):
    """The table, the target or a parameter is not usable as given."""


class ColumnError(InputError):
    """A column that is not in the table, or stands in it twice."""


class GroupError(InputError):
    """The sensitive attribute does not split the rows into two groups."""


class TargetError(InputError):
    """The target does not hold labels or a quantity that fit the estimator, one for each row."""


class FileFormatError(InputError):
    """A file does not hold a table that can be read."""


class FileError(FairshapError, OSError):
    """A file cannot be opened, or must not or cannot be written."""


class CellTypeError(FairshapError, TypeError):
    """A cell holds something that is neither a number nor a category."""


class ModelError(FairshapError, ValueError):
    """The model cannot be consulted."""


class MissingExtraError(FairshapError, ImportError):
    """A package that only some of fairshap needs is not installed.

    Parameters
    ----------
    what : str
        What was asked for, such as "drawing".
    package : str
        The package that it needs.
    extra : str
        The extra of fairshap that brings it.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(what, package, extra)

    def __str__(self) -> str:
        what, package, extra = self.args
        return f"{what} needs {package}, which is not installed: pip install 'fairshap[{extra}]'"


class NotConvergedError(FairshapError, RuntimeError):
    """A solver ended without a result that can be used; the text says how far it came."""


class LedgerError(FairshapError, ValueError):
    """A ledger cannot be read, or belongs to another table."""


class FairshapWarning(UserWarning):
    """Base of every warning that fairshap gives."""


class NothingToRepairWarning(FairshapWarning):
    """No edit was made; the text says why."""


class UnmatchedRowsWarning(FairshapWarning):
    """Some rows have no reference and stay as they are."""


class FewReferencesWarning(FairshapWarning):
    """The other group has too few rows of some label: fewer than k, or one for many rows."""


class OrderWarning(FairshapWarning):
    """A series has the index labels of the table in another order; it is taken by position."""


class PooledGroupsWarning(FairshapWarning):
    """Groups of few rows are taken as one."""


class WeightsWarning(FairshapWarning):
    """The estimator does not use the weights of rows, so that there are no twins, or rows are repeated."""


class SkippedWarning(FairshapWarning):
    """What could not be trained is left out of a comparison; the text says why."""


class CopiedAttributeWarning(FairshapWarning):
    """Columns beside the sensitive attribute tell it exactly: switched alone, it changes little."""


class WorseModelWarning(FairshapWarning):
    """On rows that were held out, the repaired model is measurably worse than the one it replaces."""


class NoiseWarning(FairshapWarning):
    """The discriminative risk cannot be told from that of an attribute that is shuffled among the rows."""


class UnseenGroupsWarning(FairshapWarning):
    """The sensitive attribute holds values that it did not hold when fitting."""


class NotConvergedWarning(FairshapWarning):
    """A solver ended before its result was as exact as was asked for; the text says how exact it is."""


class MarginWarning(FairshapWarning):
    """The model has no probabilities, so risk and threshold are in units of its margin."""
