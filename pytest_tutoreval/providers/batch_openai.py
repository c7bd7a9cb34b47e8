"""OpenAI's Batch API: a JSONL file goes up first, a batch is made of it, results and errors come down as two files."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tutoreval.providers.batch import (
    BatchLimits,
    BatchResult,
    BatchView,
    Place,
    answer_within,
    batch_object,
    vendor_id,
)
from pytest_tutoreval.providers.faults import ProviderFault, plain_message
from pytest_tutoreval.providers.keys import KeyHeader
from pytest_tutoreval.providers.wire import Count, HttpAnswer, HttpCall, VendorBody, json_bytes, vendor_body

__all__ = ["OpenAIBatches"]

ENDPOINT = "/v1/chat/completions"
_TAG = "tutoreval"
_PAGE = 100
_ENDED = frozenset(("completed", "failed", "expired", "cancelled"))
# What some readers of JSON lines take for a line end, escaped: inside a string it is the same text.
_LINE_ENDS = tuple((end.encode(), f"\\u{ord(end):04x}".encode()) for end in "\u0085\u2028\u2029")
_UNSENT = {"batch_expired": "expired", "batch_cancelled": "canceled", "batch_canceled": "canceled"}


class _Counts(VendorBody):
    total: Count = None


class _Error(VendorBody):
    code: str | None = None
    message: str | None = None
    line: int | None = None


class _Errors(VendorBody):
    data: tuple[_Error, ...] | None = None


class _Batch(VendorBody):
    id: str
    status: str
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    created_at: float | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, Any] | None = None
    errors: _Errors | None = None


class _Page(VendorBody):
    data: tuple[_Batch, ...]
    has_more: bool | None = None
    last_id: str | None = None


class OpenAIBatches:
    """The Batch API over Chat Completions. A batch carries our tag as metadata, so a lost one can be found again."""

    name = "openai"
    limits = BatchLimits(requests=50_000, bytes=200_000_000)
    overhead = 0

    def line(self, custom_id: str, call: HttpCall) -> bytes:
        """Return a request as it stands in the file."""
        body = call.body
        for end, escaped in _LINE_ENDS:
            body = body.replace(end, escaped)
        return b'{"custom_id":"%s","method":"POST","url":"%s","body":%s}' % (
            custom_id.encode(),
            ENDPOINT.encode(),
            body,
        )

    def upload(self, lines: Sequence[bytes], place: Place) -> HttpCall | None:
        """Return the call that uploads the file: free, and nothing is run yet."""
        content = b"\n".join(lines) + b"\n"
        boundary = f"tutoreval-{secrets.token_hex(16)}".encode()
        body = (
            b'--%(boundary)s\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            b'--%(boundary)s\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
            b"Content-Type: application/jsonl\r\n\r\n%(content)s\r\n--%(boundary)s--\r\n"
        ) % {b"boundary": boundary, b"content": content}
        headers = {"content-type": f"multipart/form-data; boundary={boundary.decode()}"}
        return self._call("POST", "/files", place, body, headers)

    def uploaded(self, answer: HttpAnswer) -> str:
        """Return the file's id."""
        return vendor_id(batch_object(answer).get("id"), answer)

    def create(self, lines: Sequence[bytes], upload: str | None, tag: str, place: Place) -> HttpCall:
        """Return the call after which the batch is paid for."""
        body = {
            "input_file_id": upload,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {_TAG: tag},
        }
        return self._call("POST", "/batches", place, json_bytes(body), {"content-type": "application/json"})

    def look(self, batch: str, place: Place) -> HttpCall:
        """Return the call that asks how a batch is doing."""
        return self._call("GET", f"/batches/{batch}", place)

    def view(self, answer: HttpAnswer) -> BatchView:
        """Return the batch an answer describes."""
        return _view(vendor_body(_Batch, batch_object(answer), answer), answer)

    def listing(self, after: str | None, place: Place) -> HttpCall:
        """Return the call for a page of the project's batches."""
        return self._call("GET", f"/batches?limit={_PAGE}" + (f"&after={after}" if after else ""), place)

    def listed(self, answer: HttpAnswer) -> tuple[list[BatchView], str | None]:
        """Return a page, and the id the next one comes after."""
        page = vendor_body(_Page, batch_object(answer), answer)
        last = vendor_id(page.last_id, answer) if page.has_more else None
        return [_view(batch, answer) for batch in page.data], last

    def results(self, view: BatchView, place: Place) -> list[HttpCall]:
        """Return the calls that fetch the output and the error file, whichever there are."""
        return [self._call("GET", f"/files/{file}/content", place) for file in view.files]

    def result(self, fields: Mapping[str, Any], answer: HttpAnswer) -> BatchResult:
        """Return what one line of either file says."""
        custom_id, error, response = fields.get("custom_id"), fields.get("error"), fields.get("response")
        if not isinstance(custom_id, str):
            raise ProviderFault("malformed", "a result without custom_id", status=answer.status)
        if error:
            error = error if isinstance(error, dict) else {"message": str(error)}
            unsent = _UNSENT.get(str(error.get("code")))
            return BatchResult(custom_id, unsent=unsent) if unsent else BatchResult(custom_id, error=error)
        if not isinstance(response, dict) or not isinstance(response.get("body"), dict):
            raise ProviderFault("malformed", "a result without response or error", status=answer.status)
        status, named = response.get("status_code"), response.get("request_id")
        headers = {"x-request-id": named} if isinstance(named, str) else {}
        return BatchResult(
            custom_id,
            answer=answer_within(answer, status if isinstance(status, int) else 500, response["body"], headers),
        )

    def _call(
        self, method: str, path: str, place: Place, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> HttpCall:
        return HttpCall(
            url=f"{place.base_url}{path}",
            headers=headers or {},
            body=body,
            auth=KeyHeader("authorization", "Bearer ", place.key) if place.key else None,
            method=method,
        )


def _view(batch: _Batch, answer: HttpAnswer) -> BatchView:
    tag = (batch.metadata or {}).get(_TAG)
    files = [vendor_id(file, answer) for file in (batch.output_file_id, batch.error_file_id) if file]
    errors = [error for error in (batch.errors.data if batch.errors else None) or () if error.message or error.code]
    said = "; ".join(
        f"{error.message or error.code}{'' if error.line is None else f' (line {error.line})'}" for error in errors[:5]
    )
    return BatchView(
        id=vendor_id(batch.id, answer),
        status=batch.status,
        ended=batch.status in _ENDED,
        n_requests=batch.request_counts.total if batch.request_counts else None,
        created=batch.created_at,
        tag=tag if isinstance(tag, str) else None,
        upload=batch.input_file_id,
        files=tuple(files),
        problem=plain_message(answer.redact(said)) if said else None,
    )
