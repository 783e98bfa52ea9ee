"""Tables: any frame or array in, and back out in the same type, order, index and dtypes."""

from fairshap.table._cells import factorize, is_missing
from fairshap.table._frames import make_frame
from fairshap.table._players import Players, PlayersLike
from fairshap.table._store import Kind, Library, NewColumn, Store
from fairshap.table._table import Table, open_store, read_column

__all__ = [
    "Kind",
    "Library",
    "NewColumn",
    "Players",
    "PlayersLike",
    "Store",
    "Table",
    "factorize",
    "is_missing",
    "make_frame",
    "open_store",
    "read_column",
]
