"""Edits: which cells are replaced, and the ledger that accounts for each."""

from fairshap.edits._ledger import Edits
from fairshap.edits._select import edits_at_least, edits_of_cells, select_edits

__all__ = ["Edits", "edits_at_least", "edits_of_cells", "select_edits"]
