"""Token counts where nobody reported any: near four characters a token, as English has it."""

from pytest_tutoreval.providers.agent import ModelRequest

__all__ = ["prompt_tokens", "text_tokens"]

_CHARACTERS_A_TOKEN = 4
_FRAMING_TOKENS = 4


def prompt_tokens(request: ModelRequest) -> int:
    """Return about how many tokens a request's texts are."""
    sent = len(request.system) + sum(len(message.text) for message in request.messages)
    return sent // _CHARACTERS_A_TOKEN + _FRAMING_TOKENS


def text_tokens(text: str) -> int:
    """Return about how many tokens a reply is."""
    return len(text) // _CHARACTERS_A_TOKEN + 1
