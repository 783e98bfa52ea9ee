"""Figures of plain arrays; the objects that have a ``plot`` draw with them."""
