"""Files: a table of any format in, and out again with nothing changed but the edits."""

from fairshap._io.source import Source, read

__all__ = ["Source", "read"]
