"""Tables: any frame or array in, and back out in the same type, order, index and dtypes."""

from fairshap._frames._stores import Kind, Library, NewColumn, Store, first_rows, is_missing, make_frame, show
from fairshap._frames._table import Players, PlayersLike, Table, open_store, read_column

__all__ = [
    "Kind",
    "Library",
    "NewColumn",
    "Players",
    "PlayersLike",
    "Store",
    "Table",
    "first_rows",
    "is_missing",
    "make_frame",
    "open_store",
    "read_column",
    "show",
]
