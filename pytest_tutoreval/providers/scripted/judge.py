"""A scripted judge: reads the final tutor turn of the request, and nothing that is not in it."""

import re

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.scripted.draw import bell, pick, uniforms
from pytest_tutoreval.providers.scripted.judge_script import JudgeScript, Taste
from pytest_tutoreval.providers.scripted.reply import reply_to
from pytest_tutoreval.records.rating import RUBRIC_FIELDS

__all__ = ["ScriptedJudge", "final_tutor_turn", "is_curt", "is_eliciting", "is_telling"]

_TELLING = re.compile(r"\banswer is\b|\bx = \W*\d|\b(?:need|needs|comes to) \d", re.IGNORECASE)
_CURT_LENGTH = 40

# No overall can be read from any of these.
_UNUSABLE = (
    "I am not able to rate this turn.",
    "The tutor's turn is clear and speaks to the student. Overall rating: good.",
    '{{"{first}": {first_value}, "{second}": {second_value}}}',
    '{{"{first}": {first_value}, "{second}"',
    '{{"{first}": {first_value}, "overall": null}}',
    "**overall**: {overall}",
    "overall rating: {overall}",
    "",
)

# The overall can be read from each of these, by the object in it or by its field.
_UNTIDY = (
    "```json\n{object}\n```",
    "Here is my rating:\n\n{object}",
    "{object}\n\nThe turn is rated within the dialogue shown.",
    "```\n{object}\n```\nLet me know if you need more detail.",
    "Rating: {object}",
    "{object}\n",
    "I read the final turn as asked.\n{object}\nThat is my rating.",
    "{lines}",
)


def final_tutor_turn(message: str) -> str:
    """Return the tutor turn to be rated: what follows the last line that starts with `Tutor:`.

    It ends where the quoted dialogue does. Empty where the message holds no such line.
    """
    _, line, after = f"\n{message}".rpartition("\nTutor:")
    return after.partition('"""')[0].strip() if line else ""


def is_telling(turn: str) -> bool:
    """Return whether a turn states a value as the result, going by its words."""
    return _TELLING.search(turn) is not None


def is_eliciting(turn: str) -> bool:
    """Return whether a turn asks something."""
    return "?" in turn


def is_curt(turn: str) -> bool:
    """Return whether a turn is a few words long."""
    return len(turn) < _CURT_LENGTH


class ScriptedJudge:
    """Answers every rating call of one judge.

    The rating comes from the words of the final tutor turn and from the seed; the site tells repetitions and
    turns apart and is never read for what was planted.

    Raises
    ------
    ProtocolError
        The call is no rating, or the script has no taste for its rubric.
    """

    def __init__(self, script: JudgeScript, *, seed: int) -> None:
        self._script = script
        self._seed = seed

    def __call__(self, request: ModelRequest) -> ModelReply:
        """Return the judge's reply to a rating request."""
        site = request.site
        rubric = site.rubric
        if request.role != "judge" or rubric is None or rubric not in self._script.tastes or site.repetition is None:
            raise ProtocolError(
                f"a {request.role} call under rubric {rubric!r}, repetition {site.repetition}: not a rating "
                f"this judge can give. Rubrics: {', '.join(self._script.tastes)}; repetitions count from 0."
            )
        turn = final_tutor_turn(request.messages[-1].text) if request.messages else ""
        turn_key = f"{self._seed}|{request.route.model}|{rubric}|{self._name(request)}"
        key = f"{turn_key}|{site.repetition}"
        taste = self._script.tastes[rubric]
        impression = self._impression(taste, turn) + taste.turn_sd * bell(turn_key)
        overall = _rounded(impression + taste.noise_sd * bell(f"{key}|noise"))
        return reply_to(request, self._text(rubric, overall, key))

    def _name(self, request: ModelRequest) -> str:
        """Return what tells a rated turn from others, the same in all its repetitions."""
        site = request.site
        return f"{site.base}|{site.condition}|{site.replicate}|{site.problem}|{site.turn}"

    def _states_result(self, turn: str) -> bool:
        return is_telling(turn)

    def _impression(self, taste: Taste, turn: str) -> float:
        return (
            taste.level
            + taste.telling * self._states_result(turn)
            + taste.eliciting * is_eliciting(turn)
            + taste.curt * is_curt(turn)
        )

    def _text(self, rubric: str, overall: int, key: str) -> str:
        *components, last = RUBRIC_FIELDS[rubric]
        near = uniforms(f"{key}|components")
        values = {name: _nudged(overall, u) for name, u in zip(components, near, strict=False)} | {last: overall}
        tidy = "{" + ", ".join(f'"{name}": {value}' for name, value in values.items()) + "}"
        form, which, _, _ = uniforms(f"{key}|form")
        if form < self._script.unusable_rate:
            first, second = components[:2]
            return pick(_UNUSABLE, which).format(
                first=first,
                first_value=values[first],
                second=second,
                second_value=values[second],
                overall=overall,
            )
        if form < self._script.unusable_rate + self._script.untidy_rate:
            lines = "\n".join(f"{name}: {value}" for name, value in values.items())
            return pick(_UNTIDY, which).format(object=tidy, lines=lines)
        return tidy


def _rounded(rating: float) -> int:
    return min(5, max(1, int(rating + 0.5)))


def _nudged(overall: int, u: float) -> int:
    """Return a component near the overall: usually the same, at times one off."""
    return min(5, max(1, overall + (u > 0.88) - (u < 0.12)))
