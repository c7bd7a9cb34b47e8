"""A turn of a user's own tutor: what it is told and what it says, over HTTP and in Python alike.

A tutor is not told which base or condition it plays: one that knew its arm could play to it. For users the contract is
written out in docs/reference/tutor-endpoint.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.providers.agent import Message, ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import ConfigurationError, plain_message
from pytest_tutoreval.providers.token_estimate import prompt_tokens, text_tokens
from pytest_tutoreval.providers.wire import clean_text, conversation, refuse_pin
from pytest_tutoreval.records.session import Route

__all__ = [
    "CONTRACT",
    "BrokenContract",
    "TutorTurnReply",
    "TutorTurnRequest",
    "model_reply",
    "read_turn_reply",
    "refuse_settings_of_others",
    "turn_request",
]

CONTRACT = "tutoreval-tutor/1"

_SHOWN_FIELDS = 8


class BrokenContract(TutorEvalError):
    """A tutor answered with something else than a turn; the message names fields and types, never what they hold."""


@dataclass(frozen=True, slots=True)
class TutorTurnRequest:
    """What a tutor is told to take its next turn.

    Attributes
    ----------
    model : the name the study file gives the tutor
    problem, turn : the problem's id and the 0-based tutor turn on it
    replicate : the repeated session this is
    seed : the replicate's seed, the same in all its calls; None where the base's sampling names none
    max_tokens : what the study allows a turn; None where it does not say. Nothing cuts a longer one
    system : the condition's prompt with the problem's statement
    messages : this problem's dialogue, `user` the student and `assistant` the tutor, the student's first and last
    """

    model: str
    problem: str
    turn: int
    replicate: int
    seed: int | None
    max_tokens: int | None
    system: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class TutorTurnReply:
    """What a tutor says. An empty text is an empty turn.

    Attributes
    ----------
    text : what the student gets to see
    input_tokens, output_tokens : what the turn cost in all, 0 or more; None where it was not counted
    model : who answered in fact; None where nobody attests it
    finish : why the text ended: stop, length, refusal, or the tutor's own word
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    finish: str | None = None


def turn_request(request: ModelRequest) -> TutorTurnRequest:
    """Return what a tutor is told of a request. Raises ProtocolError where there is nothing to answer."""
    site, sampling = request.site, request.route.sampling
    return TutorTurnRequest(
        model=request.route.model,
        problem=site.problem,
        turn=site.turn or 0,  # a connection check stands at no turn
        replicate=site.replicate,
        seed=request.seed,
        max_tokens=sampling.max_tokens if sampling else None,
        system=clean_text(request.system),
        messages=tuple(conversation(request)),
    )


def read_turn_reply(fields: Mapping[str, Any]) -> TutorTurnReply:
    """Return the turn in a tutor's answer; fields the contract does not know are ignored, null is absent.

    Raises
    ------
    BrokenContract
        All that is wrong at once: what was found, and what was expected.
    """
    wrong = [
        f"{name} is {_kind_of(fields[name])}, expected {expected}"
        for name, expected, fits in _FIELDS
        if name in fields and not fits(fields[name])
    ]
    if "text" not in fields:
        found = ", ".join(plain_message(str(name))[:40] for name in list(fields)[:_SHOWN_FIELDS]) or "none"
        wrong.insert(0, f'no field "text" (found: {found}), expected {{"text": "what the tutor says"}}')
    if wrong:
        raise BrokenContract(f"not a tutor turn of {CONTRACT}: {'; '.join(wrong)}")
    known = {name: fields[name] for name, _, _ in _FIELDS if name in fields}
    return TutorTurnReply(**known)


def _kind_of(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return "a negative number"
    names = {"NoneType": "null", "bool": "true or false", "int": "a number", "float": "a number with a fraction"}
    names |= {"str": "a string", "list": "a list", "dict": "an object"}
    return names.get(type(value).__name__, f"of type {type(value).__name__}")


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_word(value: object) -> bool:
    return value is None or isinstance(value, str)


_FIELDS = (
    ("text", "a string", lambda value: isinstance(value, str)),
    ("input_tokens", "a whole number, 0 or more", _is_count),
    ("output_tokens", "a whole number, 0 or more", _is_count),
    ("model", "a string", _is_word),
    ("finish", "a string", _is_word),
)


def model_reply(request: ModelRequest, said: TutorTurnReply) -> ModelReply:
    """Return a turn as a reply. Counts nobody reported are estimated and marked: a 0 would look cheap."""
    text = clean_text(said.text)
    counted_in, counted_out = said.input_tokens, said.output_tokens
    return ModelReply(
        text=text,
        finish=plain_message(said.finish) if said.finish else None,
        input_tokens=prompt_tokens(request) if counted_in is None else counted_in,
        output_tokens=text_tokens(text) if counted_out is None else counted_out,
        served_model=plain_message(said.model) if said.model else None,
        usage_estimated=counted_in is None or counted_out is None,
    )


def refuse_settings_of_others(route: Route) -> None:
    """Raise ConfigurationError where a route sets what only its tutor could keep: temperature, reasoning or a pin."""
    refuse_pin(route)
    sampling = route.sampling
    for name, value in (
        ("temperature", sampling and sampling.temperature),
        ("reasoning", sampling and sampling.reasoning),
    ):
        if value is not None:
            raise ConfigurationError(
                route,
                f"sampling.{name}",
                f"= {value!r} cannot be set here: a tutor of your own has its own settings.",
                "Remove the key; set it in the tutor.",
            )
