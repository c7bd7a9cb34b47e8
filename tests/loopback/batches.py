"""The loopback server with batch endpoints: Anthropic's Message Batches, and OpenAI's files and batches.

Each request of a batch is answered as the direct route answers it. What was created is what is paid for: `paid`.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal

from tests.live.voices import digest_of
from tests.loopback.server import Entry, LoopbackServer, Step, _echo, _reply
from tests.loopback.vendors import Answerer, Shape, answer_body, default_text, refusal, sent_key

__all__ = ["BatchServer", "BatchStep", "Fate", "MadeBatch"]

Operation = Literal["upload", "create", "look", "list", "results"]
Fate = Literal["succeeded", "errored", "overloaded", "expired", "canceled", "missing", "twice", "foreign", "garbled"]


@dataclass(frozen=True)
class BatchStep:
    """What happens to the next `times` calls of an operation. `done` says that the work is done all the same.

    `skip` of them are let through before.
    """

    operation: Operation
    times: int = 1
    skip: int = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    cut: Literal["before", "headers", "body"] | None = None
    delay: float = 0.0
    done: bool = False


@dataclass
class _Scripted:
    """A step, and how often it still lets through and still happens."""

    step: BatchStep
    skip: int
    times: int


@dataclass
class MadeBatch:
    """A batch as the vendor holds it; `looks` are left before it ends."""

    id: str
    shape: Shape
    requests: list[tuple[str, dict[str, Any]]]
    created: float
    looks: int
    tag: str | None = None
    upload: str | None = None


class BatchServer(LoopbackServer):
    """A loopback server that takes batches. `fate` decides what becomes of a batch's n-th request.

    `looks` is how often a batch says that it is in progress, -1 for ever; `seed` shuffles results. `whole` replaces
    the vendor's last word on a whole batch, such as `failed` or `expired`. `on` hears of every operation before it is
    answered, once its work is done.
    """

    def __init__(
        self,
        script: Iterable[Step] = (),
        *,
        steps: Iterable[BatchStep] = (),
        answer: Answerer = default_text,
        fate: Callable[[int], Fate] = lambda _: "succeeded",
        looks: int = 1,
        whole: str | None = None,
        seed: int = 1,
        page: int = 100,
        on: Callable[[Operation], None] = lambda _: None,
    ) -> None:
        super().__init__(script, answer=answer)
        self.made: list[MadeBatch] = []
        self.files: dict[str, bytes] = {}
        self.operations: list[Operation] = []
        self.fate, self.looks, self.whole, self.on = fate, looks, whole, on
        self._steps = [_Scripted(step, step.skip, step.times) for step in steps]
        self._rng, self._page = Random(seed), page

    @property
    def paid(self) -> Counter[str]:
        """How often each body was handed over in a batch that was made."""
        return Counter(digest_of(body) for batch in self.made for _, body in batch.requests)

    def add_batch_step(self, step: BatchStep) -> None:
        """Append a step to the script of a running server."""
        self._steps.append(_Scripted(step, step.skip, step.times))

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        place = _place(method, path.partition("?")[0])
        if place is None:
            again = asyncio.StreamReader()
            again.feed_data(head + raw)
            again.feed_eof()
            return await super()._exchange(again, writer)
        shape, operation, name = place
        self._note(Entry(time.time(), shape, method, path, headers, raw.decode("utf-8", "replace")))
        self.operations.append(operation)
        step = self._next(operation)
        if step.delay:
            await asyncio.sleep(step.delay)
        status, sent, content = step.status, dict(step.headers), b""
        if (step.status == 200 and step.body is None) or step.done or step.cut:
            status, content = self._work(shape, operation, name, path, headers, raw)
            status = step.status if step.status != 200 else status
            self.on(operation)
        key = sent_key(shape, headers)
        sent = {header: _echo(value, key) for header, value in sent.items()}
        if step.body is not None:
            content = _echo(step.body if isinstance(step.body, str) else json.dumps(step.body), key).encode()
        return await _reply(writer, Step(cut=step.cut), status, sent, content)

    def _next(self, operation: Operation) -> BatchStep:
        for entry in self._steps:
            if entry.step.operation == operation and entry.times:
                if entry.skip:
                    entry.skip -= 1
                    break
                entry.times -= 1
                return entry.step
        return BatchStep(operation)

    def _work(
        self, shape: Shape, operation: Operation, name: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, bytes]:
        if not sent_key(shape, headers):
            return 401, b'{"error":{"type":"authentication_error","message":"no key was sent"}}'
        match operation:
            case "upload":
                return self._upload(headers, raw)
            case "create":
                return self._create(shape, json.loads(raw))
            case "list":
                return self._list(shape, path)
            case "results" if shape == "openai":
                return (200, self.files[name]) if name in self.files else (404, b'{"error":{"message":"no file"}}')
        batch = next((batch for batch in self.made if batch.id == name), None)
        if batch is None:
            return 404, b'{"type":"error","error":{"type":"not_found_error","message":"no such batch"}}'
        if operation == "results":
            return 200, b"".join(self._lines(batch))
        batch.looks -= batch.looks > 0
        return 200, json.dumps(self._described(batch)).encode()

    def _upload(self, headers: Mapping[str, str], raw: bytes) -> tuple[int, bytes]:
        boundary = headers["content-type"].partition("boundary=")[2].encode()
        parts = [part.partition(b"\r\n\r\n") for part in raw.split(b"--" + boundary)[1:-1]]
        fields = {fields.partition(b'name="')[2].partition(b'"')[0].decode(): text[:-2] for fields, _, text in parts}
        if fields.get("purpose") != b"batch":
            return 400, b'{"error":{"message":"purpose must be batch"}}'
        name = f"file-{len(self.files)}in"
        self.files[name] = fields["file"]
        return 200, json.dumps({"id": name, "object": "file", "purpose": "batch"}).encode()

    def _create(self, shape: Shape, body: Mapping[str, Any]) -> tuple[int, bytes]:
        if shape == "anthropic":
            requests = [(each["custom_id"], each["params"]) for each in body["requests"]]
        else:
            assert body["completion_window"] == "24h"
            assert body["endpoint"] == "/v1/chat/completions"
            lines = [json.loads(line) for line in self.files[body["input_file_id"]].decode().splitlines()]
            assert all(line["method"] == "POST" and line["url"] == body["endpoint"] for line in lines)
            requests = [(line["custom_id"], line["body"]) for line in lines]
        names = [name for name, _ in requests]
        assert len(set(names)) == len(names)
        assert all(len(name) <= 64 and name.replace("-", "").replace("_", "").isalnum() for name in names)
        name = f"{'msgbatch' if shape == 'anthropic' else 'batch'}_{len(self.made):04}"
        tag, upload = body.get("metadata", {}).get("tutoreval"), body.get("input_file_id")
        batch = MadeBatch(name, shape, requests, time.time(), self.looks, tag, upload)
        self.made.append(batch)
        return 200, json.dumps(self._described(batch)).encode()

    def _list(self, shape: Shape, path: str) -> tuple[int, bytes]:
        batches = [batch for batch in reversed(self.made) if batch.shape == shape]
        cursor = dict(part.split("=") for part in path.partition("?")[2].split("&"))
        names = [batch.id for batch in batches]
        after = cursor.get("after_id" if shape == "anthropic" else "after")
        start = names.index(after) + 1 if after else 0
        page = batches[start : start + self._page]
        for batch in page:
            batch.looks -= batch.looks > 0
        listed = {
            "data": [self._described(batch) for batch in page],
            "has_more": start + self._page < len(batches),
            "last_id": page[-1].id if page else None,
        }
        return 200, json.dumps(listed).encode()

    def _described(self, batch: MadeBatch) -> dict[str, Any]:
        ended, n_requests = batch.looks == 0, len(batch.requests)
        if batch.shape == "anthropic":
            counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
            counts["succeeded" if ended else "processing"] = n_requests
            return {
                "id": batch.id,
                "type": "message_batch",
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts,
                "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat(),
                "results_url": "http://elsewhere.invalid/" if ended else None,
            }
        described = {
            "id": batch.id,
            "object": "batch",
            "status": (self.whole or "completed") if ended else "validating",
            "input_file_id": batch.upload,
            "output_file_id": None,
            "error_file_id": None,
            "created_at": int(batch.created),
            "metadata": {"tutoreval": batch.tag},
            "request_counts": {"total": n_requests if ended else 0, "completed": 0, "failed": 0},
        }
        if ended and self.whole == "failed":
            error = {"code": "model_mismatch", "message": "One model a file.", "line": 2, "param": None}
            return described | {"errors": {"object": "list", "data": [error]}}
        if ended:
            for kind, lines in zip(("output", "error"), self._split(batch), strict=True):
                if lines:
                    self.files[f"{batch.id}-{kind}"] = b"".join(lines)
                    described[f"{kind}_file_id"] = f"{batch.id}-{kind}"
        return described

    def _split(self, batch: MadeBatch) -> tuple[list[bytes], list[bytes]]:
        lines = self._lines(batch)
        good = [line for line in lines if b'"status_code": 200' in line]
        return good, [line for line in lines if line not in good]

    def _lines(self, batch: MadeBatch) -> list[bytes]:
        results: list[dict[str, Any]] = []
        for number, (name, body) in enumerate(batch.requests):
            fate = self.fate(number)
            if fate == "missing":
                continue
            if fate == "foreign":
                results.append(self._result(batch.shape, "somebody-elses", body, "succeeded"))
            results += [self._result(batch.shape, name, body, fate)] * (2 if fate == "twice" else 1)
        self._rng.shuffle(results)
        return [json.dumps(result).encode() + b"\n" for result in results]

    def _result(self, shape: Shape, name: str, body: Mapping[str, Any], fate: Fate) -> dict[str, Any]:
        headers = {"x-api-key": "k", "authorization": "Bearer k"}
        refused = refusal(shape, headers, body)
        text = self._answer(shape, body)
        _, answer = answer_body(shape, body, text, model=str(body["model"]))
        if fate == "garbled":
            answer = {"id": answer["id"], "content": 7, "choices": 7}
        if shape == "anthropic":
            error = {"type": "invalid_request_error", "message": "too much of something"}
            if fate == "overloaded":
                error = {"type": "overloaded_error", "message": "Overloaded"}
            result: dict[str, Any] = {"type": "succeeded", "message": answer}
            if fate in ("errored", "overloaded") or refused:
                inner = refused[1] if refused else {"type": "error", "error": error, "request_id": None}
                result = {"type": "errored", "error": inner}
            elif fate in ("expired", "canceled"):
                result = {"type": fate}
            return {"custom_id": name, "result": result}
        response: dict[str, Any] | None = {"status_code": 200, "request_id": f"req_{name}", "body": answer}
        line_error: dict[str, Any] | None = None
        if refused or fate in ("errored", "overloaded"):
            kind = "server_error" if fate == "overloaded" else "invalid_request_error"
            said = {"error": {"message": "too much of something", "type": kind, "param": None, "code": None}}
            status = 503 if fate == "overloaded" else 400
            response = {"status_code": status, "request_id": f"req_{name}", "body": refused[1] if refused else said}
        elif fate in ("expired", "canceled"):
            code = "batch_expired" if fate == "expired" else "batch_cancelled"
            response, line_error = None, {"code": code, "message": f"This request {fate}."}
        return {"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": line_error}


def _place(method: str, path: str) -> tuple[Shape, Operation, str] | None:
    """Return vendor, operation and the id in a path of a batch endpoint."""
    parts = path.strip("/").split("/")
    match method, parts:
        case "POST", ["v1", "messages", "batches"]:
            return "anthropic", "create", ""
        case "GET", ["v1", "messages", "batches"]:
            return "anthropic", "list", ""
        case "GET", ["v1", "messages", "batches", name]:
            return "anthropic", "look", name
        case "GET", ["v1", "messages", "batches", name, "results"]:
            return "anthropic", "results", name
        case "POST", ["v1", "files"]:
            return "openai", "upload", ""
        case "GET", ["v1", "files", name, "content"]:
            return "openai", "results", name
        case "POST", ["v1", "batches"]:
            return "openai", "create", ""
        case "GET", ["v1", "batches"]:
            return "openai", "list", ""
        case "GET", ["v1", "batches", name]:
            return "openai", "look", name
        case _:
            return None
