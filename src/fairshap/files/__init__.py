"""Files: a table of any format in, and out again with nothing changed but the edits."""

from fairshap.files._atomic import check_folder, write_atomically
from fairshap.files._document import Inferred
from fairshap.files._formats import FORMATS
from fairshap.files._kinds import MISSING
from fairshap.files._read import read
from fairshap.files._source import Source

__all__ = ["FORMATS", "Inferred", "MISSING", "Source", "check_folder", "read", "write_atomically"]
