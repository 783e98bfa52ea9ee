"""Tables: any frame or array in, and back out in the same type, order, index and dtypes."""

from fairshap._frames._cells import factorize, is_missing, show
from fairshap._frames._frames import make_frame
from fairshap._frames._players import Players, PlayersLike
from fairshap._frames._store import Kind, Library, NewColumn, Store
from fairshap._frames._table import Table, open_store, read_column

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
    "show",
]
