"""Sessions, ratings and tables, to and from disk."""

from pytest_tutoreval.store.corpus import Corpus, open_corpus
from pytest_tutoreval.store.lines import LineWriter, TornLineWarning
from pytest_tutoreval.store.ratings import parse_ratings, ratings_path, write_ratings
from pytest_tutoreval.store.runs import Metered, metered_cost
from pytest_tutoreval.store.sealing import declare_corpus, keep_reasons, seal_corpus, seal_files
from pytest_tutoreval.store.sessions import parse_session, session_path, write_session
from pytest_tutoreval.store.tables import BaseTables, TableSet, parse_tables, render_table

__all__ = [
    "BaseTables",
    "Corpus",
    "LineWriter",
    "Metered",
    "TableSet",
    "TornLineWarning",
    "declare_corpus",
    "keep_reasons",
    "metered_cost",
    "open_corpus",
    "parse_ratings",
    "parse_session",
    "parse_tables",
    "ratings_path",
    "render_table",
    "seal_corpus",
    "seal_files",
    "session_path",
    "write_ratings",
    "write_session",
]
