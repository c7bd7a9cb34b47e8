"""A validation error in one line."""

from pydantic import ValidationError

__all__ = ["first_problem"]


def first_problem(error: ValidationError) -> str:
    """Return where the first problem is and what was found, without echoing a whole transcript."""
    problem = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in problem["loc"]) or "record"
    found = repr(problem["input"])
    return f"{where}: {problem['msg']} (found {found[:60]}{'…' if len(found) > 60 else ''})"
