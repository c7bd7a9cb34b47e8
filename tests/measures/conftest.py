"""The released tables, imported."""

from tests.store.imported import paper_tables, released

__all__ = ["paper_tables", "released"]
