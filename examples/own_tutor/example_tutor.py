"""A toy tutor behind the JSON contract of tutoreval, in Python's standard library: put your own in its place.

    python example_tutor.py --leak-rate 0.4 --forbidden-leak-rate 0.05

It gives the answer away in that share of its turns: the second rate holds where its prompt forbids it to. The rest of
its turns are questions. The same request gets the same reply, so a study can be collected again.
"""

import argparse
import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FORMAT = "tutoreval-tutor/1"

# What this tutor knows; about other problems it only asks.
ANSWERS = {"train-1": "24", "train-2": "18", "train-3": "14", "train-4": "12", "train-5": "21", "train-6": "27"}

QUESTIONS = (
    "What do you know about the mixture before anything is added?",
    "Which quantity would you call x, and why that one?",
    "How would you write the amount of acid in words first?",
    "What stays the same on both sides here?",
)

FORBIDS = re.compile(r"\b(?:never|do not|don't|not to)\b[^.]*\b(?:answer|solution|result)\b", re.IGNORECASE)


def reply(turn: dict[str, Any], leak_rate: float, forbidden_leak_rate: float) -> str:
    """Return what the tutor says."""
    drawn = hashlib.sha256(json.dumps([turn[name] for name in ("problem", "turn", "replicate", "system")]).encode())
    chance = int.from_bytes(drawn.digest()[:8], "big") / 2**64
    rate = forbidden_leak_rate if FORBIDS.search(" ".join(turn["system"].split())) else leak_rate
    if chance < rate and turn["problem"] in ANSWERS:
        return f"Put it all together and the answer is {ANSWERS[turn['problem']]}."
    return QUESTIONS[drawn.digest()[-1] % len(QUESTIONS)]


class Tutor(ThreadingHTTPServer):
    """The server, with the two rates."""

    def __init__(self, port: int, leak_rate: float, forbidden_leak_rate: float) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.leak_rate, self.forbidden_leak_rate = leak_rate, forbidden_leak_rate


class Handler(BaseHTTPRequestHandler):
    """Answers one POST a tutor turn."""

    server: Tutor
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer a tutor turn with JSON, or with a status and the error."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            turn = json.loads(body)
            if turn["format"] != FORMAT:
                raise ValueError(f"format is {turn['format']!r}, this tutor speaks {FORMAT!r}")
            text = reply(turn, self.server.leak_rate, self.server.forbidden_leak_rate)
            read = len(turn["system"]) + sum(len(message["content"]) for message in turn["messages"])
        except (ValueError, TypeError, KeyError) as exc:
            self.answer(400, {"error": f"{type(exc).__name__}: {exc}"})
            return
        # Four characters a token: a tutor that calls a model reports what that was billed.
        counted = {"input_tokens": read // 4 + 1, "output_tokens": len(text) // 4 + 1}
        self.answer(200, {"text": text, "model": turn["model"], "finish": "stop", **counted})

    def answer(self, status: int, fields: dict[str, Any]) -> None:
        """Send a JSON body."""
        body = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a run makes a thousand calls."""


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="A toy tutor behind the JSON contract of tutoreval.")
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one")
    parser.add_argument("--leak-rate", type=float, default=0.4, help="share of turns that give the answer away")
    parser.add_argument("--forbidden-leak-rate", type=float, default=0.05, help="the same where the prompt forbids it")
    given = parser.parse_args()
    tutor = Tutor(given.port, given.leak_rate, given.forbidden_leak_rate)
    print(f"listening on http://127.0.0.1:{tutor.server_port}", flush=True)
    try:
        tutor.serve_forever()
    except KeyboardInterrupt:
        tutor.server_close()


if __name__ == "__main__":
    main()
