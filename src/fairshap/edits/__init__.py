"""Edits: which cells are replaced, and the ledger that accounts for each."""

from fairshap.edits._certificate import Certificate, Evidence, certify
from fairshap.edits._ledger import Edits
from fairshap.edits._select import edits_at_least, select_edits

__all__ = ["Certificate", "Edits", "Evidence", "certify", "edits_at_least", "select_edits"]
