"""A tutor that repeats, a terse policy, a measure, a claim about it, and verdicts as CSV."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from pytest_tutoreval import hookimpl
from pytest_tutoreval.measures import SessionMeasure
from pytest_tutoreval.policies import Asking, Policy, Situation
from pytest_tutoreval.providers import ModelReply, ModelRequest
from pytest_tutoreval.providers.client import Client
from pytest_tutoreval.providers.routes import Provider, Surroundings
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.reporting import Renderer


class Parrot(Client[ModelRequest]):
    """Repeats what the student said."""

    def _prepared(self, request: ModelRequest) -> tuple[ModelRequest, int]:
        return request, 0  # what is sent, and about how many tokens it may be billed

    async def _answered(self, sent: ModelRequest, request: ModelRequest, timeout: float) -> ModelReply:
        return ModelReply(f"You said: {sent.messages[-1].text} Why?", served_model=self.route.model)


def open_parrot(route: Route, surroundings: Surroundings, **given: Any) -> Parrot:
    return Parrot(route, **given)


@hookimpl
def tutoreval_providers() -> Mapping[str, Provider]:
    return {"parrot": open_parrot}


def terse_turn(situation: Situation) -> Asking:
    reply = yield situation.request(situation.with_statement("Ask one short question."), node="terse")
    return reply.text


@hookimpl
def tutoreval_policies() -> Mapping[str, Policy]:
    return {"terse": terse_turn}


def tokens_a_turn(session: SessionRow, turns: Sequence[TurnRow]) -> float | None:
    return fmean(turn.tutor_tokens for turn in turns) if turns else None


@hookimpl
def tutoreval_measures() -> list[SessionMeasure]:
    return [SessionMeasure("tokens_a_turn", "tokens a tutor turn", tokens_a_turn)]


@hookimpl
def tutoreval_claims() -> list[Path]:
    return [Path(__file__).parent / "claims"]


def write_csv(document: Mapping[str, Any], folder: Path) -> list[str]:
    with (folder / "claims.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["claim", "base", "judge", "verdict"])
        rows.writerows([row["claim"], row["base"], row["judge"], row["verdict"]] for row in document["claims"])
    return ["claims.csv"]


@hookimpl
def tutoreval_renderers() -> list[Renderer]:
    return [Renderer("claims.csv", ("claims.csv",), write_csv)]
