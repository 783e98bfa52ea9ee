"""Edits: which cells are replaced, and the ledger that accounts for each."""

from fairshap.edits._certificate import Certificate, Evidence, certify
from fairshap.edits._guards import Guard, check_guard, describe_guard
from fairshap.edits._ledger import Checksums, Edits, has_checksums
from fairshap.edits._limits import DIRECTIONS, Direction, Limits
from fairshap.edits._select import edits_at_least, edits_of_cells, select_edits
from fairshap.edits._strategy import STRATEGIES, Strategy, StrategyName

__all__ = [
    "DIRECTIONS",
    "STRATEGIES",
    "Certificate",
    "Checksums",
    "Direction",
    "Edits",
    "Evidence",
    "Guard",
    "Limits",
    "Strategy",
    "StrategyName",
    "certify",
    "check_guard",
    "describe_guard",
    "edits_at_least",
    "edits_of_cells",
    "has_checksums",
    "select_edits",
]
