"""A small study of one's own on disk, one file of each kind that a lock holds."""

from pathlib import Path

import tomli_w

__all__ = ["CLAIM", "POLICY", "STUDY", "write_study"]

STUDY = """
claims = "claims"

[[bases]]
id = "ours"
label = "Ours"
model = "our-tutor"
provider = "compatible"
sampling = { max_tokens = 64 }

[[policies]]
id = "spoken"
prompt = "prompts/spoken.txt"

[[policies]]
id = "coded"
callable = "{module}:tutor_turn"

[[policies]]
id = "asis"
direct = true
"""

POLICY = """
def tutor_turn(situation):
    reply = yield situation.request(situation.with_statement("Be brief."), node="coded")
    return reply.text
"""

CLAIM = {
    "id": "X1",
    "title": "Ped teaches better.",
    "form": "paired_contrast",
    "measure": "leakage",
    "direction": "conv > ped",
    "kind": "live_test",
    "judge_bound": False,
    "role": "sensitivity",
    "status": "registered here",
    "evidence_visible": "none",
}


def write_study(folder: Path, *, module: str = "own_policy", more: str = "") -> Path:
    """Write the study and return its study file. Modules of one process need names of their own."""
    for name in ("prompts", "claims"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "prompts" / "spoken.txt").write_text("You are a tutor.\nAsk back.\n", encoding="utf-8")
    (folder / f"{module}.py").write_text(POLICY, encoding="utf-8")
    (folder / "claims" / "X1.toml").write_text(tomli_w.dumps(CLAIM), encoding="utf-8")
    study = folder / "tutoreval.toml"
    study.write_text(STUDY.replace("{module}", module) + more, encoding="utf-8")
    return study
