"""The gate: every guard of a base decided together, every verdict held against the baseline's."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tutoreval.errors import BaselineError, ConfigurationProblem, CorpusError, NotEvaluable
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.gating.baseline import refuse_other_provenance, tutored_conditions
from pytest_tutoreval.gating.guards import (
    DEFAULT_GUARDS,
    GUARDED_MEASURES,
    PriceOf,
    Values,
    check_guards,
    read_series,
    showing_turns,
)
from pytest_tutoreval.gating.pairing import Paired, pair_values
from pytest_tutoreval.gating.wording import guard_reason, method_words, verdict_reason
from pytest_tutoreval.measures import CorpusMeasures, complete_cells, complete_scores
from pytest_tutoreval.records.baseline import Baseline, BaselineClaim, GuardedSeries
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.gate import GateOutcome, GateRow, GateSettings, Guard
from pytest_tutoreval.records.verdict import Verdict

if TYPE_CHECKING:
    from pytest_tutoreval.inference import GuardDecision, Look

__all__ = ["Gate", "GuardPlace", "match_bases", "standing"]

_SHOWN_TURNS = 5

_NO_TEST = "no test of it came to its end; run it too, or leave it out by choice, with -m, -k, --base or --judge"


@dataclass(frozen=True)
class GuardPlace:
    """A guard where it is read: for a base, under a condition and, where it is judged, by a judge."""

    guard: Guard
    base: str
    condition: str
    judge: str | None

    @property
    def id(self) -> str:
        """The guard's part of a test id."""
        return "-".join(filter(None, (self.guard.measure, self.condition, self.judge)))


@dataclass(frozen=True)
class _Pairs:
    """A guard's data: paired differences, the baseline's and the candidate's unit, and the look they are read at."""

    place: GuardPlace
    paired: Paired
    unit: str
    margin: float
    look: "Look | None"

    @property
    def worse(self) -> list[float]:
        """The differences with their sign turned so that positive is worse."""
        sign = 1.0 if self.place.guard.worse == "higher" else -1.0
        return [sign * difference for difference in self.paired.differences]


def standing(verdict: str, *, reversed: bool) -> int:
    """Return where a verdict stands: 2 supported, 1 neither, 0 reversed (significant in the opposite direction).

    `not supported` and `inconclusive` are the two names of "neither", one for tests of a claim and one for
    manipulation checks, so between them nothing regresses.
    """
    if reversed:
        return 0
    return 2 if verdict == "supported" else 1


def match_bases(baseline: Baseline, bases: Sequence[str], *, path: Path) -> dict[str, str]:
    """Return the baseline's base for each base of the run: its namesake, or, of one and one, the only other one.

    Raises
    ------
    BaselineError
        A base that the baseline does not hold, where it is not clear which other one is meant.
    """
    if len(bases) == 1 and len(baseline.bases) == 1:
        return {bases[0]: baseline.bases[0]}
    missing = [base for base in bases if base not in baseline.bases]
    if missing:
        raise BaselineError(
            f"{path}: holds {', '.join(baseline.bases)}, not {', '.join(missing)}; a base of another name is compared "
            "only where run and baseline have one each: choose bases with --base, or write a baseline with one"
        )
    return {base: base for base in bases}


