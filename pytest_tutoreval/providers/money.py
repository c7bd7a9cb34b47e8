"""What calls cost, and the one purse a whole run is paid from."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval.errors import ConfigurationProblem, TutorEvalError
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.parts import UNBILLED
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study_file import Price

__all__ = ["BudgetSpent", "Purse", "Spending", "UnknownPrice", "price_of", "read_prices", "total_dollars"]

MILLION = 1_000_000
_NOTHING = Price(input=0, output=0, source="answered in this process, billed by nobody")

# Prompts are estimated from their length on the safe side: English text is near 4 bytes a token, and a message's
# framing costs a few more.
_BYTES_A_TOKEN = 3
_FRAMING_TOKENS = 16


class UnknownPrice(TutorEvalError):
    """A budgeted run meets a route whose price nobody stated: it is refused, never guessed."""


class BudgetSpent(TutorEvalError):
    """The next call could exceed the budget; everything completed is kept, and a larger budget resumes."""


@dataclass
class Spending:
    """What one route was asked for and billed; `dollars` is None where its price is unknown.

    `estimated_calls` counts the calls whose tokens nobody reported: theirs are estimated from the length of the text.
    """

    calls: int = 0
    failed_attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0
    estimated_calls: int = 0


def price_of(route: Route, prices: Mapping[str, Price]) -> Price | None:
    """Return a route's price: its model's, or its provider's for all models, or None where nobody stated one.

    What answers in this process is free, unless a price says that it pays for models itself.
    """
    stated = prices.get(f"{route.provider}/{route.model}") or prices.get(route.provider)
    return stated or (_NOTHING if route.provider in UNBILLED else None)


def total_dollars(spending: Mapping[str, Spending]) -> float | None:
    """Return what all routes were billed together, None where one's price is unknown."""
    costs = [route.dollars for route in spending.values()]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


@dataclass
class Purse:
    """Pays every call of a run, over all routes.

    A call reserves what it could cost at most before it is sent, so calls in flight can never exceed the budget
    together; an attempt that timed out counts in full, since it may be billed. `budget` is in dollars; None is no cap.
    Zero pays for nothing.
    """

    prices: Mapping[str, Price]
    budget: float | None = None
    spent: float = 0.0
    reserved: float = 0.0
    routes: dict[str, Spending] = field(default_factory=dict)

    def reserve(self, request: ModelRequest) -> float | None:
        """Return the dollars put aside for a call, or None where that must wait for calls in flight to be settled.

        Raises
        ------
        UnknownPrice, BudgetSpent
            Before anything is sent.
        """
        price = price_of(request.route, self.prices)
        if price is None:
            if self.budget is not None:
                raise UnknownPrice(
                    f"{request.route.provider}/{request.route.model}: no price is known, so the run cannot be held to "
                    f"{self.budget:.2f} dollars; add it to the price file, or run without a budget"
                )
            return 0.0
        texts = [request.system, *(message.text for message in request.messages)]
        prompt = sum(len(text.encode("utf-8", "replace")) / _BYTES_A_TOKEN + _FRAMING_TOKENS for text in texts)
        completion = request.route.sampling.max_tokens if request.route.sampling else 0
        most = (prompt * price.input + completion * price.output) / MILLION
        if self.budget is not None and self.spent + most > self.budget:
            raise BudgetSpent(
                f"the budget of {self.budget:.2f} dollars is reached: {self.spent:.4f} spent, the next call could cost "
                f"{most:.4f}; raise it to resume"
            )
        if self.budget is not None and self.spent + self.reserved + most > self.budget:
            return None
        self.reserved += most
        return most

    def settle(self, request: ModelRequest, reserved: float, reply: ModelReply) -> float | None:
        """Return the dollars a completed call cost, None at an unknown price, and release its reserve."""
        self.reserved -= reserved
        price = price_of(request.route, self.prices)
        spending = self._spending(request.route)
        spending.calls += 1
        spending.failed_attempts += len(reply.failures)
        spending.input_tokens += reply.input_tokens
        spending.output_tokens += reply.output_tokens
        spending.estimated_calls += reply.usage_estimated
        if price is None:
            spending.dollars = None
            return None
        cost = (reply.input_tokens * price.input + reply.output_tokens * price.output) / MILLION
        cost += reserved * sum(failure.kind == "timeout" for failure in reply.failures)
        self.spent += cost
        if spending.dollars is not None:
            spending.dollars += cost
        return cost

    def forfeit(self, request: ModelRequest, reserved: float, *, failed_attempts: int, billed: int) -> None:
        """Release the reserve of a failed call; each attempt that may have been `billed` counts in full."""
        self.reserved -= reserved
        spending = self._spending(request.route)
        spending.failed_attempts += failed_attempts
        self.spent += billed * reserved
        if spending.dollars is not None:
            spending.dollars += billed * reserved

    def _spending(self, route: Route) -> Spending:
        return self.routes.setdefault(f"{route.provider}/{route.model}", Spending())


def read_prices(path: Path | None = None, *, own: Mapping[str, Price] | None = None) -> dict[str, Price]:
    """Return the prices in a file, by default the bundled one, which knows only what could be looked up.

    `own` are those of the user's study file, which go first.

    Raises
    ------
    ConfigurationProblem
        The file cannot be read or a price is not a number.
    """
    place = path or Path(__file__).with_name("prices.toml")
    try:
        fields = tomllib.loads(place.read_text(encoding="utf-8"))
        return {name: Price.model_validate(price) for name, price in fields.items()} | dict(own or {})
    except ValidationError as exc:
        problem = exc.errors(include_url=False, include_context=False)[0]
        raise ConfigurationProblem(f"{place}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from exc
    except (OSError, ValueError) as exc:
        raise ConfigurationProblem(f"{place}: cannot be read as a price file: {exc}") from exc
