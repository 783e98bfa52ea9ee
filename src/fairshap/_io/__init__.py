"""Files: a table of any format in, and out again with nothing changed but the edits."""

from fairshap._io._atomic import check_folder, write_atomically
from fairshap._io._document import Inferred
from fairshap._io._formats import FORMATS
from fairshap._io._kinds import MISSING
from fairshap._io._marks import MARKED, Mark, find_ledger
from fairshap._io._read import read
from fairshap._io._source import Source

__all__ = [
    "FORMATS",
    "Inferred",
    "MARKED",
    "MISSING",
    "Mark",
    "Source",
    "check_folder",
    "find_ledger",
    "read",
    "write_atomically",
]
