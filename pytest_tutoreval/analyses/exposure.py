"""How many turns each arm gives, how many of them leak, and mean outcomes by leakage: descriptions, no tests."""

from collections.abc import Callable

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Replicates, Subject, leakage_mean_parts, mean_part
from pytest_tutoreval.measures import ARMS, complete_arms, model_frame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["EXPOSURE"]


def exposure(given: AnalysisInput) -> list[AnalysisRow]:
    """Return in-window tutor turns a session by arm, their paired gap ped - conv, and leaky turns by arm."""
    subject = Subject.of("exposure", "descriptive", given)
    cells = complete_arms(given.measures, subject.base)
    turns: dict[str, Replicates] = {
        arm: {number: float(row.n_tutor_turns) for number, row in cells[arm].sessions.items()} for arm in ARMS
    }
    rows = [subject.mean_row(f"turns_per_session.{arm}", turns[arm]) for arm in ARMS]
    # The study prints this gap as ped - conv: it says how much more ped is seen.
    gap = subject.contrast_row("turns_per_session.gap", turns["ped"], turns["conv"], names=("ped", "conv"))
    rows.append(gap.model_copy(update={"notes": ("the gap is ped - conv, as the study prints it",)}))
    parts = []
    for arm in ARMS:
        flags = [turn.leaky for of in cells[arm].turns.values() for turn in of]
        parts += [
            AnalysisPart(name=arm, n=sum(flags), estimate=sum(flags) / len(flags) if flags else None),
            AnalysisPart(name=f"{arm}_non_leaky", n=len(flags) - sum(flags)),
        ]
    leaky = sum(part.n or 0 for part in parts[::2])
    rows.append(subject.row("leaky_turns", n=leaky, components=tuple(parts)))
    return rows


def _by_leakage(name: str, outcome: str) -> Callable[[AnalysisInput], list[AnalysisRow]]:
    def run(given: AnalysisInput) -> list[AnalysisRow]:
        subject = Subject.of(name, "descriptive", given)
        frame = model_frame(outcome, given.measures, subject.base, subject.judge)
        leaky, other = leakage_mean_parts(frame)
        known = leaky.estimate is not None and other.estimate is not None
        by_arm = [
            mean_part(
                f"{arm}_{kind}",
                (
                    value
                    for value, leak, policy in zip(frame.outcome, frame.leakage, frame.policy, strict=True)
                    if policy == (arm == "ped") and leak == (kind == "leaky")
                ),
            )
            for arm in ARMS
            for kind in ("leaky", "non_leaky")
        ]
        return [
            subject.row(
                outcome,
                estimate=(leaky.estimate or 0.0) - (other.estimate or 0.0) if known else None,
                n=len(frame.outcome),
                n_dropped=frame.dropped,
                components=(leaky, other, *by_arm),
                notes=(*frame.notes, "pooled over turns: a description, never the basis of inference"),
            )
        ]

    return run


EXPOSURE: tuple[Analysis, ...] = (
    Analysis("exposure", "Turns per session, their gap, and leaky turns by condition", "descriptive", "base", exposure),
    Analysis(
        "leakage_means_helpfulness",
        "Mean helpfulness of leaky and non-leaky turns",
        "descriptive",
        "base_judge",
        _by_leakage("leakage_means_helpfulness", "helpfulness"),
    ),
    Analysis(
        "leakage_means_independence",
        "Mean next-turn independence after leaky and non-leaky turns",
        "descriptive",
        "base",
        _by_leakage("leakage_means_independence", "next_turn_independence"),
    ),
)
