"""API keys: read from the environment, shown to nobody, taken out of every text that leaves a provider."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    import httpx

__all__ = ["KEY_VARIABLES", "KeyHeader", "KeyRing", "Redactor", "Secret", "is_sendable"]

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")

REDACTED = "<redacted>"

# What looks like a key although we never held it: half-masked echoes, other accounts, proxies.
# Group 1, where there is one, is what announces the key and stays.
_KEY_SHAPES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"((?:bearer|basic)\s+)[^\s\"',;<>]{6,}",
        r"((?:key|token|secret|password)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;<>]{8,}",
        r"()\b(?:sk|pk|rk|gsk|hf|xai|pplx)[-_][\w*.…-]{4,}",
        r"()\baiza[\w-]{10,}",
    )
)


class Secret:
    """A key that prints as `<secret>`; `reveal` is called where a header is written and where texts are redacted."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key itself."""
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")


@dataclass(frozen=True, slots=True)
class KeyHeader:
    """The header that carries a key. It is called by httpx as the request's `auth`, so no frame of ours holds it."""

    name: str
    prefix: str
    secret: Secret

    def __call__(self, request: "httpx.Request") -> "httpx.Request":
        """Write the header into the request that leaves."""
        request.headers[self.name] = self.prefix + self.secret.reveal()
        return request


class KeyRing:
    """The environment, seen only through the variables that are asked for; prints as `<keys>`."""

    __slots__ = ("_environ",)

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def find(self, variable: str) -> Secret | None:
        """Return the key in a variable, without surrounding white space; None where it is absent or empty."""
        value = self._environ.get(variable, "").strip()
        return Secret(value) if value else None

    def redactor(self, *more: str | None) -> "Redactor":
        """Return what removes the keys of the known variables, and of `more`, from a text."""
        found = (self.find(name) for name in (*KEY_VARIABLES, *more) if name)
        return Redactor(secret for secret in found if secret is not None)

    def __repr__(self) -> str:
        return "<keys>"


class Redactor:
    """Removes known keys, as they are and URL-quoted, and whatever looks like one; prints as `<redactor>`."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        # Longest first: one key may begin another.
        self._secrets = tuple(sorted(secrets, key=lambda secret: -len(secret.reveal())))

    def __call__(self, text: str) -> str:
        """Return the text without keys and without what looks like one."""
        text = self.known(text)
        for shape in _KEY_SHAPES:
            text = shape.sub(rf"\1{REDACTED}", text)
        return text

    def known(self, text: str) -> str:
        """Return the text without the keys that are known: what a model said is otherwise left as it is."""
        for secret in self._secrets:
            for form in (secret.reveal(), quote(secret.reveal(), safe="")):
                if form in text:
                    text = text.replace(form, REDACTED)
        return text

    def __repr__(self) -> str:
        return "<redactor>"


def is_sendable(secret: Secret) -> bool:
    """Whether a header can carry the key: printable ASCII without spaces."""
    return all("!" <= character <= "~" for character in secret.reveal())
