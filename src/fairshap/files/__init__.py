"""Files: a table of any format in, and out again with nothing changed but the edits."""

from fairshap.files._atomic import check_folder, write_atomically
from fairshap.files._document import Inferred
from fairshap.files._formats import FORMATS
from fairshap.files._kinds import MISSING
from fairshap.files._marks import MARKED, Mark, find_ledger
from fairshap.files._read import read
from fairshap.files._source import Source

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
