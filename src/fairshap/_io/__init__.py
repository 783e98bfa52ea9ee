"""Files: a table of any format in, and out again with nothing changed but the edits."""

from fairshap._io.document import MARKED, Mark
from fairshap._io.source import Source, read

__all__ = ["MARKED", "Mark", "Source", "read"]
