"""What can go wrong, and what is worth a warning.

::

    FairshapError
    ├── InputError (ValueError)
    │   └── ColumnError, GroupError, TargetError, FileFormatError
    ├── FileError (OSError), CellTypeError (TypeError), MissingExtraError (ImportError)
    ├── ModelError (ValueError), LedgerError (ValueError)
    └── NotConvergedError (RuntimeError)

    FairshapWarning (UserWarning)
    ├── of the table: OrderWarning, PooledGroupsWarning, CopiedAttributeWarning
    ├── of the matching: UnmatchedRowsWarning, FewReferencesWarning, NotConvergedWarning
    ├── of the model: MarginWarning, WeightsWarning, SkippedWarning, SlowWarning
    └── of the result: NothingToRepairWarning, WorseModelWarning, NoiseWarning

An error or a warning about a parameter has its name as ``.parameter``.
"""


class _About(Exception):  # noqa: N818
    """Has the name of the parameter that it is about, None if there is none, and a hint for Python."""

    def __init__(self, *args: object, parameter: str | None = None, hint: str = "") -> None:
        super().__init__(*args)
        self.parameter = parameter
        self.hint = hint

    def __str__(self) -> str:
        return f"{super().__str__()} {self.hint}".rstrip()


class FairshapError(_About):
    """Base of every error that fairshap raises on purpose."""


class InputError(FairshapError, ValueError):
    """The table, the target or a parameter is not usable as given."""


class ColumnError(InputError):
    """A column is not in the table, or stands in it twice."""


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
    """The model cannot be explained or trained as asked."""


class MissingExtraError(FairshapError, ImportError):
    """Something was asked for that needs a package which is not installed; the text names the extra."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(what, package, extra)

    def __str__(self) -> str:
        what, package, extra = self.args
        return f"{what} needs {package}, which is not installed: pip install 'fairshap[{extra}]'"


class NotConvergedError(FairshapError, RuntimeError):
    """A solver ended without a usable result; the text says how far it came."""


class LedgerError(FairshapError, ValueError):
    """A ledger cannot be read, or belongs to another table."""


class FairshapWarning(_About, UserWarning):
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
    """Rows are repeated or not weighted, because the estimator cannot use weights; the text says why."""


class SkippedWarning(FairshapWarning):
    """What could not be trained is left out of a comparison; the text says why."""


class SlowWarning(FairshapWarning):
    """What starts will take long; the text says how long, why, and what is faster."""


class CopiedAttributeWarning(FairshapWarning):
    """Other columns tell the sensitive attribute exactly: switched alone, it changes little."""


class WorseModelWarning(FairshapWarning):
    """On held-out rows, the repaired model is measurably worse than the baseline."""


class NoiseWarning(FairshapWarning):
    """The discriminative risk cannot be told from that of a shuffled attribute."""


class NotConvergedWarning(FairshapWarning):
    """A solver ended before its result was as exact as asked for; the text says how exact it is."""


class MarginWarning(FairshapWarning):
    """The model has no probabilities, so risk and threshold are in units of its margin."""
