"""A scripted text as a model's reply, with tokens counted as roughly four characters each."""

from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.token_estimate import prompt_tokens, text_tokens

__all__ = ["reply_to"]


def reply_to(request: ModelRequest, text: str) -> ModelReply:
    """Return `text` as the reply of the requested model; it has no clock, so no start and no duration."""
    return ModelReply(
        text,
        input_tokens=prompt_tokens(request),
        output_tokens=text_tokens(text),
        served_model=request.route.model,
    )
