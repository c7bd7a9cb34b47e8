"""Anthropic's Message Batches: one POST holds all requests, results come as JSONL in any order."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.batch import (
    BatchLimits,
    BatchResult,
    BatchView,
    Place,
    answer_within,
    batch_object,
    vendor_id,
)
from pytest_tutoreval.providers.faults import ProviderFault
from pytest_tutoreval.providers.keys import KeyHeader
from pytest_tutoreval.providers.wire import Count, HttpAnswer, HttpCall, VendorBody, vendor_body

__all__ = ["AnthropicBatches"]

_HEADERS = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
_PAGE = 100


class _Counts(VendorBody):
    processing: Count = None
    succeeded: Count = None
    errored: Count = None
    canceled: Count = None
    expired: Count = None

    @property
    def total(self) -> int:
        """All requests of the batch: each is in exactly one count."""
        counts = (self.processing, self.succeeded, self.errored, self.canceled, self.expired)
        return sum(count or 0 for count in counts)


class _Batch(VendorBody):
    id: str
    processing_status: str
    request_counts: _Counts | None = None
    created_at: datetime | None = None


class _Page(VendorBody):
    data: tuple[_Batch, ...]
    has_more: bool | None = None
    last_id: str | None = None


class AnthropicBatches:
    """The Message Batches API. It repeats nothing of ours before a batch ends; only its custom ids tell whose it is."""

    name = "anthropic"
    limits = BatchLimits(requests=100_000, bytes=256_000_000)
    overhead = len(b'{"requests":[]}')

    def line(self, custom_id: str, call: HttpCall) -> bytes:
        """Return a request as it stands in a batch."""
        return b'{"custom_id":"%s","params":%s}' % (custom_id.encode(), call.body)

    def upload(self, lines: Sequence[bytes], place: Place) -> HttpCall | None:
        """Return None: the requests travel with the batch."""
        return None

    def uploaded(self, answer: HttpAnswer) -> str:
        """Refuse to read what nobody asked for: `upload` returned None."""
        raise ProtocolError("Message Batches have no upload: the requests travel with the batch")

    def create(self, lines: Sequence[bytes], upload: str | None, tag: str, place: Place) -> HttpCall:
        """Return the call after which the batch is paid for."""
        return self._call("POST", "", place, b'{"requests":[%s]}' % b",".join(lines))

    def look(self, batch: str, place: Place) -> HttpCall:
        """Return the call that asks how a batch is doing."""
        return self._call("GET", f"/{batch}", place)

    def view(self, answer: HttpAnswer) -> BatchView:
        """Return the batch an answer describes."""
        return _view(vendor_body(_Batch, batch_object(answer), answer), answer)

    def listing(self, after: str | None, place: Place) -> HttpCall:
        """Return the call for a page of the workspace's batches."""
        return self._call("GET", f"?limit={_PAGE}" + (f"&after_id={after}" if after else ""), place)

    def listed(self, answer: HttpAnswer) -> tuple[list[BatchView], str | None]:
        """Return a page, and the id the next one comes after."""
        page = vendor_body(_Page, batch_object(answer), answer)
        last = vendor_id(page.last_id, answer) if page.has_more else None
        return [_view(batch, answer) for batch in page.data], last

    def results(self, view: BatchView, place: Place) -> list[HttpCall]:
        """Return the call that fetches the results.

        The address is made from the id: the vendor's `results_url` would be sent the key, wherever it leads.
        """
        return [self._call("GET", f"/{view.id}/results", place)]

    def result(self, fields: Mapping[str, Any], answer: HttpAnswer) -> BatchResult:
        """Return what one line of the results says."""
        custom_id, result = fields.get("custom_id"), fields.get("result")
        if not isinstance(custom_id, str) or not isinstance(result, dict):
            raise ProviderFault("malformed", "a result without custom_id or result", status=answer.status)
        message, error = result.get("message"), result.get("error")
        match result.get("type"):
            case "succeeded" if isinstance(message, dict):
                return BatchResult(custom_id, answer=answer_within(answer, 200, message))
            case "errored":
                inner = error.get("error", error) if isinstance(error, dict) else {"message": str(error)}
                return BatchResult(custom_id, error=inner if isinstance(inner, dict) else {"message": str(inner)})
            case "canceled" | "expired" as word:
                return BatchResult(custom_id, unsent=word)
            case word:
                raise ProviderFault("malformed", f"a result of unknown type {word!r}", status=answer.status)

    def _call(self, method: str, path: str, place: Place, body: bytes = b"") -> HttpCall:
        return HttpCall(
            url=f"{place.base_url}/v1/messages/batches{path}",
            headers=_HEADERS,
            body=body,
            auth=KeyHeader("x-api-key", "", place.key) if place.key else None,
            method=method,
        )


def _view(batch: _Batch, answer: HttpAnswer) -> BatchView:
    return BatchView(
        id=vendor_id(batch.id, answer),
        status=batch.processing_status,
        ended=batch.processing_status == "ended",
        n_requests=batch.request_counts.total if batch.request_counts else None,
        created=batch.created_at.timestamp() if batch.created_at else None,
    )
