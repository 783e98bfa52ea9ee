"""Evidence: what a model does to groups of people, as one object that can be signed, and its forms."""

from fairshap.evidence._audit import audit, audit_repair
from fairshap.evidence._evidence import Evidence, evidence_schema

__all__ = ["Evidence", "audit", "audit_repair", "evidence_schema"]
