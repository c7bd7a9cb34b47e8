"""What a scripted judge likes: its parameters, and two presets."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["JUDGE_SCRIPTS", "JudgeScript", "Taste"]


@dataclass(frozen=True, slots=True)
class Taste:
    """How a judge reads one rubric, on the scale of 1 to 5 before rounding.

    Parameters
    ----------
    level : the rating of a turn with none of the features below
    telling : added for a turn that states a value
    eliciting : added for a turn that asks a question
    curt : added for a turn of a few words
    turn_sd : spread between turns, the same in all repetitions of a turn
    noise_sd : spread between repetitions
    """

    level: float
    telling: float = 0.0
    eliciting: float = 0.0
    curt: float = 0.0
    turn_sd: float = 0.3
    noise_sd: float = 0.2

    def __post_init__(self) -> None:
        for name in ("turn_sd", "noise_sd"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name)} is no standard deviation. Give 0 or more.")


@dataclass(frozen=True, slots=True)
class JudgeScript:
    """A judge: its taste by rubric, and how often it steps out of the format.

    `unusable_rate` is the chance of a reply without a readable overall, `untidy_rate` of one whose overall
    can be read although the reply is more than the JSON object, or not quite one.
    """

    tastes: Mapping[str, Taste]
    unusable_rate: float = 0.0
    untidy_rate: float = 0.05

    def __post_init__(self) -> None:
        for name in ("unusable_rate", "untidy_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} = {getattr(self, name)} is not a chance. Give a number from 0 to 1.")
        if self.unusable_rate + self.untidy_rate > 1:
            raise ValueError("unusable_rate and untidy_rate exclude each other: their sum may not exceed 1.")


JUDGE_SCRIPTS: Mapping[str, JudgeScript] = {
    "opus": JudgeScript(
        tastes={
            "helpfulness": Taste(level=4.4, telling=0.75, eliciting=0.35, curt=-1.2, turn_sd=0.35),
            "pedagogy": Taste(level=2.8, telling=-1.1, eliciting=1.55, curt=-0.3, turn_sd=0.5),
        },
        unusable_rate=0.004,
        untidy_rate=0.08,
    ),
    "sol": JudgeScript(
        tastes={
            "helpfulness": Taste(level=5.05, telling=0.15, eliciting=-0.15, turn_sd=0.25),
            "pedagogy": Taste(level=3.4, telling=-0.9, eliciting=1.3, curt=-0.5, turn_sd=0.5),
        },
        unusable_rate=0.0,
        untidy_rate=0.03,
    ),
}
