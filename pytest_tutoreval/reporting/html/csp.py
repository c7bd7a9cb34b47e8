"""The content security policy of a page that needs nothing but itself."""

import base64
import hashlib
from collections.abc import Iterable

__all__ = ["content_security_policy"]


def content_security_policy(*, styles: Iterable[str], scripts: Iterable[str]) -> str:
    """Return the policy under which exactly these inline styles and scripts work, and nothing is ever fetched.

    Parameters
    ----------
    styles, scripts : the text between the tags, byte for byte; text with a carriage return raises ValueError, since the
        browser reads it as a line feed and the digest would not be its

    Notes
    -----
    Data blocks (`application/json`) are no scripts and need no digest. The viewer and the figures use no other source;
    `data:` images are figures drawn elsewhere.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digests(scripts)}",
            f"style-src {_digests(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digests(texts: Iterable[str]) -> str:
    return " ".join(map(_digest, texts)) or "'none'"


def _digest(text: str) -> str:
    if "\r" in text:
        raise ValueError("text: holds a carriage return; a browser reads a line feed there and its digest would differ")
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
