"""The scripted server: `with LoopbackServer([...]) as server`, or `python -m tests.loopback.server --script FILE`.

A script is a list of steps, each taken by the first request it fits; requests that no step fits get a plain
answer. As a subprocess the server prints one JSON line with its base URLs and ends with its standard input.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote

from tests.loopback.vendors import (
    KEY_HEADERS,
    Answerer,
    Shape,
    answer_body,
    default_text,
    refusal,
    sent_key,
    shape_of,
)

__all__ = ["Entry", "LoopbackServer", "Step"]

FOR_EVER = -1


@dataclass(frozen=True)
class Step:
    """What happens to the next `times` requests it fits (-1: to all of them).

    Attributes
    ----------
    shape, model : which requests it fits; None is all
    status, headers, body : what is answered; a `body` of text is sent as it is, anything else as JSON; None is
        the vendor's own answer. `{key}` and `{quoted key}` become the key that was sent, plain and URL-quoted
    delay : seconds before anything is sent
    cut : the connection ends before the answer, after its headers, or in the middle of its body
    drip : seconds between pieces of eight bytes
    text, finish, empty, served : see `answer_body`
    error : an error object inside a 200, the rest of the answer left out
    """

    times: int = 1
    shape: Shape | None = None
    model: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    delay: float = 0.0
    cut: Literal["before", "headers", "body"] | None = None
    drip: float | None = None
    text: str | None = None
    finish: str = "stop"
    empty: bool = False
    served: str | None = None
    error: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Step":
        """Return the step of a script file; an unknown key is an error."""
        unknown = sorted(set(given) - {each.name for each in fields(cls)})
        if unknown:
            raise ValueError(f"a step has no {', '.join(unknown)}")
        return cls(**given)

    def fits(self, shape: Shape, model: str) -> bool:
        """Whether a request of this shape for this model takes the step."""
        return self.shape in (None, shape) and self.model in (None, model)


PLAIN = Step()


@dataclass(frozen=True)
class Entry:
    """A request as it arrived, header names in lower case."""

    at: float
    shape: Shape | None
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any

    def line(self) -> str:
        """Return the journal's line; that a key came is noted, not which."""
        kept = {name: "<a key>" if name in KEY_HEADERS.values() else value for name, value in self.headers.items()}
        return json.dumps({**self.__dict__, "headers": kept})


