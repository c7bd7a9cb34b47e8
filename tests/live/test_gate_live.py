"""`pytest --live --gate`: what the guards lack is paid for too, and what a session cost is held in dollars."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.running import ROOT
from tests.live.test_pytest_live import run, sessions
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer

P1 = 'import pytest\n\n@pytest.mark.claim("P1")\ndef test_p1(decided, base): pass\n'


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


def test_a_gate_collects_what_its_guards_lack(server: LoopbackServer, tmp_path: Path) -> None:
    own = tmp_path / "test_own.py"
    own.write_text(P1)
    baseline = f"--tutoreval-baseline={tmp_path / 'b.json'}"
    made = run(server, tmp_path, "--base=gpt", baseline, "--tutoreval-baseline-update", items=str(own))
    assert made.code == 0, made.text
    fields = json.loads((tmp_path / "b.json").read_bytes())
    assert fields["corpus"]["provenance"] == "recorded"
    assert {one["unit"] for one in fields["series"] if one["measure"] == "cost_per_session"} == {"tokens", "dollars"}

    lost = next((tmp_path / "corpus").rglob("sessions/gpt/ped/r9.jsonl"))
    lost.unlink()
    gated = run(server, tmp_path, "--base=gpt", "--gate", baseline, items=str(ROOT / "suites" / "test_gate.py"))
    assert gated.code == 0, gated.text
    assert gated.calls > 0
    assert sessions(tmp_path) == 20
    rows = gated.document["gate"]["rows"]
    assert {row["outcome"] for row in rows} == {"held"}
    assert {row["unit"] for row in rows if row["guard"] == "cost_per_session"} == {"dollars"}
