"""A tutor behind HTTP, of the user's own: one small JSON contract, written out in docs/reference/tutor-endpoint.md."""

from typing import Any

from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import ProviderFault
from pytest_tutoreval.providers.keys import KeyHeader, Secret
from pytest_tutoreval.providers.tutor_turn import (
    CONTRACT,
    BrokenContract,
    model_reply,
    read_turn_reply,
    refuse_settings_of_others,
    turn_request,
)
from pytest_tutoreval.providers.vendor_error import answer_fault
from pytest_tutoreval.providers.wire import HttpAnswer, HttpCall, json_bytes, json_object
from pytest_tutoreval.records.session import Route

__all__ = ["TutorEndpoint"]


class TutorEndpoint:
    """One POST a turn to the base URL itself; a key only where one is named. Nothing is attested but what it says."""

    name = "http"
    default_base_url: str | None = None
    key_variable: str | None = None
    takes_seed = True

    def settings(self, route: Route) -> dict[str, Any]:
        """Return the sampling part of the body: the cap alone."""
        refuse_settings_of_others(route)
        return {"max_tokens": route.sampling.max_tokens if route.sampling else None}

    def build(self, request: ModelRequest, key: Secret | None, base_url: str) -> HttpCall:
        """Return the HTTP call of a turn. Base and condition are not in it."""
        turn = turn_request(request)
        body = {
            "format": CONTRACT,
            "model": turn.model,
            "problem": turn.problem,
            "turn": turn.turn,
            "replicate": turn.replicate,
            "seed": turn.seed,
            **self.settings(request.route),
            "system": turn.system,
            "messages": [{"role": said.speaker, "content": said.text} for said in turn.messages],
        }
        return HttpCall(
            url=base_url,
            headers={"content-type": "application/json"},
            body=json_bytes(body),
            auth=KeyHeader("authorization", "Bearer ", key) if key else None,
        )

    def read_back(self, call: HttpCall) -> dict[str, Any]:
        """Return what a call says, in the words of `Route`."""
        body = call.sent()
        return {name: body.get(name) for name in ("model", "max_tokens", "seed")}

    def parse(self, answer: HttpAnswer, request: ModelRequest) -> ModelReply:
        """Return the turn; an answer that is none is malformed, with what was found and what was expected."""
        if not answer.is_success:
            raise answer_fault(answer)
        try:
            said = read_turn_reply(json_object(answer))
        except BrokenContract as exc:
            problem = answer.redact(str(exc))
        else:
            return model_reply(request, said)
        raise ProviderFault("malformed", problem, status=answer.status, request_id=answer.header("x-request-id"))