class Gate:
    """A run held against a baseline. Rows are computed for a whole base at once, since its guards are one family.

    Parameters
    ----------
    guards : those the study registers; none registered takes `DEFAULT_GUARDS`
    bases : the baseline's base by the run's
    price_of : what a route costs, None where nobody stated it: cost is then compared in tokens

    Raises
    ------
    ConfigurationProblem
        A guard names an unknown measure or condition, or the looks do not end at the registered n.
    BaselineError
        No guard is registered, and the baseline holds a condition that the study no longer has, or nothing of a base:
        a default guard is where the baseline has its measure, and would be gone without a word.
    """

    def __init__(
        self,
        baseline: Baseline,
        *,
        path: Path,
        instrument: Instrument,
        guards: Sequence[Guard],
        settings: GateSettings,
        bases: Mapping[str, str],
        price_of: PriceOf,
    ) -> None:
        self.baseline, self.path, self.settings = baseline, path, settings
        self.by_default = not guards
        self._guards = tuple(guards) or DEFAULT_GUARDS
        self._bases, self._price_of = bases, price_of
        self._conditions = tutored_conditions(instrument.study)
        self._registered = instrument.study.registered_replicates()
        self._rows: dict[str, dict[GuardPlace, GateRow]] = {}
        check_guards(self._guards, self._conditions)
        if self.by_default:
            self._refuse_lost_guards()
        rule = settings.sequential
        if rule is not None and rule.looks[-1] != len(self._registered):
            raise ConfigurationProblem(
                f"gate.sequential: the last look is at {rule.looks[-1]} replicates, the study registers "
                f"{len(self._registered)}; the last look is the registered n"
            )

    @property
    def bases(self) -> Mapping[str, str]:
        """The baseline's base by the run's."""
        return self._bases

    def places(self, base: str) -> tuple[GuardPlace, ...]:
        """Return every guard of a base, in the order of the study file: the family its p-values are adjusted over.

        It depends on the registration and the baseline alone, never on what the candidate's corpus holds. A default
        guard is there where the baseline holds its measure; a registered one always.
        """
        found: list[GuardPlace] = []
        for guard in self._guards:
            for condition in guard.conditions or self._conditions:
                if not GUARDED_MEASURES[guard.measure].judged:
                    judges: Sequence[str | None] = [None]
                else:
                    judges = [one for one in self.baseline.judges if self._before(guard.measure, base, condition, one)]
                    judges = judges or [None]
                for judge in judges:
                    if not self.by_default or self._before(guard.measure, base, condition, judge):
                        found.append(GuardPlace(guard, base, condition, judge))
        return tuple(found)

    def verdict_row(self, verdict: Verdict, claim: Claim | None = None) -> GateRow:
        """Return a claim's row: regressed where its verdict stands lower than in the baseline, else held.

        Where `claim`, as its file states it, is decided by another rule than the baseline's was, nothing is compared:
        it is not decided and fails, whatever the policy for that.
        """
        base = self._bases.get(verdict.base, verdict.base)
        before = self.baseline.claim(verdict.claim, base, verdict.judge)
        if before is not None and claim is not None and before.rule not in (None, claim.rule_sha256()):
            return self._no_verdict(
                before,
                verdict.base,
                "its claim file states another rule than the one the baseline was written under; restore the file, or "
                "write the baseline anew from a complete run",
            )
        outcome = _verdict_outcome(before, verdict)
        return GateRow(
            kind="verdict",
            guard=verdict.claim,
            base=verdict.base,
            judge=verdict.judge,
            baseline_base=base if base != verdict.base else None,
            outcome=outcome,
            failed=self._fails(outcome),
            reason=verdict_reason(before, verdict, outcome),
            verdict_before=before.verdict if before else None,
            verdict_now=verdict.verdict,
        )

    def measure_row(self, place: GuardPlace, measures: CorpusMeasures) -> GateRow:
        """Return a guard's row. A guard that cannot be read is not decided and fails, whatever the policy for that."""
        if place.base not in self._rows:
            self._rows[place.base] = self._decide(place.base, measures)
        return self._rows[place.base][place]

    def missing_rows(
        self,
        read: Iterable[GateRow],
        *,
        bases: Collection[str] | None,
        judges: Collection[str] | None,
        reasons: Mapping[tuple[str, str, str | None], str] | None,
    ) -> list[GateRow]:
        """Return a failing row for each guard, and each verdict of the baseline, that a run should have read.

        A gate is what it reads: a test that is gone, or skipped, or a base the corpus no longer holds would otherwise
        pass in silence.

        Parameters
        ----------
        read : the rows there are
        bases, judges : those the user chose, None for all: what was left out by choice is not missing
        reasons : why a claim has no verdict, by claim, base and judge; "no test of it came to its end" where none is.
            None: the run is about guards alone, as at a look at which no claim has its n.
        """
        there = {(row.guard, row.base, row.condition, row.judge) for row in read}
        rows = [
            self.unread_row(place, _NO_TEST)
            for base in self._bases
            for place in self.places(base)
            if (place.guard.measure, base, place.condition, place.judge) not in there
            and (place.judge is None or judges is None or place.judge in judges)
        ]
        if bases is None:
            rows += [self._no_base(base) for base in self.baseline.bases if base not in self._bases.values()]
        if reasons is None:
            return rows
        named = {before: now for now, before in self._bases.items()}
        for claim in self.baseline.claims:
            base = named.get(claim.base, claim.base)
            chosen = (bases is None or base in self._bases) and (
                claim.judge is None or judges is None or claim.judge in judges
            )
            if chosen and (claim.claim, base, None, claim.judge) not in there:
                reason = reasons.get((claim.claim, base, claim.judge), _NO_TEST)
                rows.append(self._no_verdict(claim, base, reason))
        return rows

    def _refuse_lost_guards(self) -> None:
        held = {series.condition for series in self.baseline.series if series.base in self._bases.values()}
        anew = f"write it anew from a complete run, or register [[guards]]; the study has {', '.join(self._conditions)}"
        if gone := sorted(held - set(self._conditions)):
            raise BaselineError(f"{self.path}: it guards {', '.join(gone)}, which the study no longer has; {anew}")
        if bare := [base for base in self._bases if not self.places(base)]:
            raise BaselineError(f"{self.path}: it holds no guarded measure of {', '.join(bare)}; {anew}")

    def _fails(self, outcome: GateOutcome) -> bool:
        return outcome == "regressed" or (outcome == "not_decided" and self.settings.undecided == "fail")

    def _decide(self, base: str, measures: CorpusMeasures) -> dict[GuardPlace, GateRow]:
        from pytest_tutoreval.inference import decide_guards

        places = self.places(base)
        read: dict[GuardPlace, _Pairs] = {}
        rows: dict[GuardPlace, GateRow] = {}
        try:
            refuse_other_provenance(self.path, self.baseline, measures.corpus)
        except BaselineError as exc:
            return {place: self.unread_row(place, str(exc)) for place in places}
        for place in places:
            try:
                read[place] = self._read(place, measures)
            except (NotEvaluable, CorpusError) as exc:
                rows[place] = self.unread_row(place, str(exc))
        pairs = list(read.values())
        decisions = decide_guards(
            [one.worse for one in pairs],
            margins=[one.margin for one in pairs],
            alpha=self.settings.alpha,
            multiplicity=self.settings.multiplicity,
            n_guards=max(1, len(places)),
            looks=[one.look for one in pairs],
        )
        for one, decision in zip(pairs, decisions, strict=True):
            rows[one.place] = self._row(one, decision, len(places), measures)
        return rows

    # what a guard is read from

    def _read(self, place: GuardPlace, measures: CorpusMeasures) -> _Pairs:
        before = self._before(place.guard.measure, place.base, place.condition, place.judge)
        if not before:
            raise NotEvaluable(
                f"the baseline holds no {place.guard.measure} of {self._bases[place.base]}/{place.condition}; write it "
                "anew from data that have it"
            )
        replicates, look = self._replicates(place, measures)
        now = {
            series.unit: series
            for series in read_series(
                measures, place.base, place.condition, place.guard.measure, place.judge, self._price_of
            )
        }
        shared = [series for series in reversed(before) if series.unit in now]
        if not shared:
            raise NotEvaluable(f"the baseline is in {before[0].unit}, the candidate in {', '.join(now)}")
        guard = place.guard
        for series in shared:
            paired = _paired(now[series.unit].values, series.values, replicates)
            margin = guard.margin * abs(paired.baseline) if guard.relative else guard.margin
            if margin > 0.0:  # what costs nothing has no share; its tokens have
                return _Pairs(place, paired, series.unit, margin, look)
        raise NotEvaluable(
            f"the baseline's mean is 0 ({shared[-1].unit}), and a share of it is no margin; register a guard with "
            "relative = false"
        )

    def _before(self, measure: str, base: str, condition: str, judge: str | None) -> list[GuardedSeries]:
        wanted = (measure, self._bases[base], condition, judge)
        return [one for one in self.baseline.series if (one.measure, one.base, one.condition, one.judge) == wanted]

    def _replicates(self, place: GuardPlace, measures: CorpusMeasures) -> "tuple[Sequence[int], Look | None]":
        """Return which replicates are compared, and at which look; any other number would be a look nobody registered.

        Raises
        ------
        NotEvaluable
            A session or rating is missing or broken, or there are as many replicates as no look is at.
        """
        base, condition, rule = place.base, place.condition, self.settings.sequential
        if rule is None:
            complete_cells(measures, base, [condition])
            replicates: Sequence[int] = self._registered
        else:
            cell = measures.cell(base, condition)
            if cell.broken:
                number, reason = min(cell.broken.items())
                raise NotEvaluable(f"{base}/{condition}/r{number}: {reason}")
            replicates = sorted(cell.sessions)
            n = len(replicates)
            if n not in rule.looks or replicates != list(range(n)):
                raise NotEvaluable(
                    f"{base}/{condition} holds {n} replicates, looks are registered at the first "
                    f"{', '.join(map(str, rule.looks))}: collect up to the next look"
                )
        if place.judge is not None:
            complete_scores(measures, base, place.judge, place.guard.measure, [condition])
        if rule is None:
            return replicates, None
        from pytest_tutoreval.inference import Look

        return replicates, Look(rule.looks, rule.looks.index(len(replicates)), rule.spending)

    # what is said of it

    def unread_row(self, place: GuardPlace, reason: str) -> GateRow:
        """Return the row of a guard that cannot be read: not decided, and it fails whatever the policy for that."""
        return self._row_at(
            place,
            outcome="not_decided",
            failed=True,
            reason=f"cannot be read: {reason}",
            margin=None if place.guard.relative else place.guard.margin,
        )

    def _row_at(self, place: GuardPlace, **found: Any) -> GateRow:
        """Return the row of a guard, with what was found there."""
        return GateRow(
            kind="measure",
            guard=place.guard.measure,
            base=place.base,
            judge=place.judge,
            condition=place.condition,
            baseline_base=self._other_base(place.base),
            worse=place.guard.worse,
            **found,
        )

    def _no_base(self, base: str) -> GateRow:
        return GateRow(
            kind="measure",
            guard="every guard",
            base=base,
            outcome="not_decided",
            failed=True,
            reason=f"cannot be read: the baseline holds {base} and this run does not; choose bases with --base",
        )

    def _no_verdict(self, before: BaselineClaim, base: str, reason: str) -> GateRow:
        return GateRow(
            kind="verdict",
            guard=before.claim,
            base=base,
            judge=before.judge,
            baseline_base=before.base if before.base != base else None,
            outcome="not_decided",
            failed=True,
            reason=f"cannot be compared: {reason}",
            verdict_before=before.verdict,
        )

    def _other_base(self, base: str) -> str | None:
        return self._bases[base] if self._bases[base] != base else None

    def _row(self, pairs: _Pairs, decision: "GuardDecision", n_guards: int, measures: CorpusMeasures) -> GateRow:
        place, paired = pairs.place, pairs.paired
        higher = place.guard.worse == "higher"
        low, high = decision.ci_low, decision.ci_high
        if not higher:
            low, high = (None if high is None else 0.0 - high), (None if low is None else 0.0 - low)
        # from the worst cell down; the turns of cells that are no worse show nothing
        sign = 1.0 if higher else -1.0
        worst = sorted((-sign * change, key) for key, change in paired.cells.items() if sign * change > 0.0)
        turns = (
            ()
            if decision.outcome == "held"
            else showing_turns(
                measures,
                place.base,
                place.condition,
                place.guard.measure,
                place.judge,
                [key for _, key in worst],
                at_most=_SHOWN_TURNS,
            )
        )
        row = self._row_at(
            place,
            unit=pairs.unit,
            outcome=decision.outcome,
            failed=self._fails(decision.outcome),
            reason="-",
            baseline=paired.baseline,
            current=paired.current,
            estimate=decision.estimate if higher else 0.0 - decision.estimate,
            ci_low=low,
            ci_high=high,
            margin=pairs.margin,
            p_regressed=decision.p_regressed,
            p_held=decision.p_held,
            n=decision.n,
            n_dropped=paired.n_dropped,
            n_needed=decision.n_needed,
            method=method_words(
                decision,
                self.settings,
                n_guards,
                pairs.look,
                default=place.guard.reason if self.by_default else None,
            ),
            turns=turns,
        )
        return row.model_copy(update={"reason": guard_reason(row, decision, pairs.look)})


def _paired(current: Values, baseline: Values, replicates: Sequence[int]) -> Paired:
    """Return the pairs of these replicates. Raises NotEvaluable where the baseline lacks one, or nothing is defined."""
    if absent := [number for number in replicates if number not in baseline]:
        raise NotEvaluable(
            f"the baseline lacks replicate{'s' * (len(absent) > 1)} {', '.join(map(str, absent))}; write it anew from "
            "data that have them"
        )
    paired = pair_values(current, baseline, replicates)
    if paired is None:
        raise NotEvaluable("no replicate and problem has it defined in candidate and baseline both")
    return paired


def _verdict_outcome(before: BaselineClaim | None, now: Verdict) -> GateOutcome:
    if before is None:
        return "not_decided"
    was = standing(before.verdict, reversed=before.reversed)
    return "regressed" if standing(now.verdict, reversed=now.reversed) < was else "held"
