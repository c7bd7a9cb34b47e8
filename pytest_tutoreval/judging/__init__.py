"""Blinded judging: turn x rubric in, ratings out."""

from pytest_tutoreval.judging.blinding import BlindingCheck
from pytest_tutoreval.judging.parsing import ParsedRating, parse_rating
from pytest_tutoreval.judging.rating import rate_session, rating_requests, record_rating

__all__ = ["BlindingCheck", "ParsedRating", "parse_rating", "rate_session", "rating_requests", "record_rating"]