class LoopbackServer:
    """A server in a thread of its own, on a free port of 127.0.0.1.

    `journal` holds every request in order of arrival; `most_at_once` the largest number in work together.
    """

    def __init__(
        self,
        script: Iterable[Step] = (),
        *,
        answer: Answerer = default_text,
        journal: Path | None = None,
        port: int = 0,
        is_strict: bool = True,
    ) -> None:
        self.journal: list[Entry] = []
        self.most_at_once = 0
        self._script = [(step, step.times) for step in script]
        self._answer, self._journal_path, self._port = answer, journal, port
        self._is_strict = is_strict
        self._at_once = 0
        self._ready, self._failure = threading.Event(), ""
        self._thread = threading.Thread(target=self._run, name="loopback", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        if self._failure:
            raise OSError(self._failure)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_urls(self) -> dict[str, str]:
        """The base URL to configure for each provider."""
        return {
            "anthropic": self.url,
            "openai": f"{self.url}/v1",
            "gemini": self.url,
            "openrouter": f"{self.url}/api/v1",
            "compatible": f"{self.url}/compatible/v1",
        }

    @property
    def bodies(self) -> list[Any]:
        """The JSON bodies that arrived."""
        return [entry.body for entry in self.journal]

    def add(self, step: Step) -> None:
        """Append a step to the script of a running server."""
        self._script.append((step, step.times))

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        try:
            server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        except OSError as exc:
            self._failure = str(exc)
            self._ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._done.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            # A cancelled handler ends quietly: Python 3.11 would log its cancellation.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        headers.pop("", None)
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode("utf-8", "replace")
        shape = shape_of(path)
        self._note(Entry(time.time(), shape, method, path, headers, body))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if shape is None or method != "POST" or not isinstance(body, dict):
                return await _reply(writer, PLAIN, 404, {}, b'{"error":{"message":"no such place"}}')
            model = path.split("/")[-1].split(":")[0] if shape == "gemini" else str(body.get("model"))
            step = self._next_step(shape, model)
            if step.delay:
                await asyncio.sleep(step.delay)
            status, sent_headers, content = self._content(step, shape, model, headers, body)
            return await _reply(writer, step, status, sent_headers, content)
        finally:
            self._at_once -= 1

    def _note(self, entry: Entry) -> None:
        self.journal.append(entry)
        if self._journal_path is not None:
            with self._journal_path.open("a", encoding="utf-8") as lines:
                lines.write(entry.line() + "\n")

    def _next_step(self, shape: Shape, model: str) -> Step:
        for place, (step, left) in enumerate(self._script):
            if step.fits(shape, model) and left != 0:
                self._script[place] = (step, left - 1 if left > 0 else left)
                return step
        return PLAIN

    def _content(
        self, step: Step, shape: Shape, model: str, headers: Mapping[str, str], body: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, str], bytes]:
        key = sent_key(shape, headers)
        extra = {name: _echo(value, key) for name, value in step.headers.items()}
        if step.body is not None:
            text = step.body if isinstance(step.body, str) else json.dumps(step.body)
            return step.status, extra, _echo(text, key).encode()
        if step.error is not None:
            return 200, extra, _echo(json.dumps({"error": step.error}), key).encode()
        if self._is_strict and (refused := refusal(shape, headers, body)) is not None:
            return refused[0], {}, json.dumps(refused[1]).encode()
        text = self._answer(shape, body) if step.text is None else step.text
        own, answer = answer_body(
            shape, body, text, model=model, finish=step.finish, empty=step.empty, served=step.served
        )
        return step.status, {**own, **extra}, json.dumps(answer).encode()


def _echo(text: str, key: str) -> str:
    return text.replace("{key}", key).replace("{quoted key}", quote(key, safe=""))


async def _reply(
    writer: asyncio.StreamWriter, step: Step, status: int, headers: Mapping[str, str], content: bytes
) -> bool:
    if step.cut == "before":
        writer.transport.abort()
        return False
    kind = "text/html" if content.lstrip().startswith(b"<") else "application/json"
    lines = {"content-type": kind, "content-length": str(len(content)), **headers}
    head = f"HTTP/1.1 {status} Scripted\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(head.encode() + b"\r\n")
    if step.cut == "headers":
        content = b""
    elif step.cut == "body":
        content = content[: len(content) // 2]
    if step.drip is None:
        writer.write(content)
    else:
        for start in range(0, len(content), 8):
            writer.write(content[start : start + 8])
            await writer.drain()
            await asyncio.sleep(step.drip)
    await writer.drain()
    return step.cut is None


def _answerer(name: str) -> Answerer:
    """Return the function `module:function` names."""
    module, _, function = name.partition(":")
    found: Answerer = getattr(importlib.import_module(module), function)
    return found


def main() -> None:
    """Serve until standard input ends."""
    options = argparse.ArgumentParser(prog="python -m tests.loopback.server")
    options.add_argument("--script", type=Path, help="JSON list of steps")
    options.add_argument("--journal", type=Path, help="where requests are noted, a JSON line each")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--answer", help="module:function that decides texts; the default is a hash's")
    given = options.parse_args()
    steps = json.loads(given.script.read_text(encoding="utf-8")) if given.script else []
    with LoopbackServer(
        [Step.read(step) for step in steps],
        answer=_answerer(given.answer) if given.answer else default_text,
        journal=given.journal,
        port=given.port,
    ) as server:
        print(json.dumps({"url": server.url, "base_urls": server.base_urls}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
