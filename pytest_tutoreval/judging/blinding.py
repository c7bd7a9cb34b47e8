"""The check that a judge sees only what was said: run on every request before it is sent."""

from pytest_tutoreval.errors import BlindingBroken
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.providers.agent import ModelRequest
from pytest_tutoreval.records.rating import RUBRIC_FIELDS
from pytest_tutoreval.records.session import Session

__all__ = ["BlindingCheck"]

# Words that only our records use; as free text they may be said, so they are looked for around the dialogue alone.
LABELS = ("state_tracker", "deferral_gate", "hint_cascade", "decomposer", "numeric_form", "solution_form", "canonical")


class BlindingCheck:
    """Holds a session's judge requests against what was visible in it.

    What a speaker said may hold anything, the answer included. Everything else of a request is known in advance: the
    rubric, our request wording, and the speakers' names. So the check takes the visible turns out, one after another in
    the order they were said, and nothing may be left over.
    """

    def __init__(self, instrument: Instrument, session: Session) -> None:
        self._instrument = instrument
        visible: dict[str, list[tuple[str, int | None]]] = {}
        for call in session.calls:
            if call.role != "tracker":
                speaker = "Student" if call.role == "student" else "Tutor"
                said = f"{speaker}: {call.text.strip()}", call.turn
                visible.setdefault(call.problem, []).append(said)
        self._visible = visible
        self._where = str(session.key)

    def __call__(self, request: ModelRequest) -> None:
        """Refuse a request that holds more than the rubric, the wording and the visible turns up to the rated one.

        Raises
        ------
        BlindingBroken
        """
        rubric = request.site.rubric or ""
        if request.system != self._instrument.rubrics[rubric]:
            raise self._broken(request, "its system prompt is not the rubric, byte for byte")
        if len(request.messages) != 1:
            raise self._broken(request, f"it holds {len(request.messages)} messages, one is due")
        fields = ", ".join(RUBRIC_FIELDS[rubric])
        before, after = self._instrument.wording["judge_request"].replace("{fields}", fields).split("{dialogue}")
        text = request.messages[0].text
        if not text.startswith(before) or not text.endswith(after):
            raise self._broken(request, "its wording around the dialogue is not the frozen one")
        if any(label in before + after for label in LABELS):
            raise self._broken(request, "the frozen wording names a label")
        self._only_visible(request, text[len(before) : len(text) - len(after)])

    def _only_visible(self, request: ModelRequest, dialogue: str) -> None:
        left = dialogue
        for said, turn in self._visible.get(request.site.problem, []):
            if turn is not None and turn == request.site.turn:
                if left == said:
                    return
                break
            if left.startswith(f"{said}\n\n"):
                left = left[len(said) + 2 :]
        raise self._broken(request, f"it holds text nobody said up to the rated turn: {left[:80]!r}")

    def _broken(self, request: ModelRequest, problem: str) -> BlindingBroken:
        site = request.site
        return BlindingBroken(
            f"{self._where}, {site.problem} turn {site.turn}, rubric {site.rubric}: the judge's request was not sent, "
            f"{problem}. Nothing was rated; report this as a bug."
        )
