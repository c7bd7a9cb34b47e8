"""A scripted text as a model's reply, with tokens counted as roughly four characters each."""

from pytest_tutoreval.providers.agent import ModelReply, ModelRequest

__all__ = ["reply_to"]

_FRAMING_TOKENS = 4


def reply_to(request: ModelRequest, text: str) -> ModelReply:
    """Return `text` as the reply of the requested model; it has no clock, so no start and no duration."""
    sent = len(request.system) + sum(len(message.text) for message in request.messages)
    return ModelReply(
        text,
        input_tokens=sent // 4 + _FRAMING_TOKENS,
        output_tokens=len(text) // 4 + 1,
        served_model=request.route.model,
    )
