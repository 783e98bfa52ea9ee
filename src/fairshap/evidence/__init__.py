"""Evidence: what a model does to groups of people, as one object that can be signed, and its forms."""

from fairshap.evidence._audit import audit
from fairshap.evidence._evidence import Evidence, evidence_schema

__all__ = ["Evidence", "audit", "evidence_schema"]
