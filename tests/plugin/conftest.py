"""The released tables, imported; a tutor and its later versions."""

from tests.gating.candidates import candidates
from tests.store.imported import paper_tables, released

__all__ = ["candidates", "paper_tables", "released"]
