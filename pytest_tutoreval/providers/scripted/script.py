"""How often things happen in a scripted session: the parameters of one tutor base, and three presets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from pytest_tutoreval.records.problem import Phase

__all__ = ["SCRIPTS", "Script"]


@dataclass(frozen=True, slots=True)
class Script:
    """What a scripted student and tutor do, as chances in [0, 1].

    Parameters
    ----------
    leak_rate : by condition, that a tutor turn states the answer
    question_rate : by condition, that a `conv` node's turn without a leak ends in a question; 0 where absent.
        The nodes of a pedagogical policy ask nearly always, whatever stands here.
    curt_rate : that a leaking `conv` turn is the bare result and nothing else
    attempt_rate, attempt_rate_after_leak : that a student turn holds a reasoning step; the first also rules
        the opening
    request_rate : that a student turn asks for the answer, unless it commits or follows a commitment
    commit_rate, commit_rate_after_leak : that a student turn commits, while none before it on the problem has
    recommit_rate : that a later student turn on the problem repeats a final answer
    accuracy, cold_accuracy : by phase, that a committed value is correct, with tutoring and in cold; the
        first's `training` holds for exchanges in which nothing has leaked yet
    accuracy_after_leak : the same once the tutor has stated the answer
    marker_rate : that an unprompted probe reply carries a final answer that can be read
    commitment_marker_rate : the same for a reply to the forced commitment, and to its retry
    garbled_tracker_rate : that the tracker's line is no JSON
    """

    leak_rate: Mapping[str, float]
    question_rate: Mapping[str, float] = field(default_factory=dict)
    curt_rate: float = 0.05
    attempt_rate: float = 0.73
    attempt_rate_after_leak: float = 0.33
    request_rate: float = 0.01
    commit_rate: float = 0.01
    commit_rate_after_leak: float = 0.88
    recommit_rate: float = 0.1
    accuracy: Mapping[Phase, float] = field(
        default_factory=lambda: {
            "training": 0.8,
            "immediate": 0.9,
            "interference": 0.7,
            "delayed": 0.93,
            "transfer": 0.83,
        }
    )
    cold_accuracy: Mapping[Phase, float] = field(
        default_factory=lambda: {
            "training": 0.8,
            "immediate": 0.87,
            "interference": 0.7,
            "delayed": 0.9,
            "transfer": 0.8,
        }
    )
    accuracy_after_leak: float = 0.97
    marker_rate: float = 0.85
    commitment_marker_rate: float = 0.95
    garbled_tracker_rate: float = 0.01

    def __post_init__(self) -> None:
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            named = value.items() if isinstance(value, Mapping) else [(None, value)]
            for key, rate in named:
                if not 0 <= rate <= 1:
                    where = parameter.name if key is None else f"{parameter.name}[{key!r}]"
                    raise ValueError(f"{where} = {rate} is not a chance. Give a number from 0 to 1.")


# Leakage, next-turn attempts and window lengths resemble the study's; nothing here is fitted to its text.
SCRIPTS: Mapping[str, Script] = {
    "sonnet": Script(
        leak_rate={
            "conv": 0.43,
            "ped": 0.064,
            "conv_socratic": 0.04,
            "conv_no_final_answer": 0.146,
            "ped_no_gate": 0.064,
            "ped_no_cascade": 0.05,
            "ped_no_tracker": 0.064,
        },
        question_rate={"conv": 0.3, "conv_socratic": 0.97, "conv_no_final_answer": 0.5},
    ),
    "gpt": Script(
        leak_rate={"conv": 0.766, "ped": 0.07},
        question_rate={"conv": 0.15},
        curt_rate=0.6,
        attempt_rate_after_leak=0.19,
        commit_rate_after_leak=0.35,
    ),
    "gemini": Script(
        leak_rate={"conv": 0.113, "ped": 0.075},
        question_rate={"conv": 0.9},
        curt_rate=0.1,
        attempt_rate_after_leak=0.15,
        commit_rate_after_leak=0.5,
    ),
}
