"""Batches, whatever the vendor: many requests handed over at once, answered within a day, at half the price."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.providers.faults import ProviderFault
from pytest_tutoreval.providers.keys import Secret
from pytest_tutoreval.providers.vendor_error import answer_fault, embedded_fault
from pytest_tutoreval.providers.wire import HttpAnswer, HttpCall, json_object
from pytest_tutoreval.records.study_file import Price

__all__ = [
    "BATCH_PRICE_FACTOR",
    "BatchFormat",
    "BatchLimits",
    "BatchResult",
    "BatchView",
    "Place",
    "answer_within",
    "batch_object",
    "batch_prices",
    "custom_ids",
    "json_lines",
    "may_have_arrived",
    "parts_within",
    "vendor_id",
]

# Both vendors bill batched requests at half their ordinary price, input and output alike: platform.claude.com
# "Batch processing" and OpenAI's "Batch API" guide, as collected in PROVIDERS.md, "Batch and caching for judging".
BATCH_PRICE_FACTOR = 0.5

_VENDOR_ID = re.compile(r"[A-Za-z0-9_-]{1,256}")
# An attempt that ended like this never left: there was no connection to send it over.
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "InvalidURL", "UnsupportedProtocol")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most requests, and bytes, of one batch."""

    requests: int
    bytes: int

    def __post_init__(self) -> None:
        for name in ("requests", "bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}, expected at least 1")


@dataclass(frozen=True, slots=True)
class Place:
    """Where batches are sent; the key prints as `<secret>`."""

    base_url: str
    key: Secret | None


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch as its vendor describes it.

    Attributes
    ----------
    status, ended : the vendor's word, and whether it means that nothing more will come
    n_requests : how many requests it holds, None where that is not said (yet)
    created : epoch seconds, None where that is not said
    tag, upload : what we named it and the file it was made from, where the vendor repeats them
    files : what its results are fetched by
    problem : why the whole batch was refused, in the vendor's words
    """

    id: str
    status: str
    ended: bool
    n_requests: int | None = None
    created: float | None = None
    tag: str | None = None
    upload: str | None = None
    files: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of one request: an answer as the direct route gives it, an error object, or a word why not.

    Exactly one of `answer`, `error` and `unsent` is set; `unsent` is `expired` or `canceled`, and never billed.
    """

    custom_id: str
    answer: HttpAnswer | None = None
    error: Mapping[str, Any] | None = None
    unsent: str | None = None


class BatchFormat(Protocol):
    """A vendor's way of taking batches. It makes calls and reads answers; whoever uses it sends and retries."""

    name: str
    limits: BatchLimits
    overhead: int

    def line(self, custom_id: str, call: HttpCall) -> bytes:
        """Return a request as it stands in a batch: the direct route's body, byte for byte, and its id."""

    def upload(self, lines: Sequence[bytes], place: Place) -> HttpCall | None:
        """Return the call that brings the requests to the vendor beforehand, unpaid; None where there is none."""

    def uploaded(self, answer: HttpAnswer) -> str:
        """Return what an upload is called."""

    def create(self, lines: Sequence[bytes], upload: str | None, tag: str, place: Place) -> HttpCall:
        """Return the call after which the batch is paid for."""

    def look(self, batch: str, place: Place) -> HttpCall:
        """Return the call that asks how a batch is doing."""

    def view(self, answer: HttpAnswer) -> BatchView:
        """Return the batch an answer describes."""

    def listing(self, after: str | None, place: Place) -> HttpCall:
        """Return the call for a page of the account's batches, newest first."""

    def listed(self, answer: HttpAnswer) -> tuple[list[BatchView], str | None]:
        """Return a page, and what the next one comes after, None at the end."""

    def results(self, view: BatchView, place: Place) -> list[HttpCall]:
        """Return the calls that fetch an ended batch's results."""

    def result(self, fields: Mapping[str, Any], answer: HttpAnswer) -> BatchResult:
        """Return what one line of the results says; `answer` is the whole it came in."""


def batch_prices(prices: Mapping[str, Price]) -> dict[str, Price]:
    """Return what the same tokens cost in a batch."""
    return {
        name: price.model_copy(
            update={"input": price.input * BATCH_PRICE_FACTOR, "output": price.output * BATCH_PRICE_FACTOR}
        )
        for name, price in prices.items()
    }


def custom_ids(tag: str, n_requests: int) -> list[str]:
    """Return the ids of a batch's requests. The tag is drawn anew for each batch, so an id names its batch too."""
    return [f"{tag}-{number}" for number in range(n_requests)]


def parts_within(sizes: Sequence[int], limits: BatchLimits, *, overhead: int = 0) -> Iterator[range]:
    """Yield the places of consecutive requests that fit into one batch together, as many as fit.

    Raises
    ------
    ConfigurationProblem
        One request alone is larger than a batch may be.
    """
    start, total = 0, overhead
    for place, size in enumerate(sizes):
        size += 1  # its line end or comma
        if overhead + size > limits.bytes:
            raise ConfigurationProblem(
                f"a request of {size} bytes is larger than a batch may be ({limits.bytes} bytes); rate without --batch"
            )
        if place - start == limits.requests or total + size > limits.bytes:
            yield range(start, place)
            start, total = place, overhead
        total += size
    if start < len(sizes):
        yield range(start, len(sizes))


def json_lines(answer: HttpAnswer) -> list[dict[str, Any]]:
    """Return the objects of a JSONL answer; a line that is none is a malformed answer. Only LF ends a line."""
    objects = []
    for number, line in enumerate(answer.body.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise ProviderFault("malformed", f"line {number} of the results is not a JSON object", status=answer.status)
        objects.append(fields)
    return objects


def batch_object(answer: HttpAnswer) -> dict[str, Any]:
    """Return the JSON object of an answer about batches; an error in any dress is a fault."""
    if not answer.is_success:
        raise answer_fault(answer)
    data = json_object(answer)
    if data.get("error"):
        raise embedded_fault(answer, data["error"])
    return data


def answer_within(
    whole: HttpAnswer, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> HttpAnswer:
    """Return an answer that came inside a batch's results, as the direct route would have given it."""
    # Escaped, so that lone surrogates survive the way to the wire format, which replaces them.
    return HttpAnswer(status, headers or {}, json.dumps(body).encode(), whole.at, whole.redact)


def vendor_id(name: object, answer: HttpAnswer) -> str:
    """Return an id that may stand in a URL; anything else is a malformed answer."""
    if isinstance(name, str) and _VENDOR_ID.fullmatch(name):
        return name
    raise ProviderFault("malformed", "the answer holds no usable id", status=answer.status)


def may_have_arrived(fault: ProviderFault) -> bool:
    """Whether a call that failed like this may have done its work all the same.

    An answer that says no (4xx, 529) did none, nor did a call for which there was no connection. After a lost
    answer, a 5xx or one that cannot be read, nobody on this side knows.
    """
    if fault.status is None:
        return not fault.message.startswith(_NEVER_SENT)
    if fault.status == 529 or (400 <= fault.status < 500 and fault.status not in (408, 409)):
        return False
    return not 300 <= fault.status < 400
