"""What the paper reports."""

from functools import cache
from importlib.resources import files
from io import BytesIO

import pandas as pd

#: What says which figure it is.
KEYS = ("table", "dataset", "sensitive", "model", "method", "metric")


@cache
def _read() -> pd.DataFrame:
    stored = files("fairshap.reproduction") / "data" / "tables.csv"
    # Some tables have no such column: an empty text, not a missing one, so that figures can be joined.
    frame = pd.read_csv(BytesIO(stored.read_bytes()), keep_default_na=False)
    for column in ("mean", "std"):
        frame[column] = pd.to_numeric(frame[column])
    return frame


def published(table: str | None = None) -> pd.DataFrame:
    """Return the paper's figures, one a line, of one table or of all.

    Examples
    --------
    >>> len(published()), len(published("main"))
    (428, 210)
    """
    frame = _read()
    return (frame if table is None else frame[frame["table"] == table]).reset_index(drop=True)
