"""The JSON object a chatty model may have wrapped in prose: first opening to last closing brace."""

import json

__all__ = ["widest_object"]


def widest_object(text: str) -> dict[str, object] | None:
    """Return the object parsed from the first `{` to the last `}`, or None where that span is no JSON object.

    Two objects in one text are therefore none. Hostile nesting or number lengths are none too, never an error.
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        parsed = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None
