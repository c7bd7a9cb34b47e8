"""What a live run came to."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_tutoreval.collecting.engine import Collection
from pytest_tutoreval.judging.engine import Judging
from pytest_tutoreval.providers.money import Spending, total_dollars

__all__ = ["LiveOutcome"]

_SHOWN_REASONS = 5


@dataclass
class LiveOutcome:
    """What a run came to. `stopped` says that it was asked to stop; `spending` is by provider and model."""

    collection: Collection = field(default_factory=Collection)
    judging: Judging = field(default_factory=Judging)
    spending: Mapping[str, Spending] = field(default_factory=dict)
    stopped: bool = False
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything asked for is on disk."""
        return not self.collection.unfinished and not self.judging.incomplete and not self.stopped

    def lines(self) -> list[str]:
        """Return what came of the run, for people: what is done, what is not and why, what it cost."""
        collection, judging = self.collection, self.judging
        lines = [*self.notes]
        judged = bool(judging.given or judging.found or judging.incomplete)
        if collection.finished or collection.found_finished or collection.unfinished or not judged:
            lines.append(
                f"sessions: {collection.finished} finished, {collection.found_finished} were there, "
                f"{len(collection.unfinished)} unfinished ({collection.calls} calls made, "
                f"{collection.resumed} taken up)"
            )
        if judged:
            lines.append(
                f"ratings: {judging.given} given, {judging.found} were there, {judging.unusable} unusable, "
                f"{judging.second_tries} second tries, {len(judging.incomplete)} files incomplete"
            )
        reasons = Counter([*collection.unfinished.values(), *judging.incomplete.values()])
        lines += [f"  {count} x {reason}" for reason, count in reasons.most_common(_SHOWN_REASONS)]
        for name, spending in self.spending.items():
            cost = "cost unknown" if spending.dollars is None else f"${spending.dollars:.4f}"
            lines.append(
                f"  {name}: {spending.calls} calls, {spending.failed_attempts} failed attempts, "
                f"{spending.input_tokens} + {spending.output_tokens} tokens, {cost}"
            )
            if spending.estimated_calls:
                lines.append(f"    no tokens reported for {spending.estimated_calls} calls: estimated from their texts")
        return lines

    def counts(self) -> dict[str, object]:
        """Return what a ledger keeps of a run."""
        return {
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "sessions_finished": self.collection.finished,
            "sessions_unfinished": len(self.collection.unfinished),
            "ratings": self.judging.given,
            "unusable_ratings": self.judging.unusable,
        }

    @property
    def dollars(self) -> float | None:
        """What the run was billed, None where a price is unknown."""
        return total_dollars(self.spending)
