"""An HTTP tutor on loopback, as a user might write one: it keeps the contract of docs/reference/tutor-endpoint.md."""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from pytest_tutoreval.frozen import load_instrument

__all__ = ["Answer", "TutorServer", "a_tutor"]


@dataclass(frozen=True)
class Answer:
    """What is answered; a body of bytes is sent as it is."""

    body: Any = field(default_factory=lambda: {"text": "What do you know already?"})
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Behave = Callable[[Mapping[str, Any], str], Answer]


class TutorServer:
    """`with TutorServer(behave) as server`; `behave` gets the parsed body and the Authorization header.

    `journal` holds every body that came, `headers` every Authorization header.
    """

    def __init__(self, behave: Behave) -> None:
        self.journal: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.paths: list[str] = []
        journal, headers, paths = self.journal, self.headers, self.paths

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                key = self.headers.get("authorization", "")
                journal.append(body)
                headers.append(key)
                paths.append(self.path)
                answer = behave(body, key)
                sent = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: object) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: object, client_address: object) -> None:
                return  # a client that was killed hangs up as it likes

        self._server = Server(("127.0.0.1", 0), Handler)

    @property
    def base_url(self) -> str:
        """Where the tutor is."""
        return f"http://127.0.0.1:{self._server.server_port}/tutor"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def a_tutor(leak_rate: float = 0.5, *, reports_tokens: bool = True) -> Behave:
    """Return a tutor that leaks in about this part of its turns where it is sent no pedagogical prompt."""
    problems = load_instrument().problem

    def behave(body: Mapping[str, Any], key: str) -> Answer:
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        chance, name = int(digest[:6], 16) / 16**6, digest[-6:].translate(str.maketrans("0123456789", "ghijklmnop"))
        system = body["system"]
        if "private planning component" in system:
            text = f'{{"demonstrated": "step {name}", "missing": "total", "stuck": false, "progressed": true}}'
        elif chance < leak_rate and "planning notes" not in system and body["problem"] in problems:
            text = f"Look, {name}: the answer is {problems[body['problem']].numeric_forms[0]}."
        else:
            text = f"What could you write down next, {name}?"
        usage = {"input_tokens": 100, "output_tokens": 10} if reports_tokens else {}
        return Answer({"text": text, "model": body["model"], "finish": "stop", **usage})

    return behave
