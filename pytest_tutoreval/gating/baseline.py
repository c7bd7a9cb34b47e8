"""A baseline file: made from a complete run, written whole or not at all, and refused where it is not comparable."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval.errors import BaselineError, CorpusError, NotEvaluable
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.gating.guards import GUARDED_MEASURES, PriceOf, read_series
from pytest_tutoreval.measures import CorpusMeasures, complete_cells, complete_scores
from pytest_tutoreval.records.baseline import (
    BASELINE_FORMAT,
    Baseline,
    BaselineClaim,
    BaselineCorpus,
    BaselineRun,
    GuardedSeries,
)
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.session import UNTUTORED
from pytest_tutoreval.records.study import Study
from pytest_tutoreval.records.verdict import Verdict
from pytest_tutoreval.store import Corpus

__all__ = [
    "make_baseline",
    "read_baseline",
    "refuse_mixed_data",
    "refuse_other_provenance",
    "tutored_conditions",
    "write_baseline",
]

_ANEW = "write the baseline anew from a complete run: --tutoreval-baseline FILE --tutoreval-baseline-update"


def tutored_conditions(study: Study) -> tuple[str, ...]:
    """Return the conditions a study registers that have a tutor, in its order: those that can be guarded."""
    return tuple(name for name in study.protocol.condition_order if name != UNTUTORED)


def read_baseline(path: Path, instrument: Instrument) -> Baseline:
    """Return the baseline in a file.

    Raises
    ------
    BaselineError
        There is none, it cannot be read, was edited, has another format, or was made under another instrument or with
        other amendments: data of two instruments are never compared.
    """
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise BaselineError(f"{path}: no baseline there; {_ANEW.replace('the baseline anew', 'one')}") from exc
    except (OSError, ValueError) as exc:
        raise BaselineError(f"{path}: cannot be read as a baseline: {exc}; restore the file, or {_ANEW}") from exc
    found = fields.get("format") if isinstance(fields, dict) else None
    if found != BASELINE_FORMAT:
        raise BaselineError(
            f"{path}: format {found!r}, this version reads {BASELINE_FORMAT!r}; use the version that wrote it, or "
            f"{_ANEW}"
        )
    try:
        baseline = Baseline.model_validate(fields)
    except ValidationError as exc:
        problem = exc.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"])) or "file"
        raise BaselineError(f"{path}: {where}: {problem['msg']}; restore the file, or {_ANEW}") from exc
    if baseline.digest() != baseline.sha256:
        raise BaselineError(
            f"{path}: sha256 is {baseline.digest()[:12]}, the file states {baseline.sha256[:12]}: it was edited since "
            f"it was written; restore the file, or {_ANEW}"
        )
    if baseline.instrument != instrument.sha256:
        raise BaselineError(
            f"{path}: made under instrument {baseline.instrument[:12]}, this one is {instrument.sha256[:12]}; data of "
            f"two instruments are never compared: use the version of the instrument it was made under, or {_ANEW}"
        )
    if baseline.amendments != instrument.amendments:
        raise BaselineError(
            f"{path}: made with {_listed(baseline.amendments)}, this run has {_listed(instrument.amendments)}; give "
            f"the study file it was made with, or {_ANEW}"
        )
    return baseline


def _listed(amendments: Sequence[str]) -> str:
    return f"amendments ({'; '.join(amendments)})" if amendments else "no amendment"


def refuse_other_provenance(path: Path, baseline: Baseline, corpus: Corpus) -> None:
    """Raise BaselineError where candidate and baseline are not of one kind: simulated, recorded or imported."""
    refuse_mixed_data(corpus)
    made, now = baseline.corpus.provenance, corpus.manifest.provenance
    if made != now:
        raise BaselineError(
            f"{path}: made from {made} data (corpus {baseline.corpus.name}), this corpus is {now}; compare like with "
            f"like: give a baseline made from {now} data, or {_ANEW}"
        )


def refuse_mixed_data(corpus: Corpus) -> None:
    """Raise BaselineError where a file of a corpus states another provenance than the corpus does."""
    if corpus.stray is not None:
        path, found = corpus.stray
        raise BaselineError(
            f"{path}: {found} data in a corpus that is {corpus.manifest.provenance}; simulated and real data are never "
            "mixed: move the file out of the corpus"
        )


def make_baseline(
    measures: CorpusMeasures,
    verdicts: Iterable[Verdict],
    *,
    bases: Sequence[str],
    judges: Sequence[str],
    price_of: PriceOf,
    run: BaselineRun,
    registered: Iterable[Claim] = (),
) -> Baseline:
    """Return the baseline of a run: its verdicts, and every guarded measure of every tutored condition.

    `registered` are the claims the verdicts are about, as their files state them. A judge that rated no turn of a base
    for pedagogy has no such series; one that rated some of them is an error.

    Raises
    ------
    BaselineError
        Nothing was decided, a cell is incomplete, or data of different provenance are mixed.
    """
    rules: dict[str, str | None] = {}
    for claim in registered:  # of two files that share an id nobody can say which decided
        rules[claim.id] = None if claim.id in rules else claim.rule_sha256()
    claims = sorted(
        {_as_claim(verdict, rules.get(verdict.claim)) for verdict in verdicts},
        key=lambda row: (row.claim, row.base, row.judge or ""),
    )
    if not claims:
        raise BaselineError("no claim was decided, so there is nothing to hold a later run against; run the claims")
    corpus, instrument = measures.corpus, measures.instrument
    refuse_mixed_data(corpus)
    conditions = [name for name in tutored_conditions(instrument.study) if name in corpus.manifest.conditions]
    try:
        series = [
            one
            for base in bases
            for condition in conditions
            for one in _cell_series(measures, base, condition, judges, price_of)
        ]
    except (NotEvaluable, CorpusError) as exc:
        raise BaselineError(f"{exc}; a baseline is made from complete data") from exc
    return Baseline(
        study=instrument.study.name,
        instrument=instrument.sha256,
        amendments=instrument.amendments,
        corpus=BaselineCorpus(name=corpus.manifest.name, sha256=corpus.sha256, provenance=corpus.manifest.provenance),
        bases=tuple(bases),
        judges=tuple(judges),
        run=run,
        claims=tuple(claims),
        series=tuple(series),
    ).sealed()


def _as_claim(verdict: Verdict, rule: str | None) -> BaselineClaim:
    return BaselineClaim(
        claim=verdict.claim,
        base=verdict.base,
        judge=verdict.judge,
        verdict=verdict.verdict,
        reversed=verdict.reversed,
        rule=rule,
    )


def _cell_series(
    measures: CorpusMeasures, base: str, condition: str, judges: Sequence[str], price_of: PriceOf
) -> Iterable[GuardedSeries]:
    complete_cells(measures, base, [condition])
    for measure in GUARDED_MEASURES.values():
        for judge in judges if measure.judged else [None]:
            if judge is not None:
                if not measures.scores(base, condition, judge, measure.name).turns:
                    continue
                complete_scores(measures, base, judge, measure.name, [condition])
            yield from read_series(measures, base, condition, measure.name, judge, price_of)


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline whole or not at all.

    A baseline that is damaged, or of another instrument, is replaced: writing anew is the way out of that.

    Raises
    ------
    BaselineError
        The file is no baseline, or one of other data: simulated, recorded or imported; claims or guarded measures that
        it holds would be lost; it cannot be written. The old file is as it was.
    """
    if refusal := _refusal(path, baseline):
        raise BaselineError(f"{path}: {refusal}")
    text = json.dumps(baseline.model_dump(mode="json"), indent=1, ensure_ascii=True, allow_nan=False)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except OSError as exc:
        fresh.unlink(missing_ok=True)
        raise BaselineError(f"{path}: the baseline cannot be written: {exc.strerror}; choose another file") from exc


def _refusal(path: Path, fresh: Baseline) -> str | None:
    """Return why a file may not be replaced by a fresh baseline, None where it may."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    if found.strip() and b"tutoreval-baseline/" not in found:
        return "this file is no baseline, and is not written over; name another, or move it away"
    try:
        before = Baseline.model_validate_json(found)
    except ValueError:
        return None
    made, now = before.corpus.provenance, fresh.corpus.provenance
    if made != now:
        return (
            f"it holds {made} data (corpus {before.corpus.name}), this run is on {now} data (corpus "
            f"{fresh.corpus.name}); give the corpus you mean with --corpus, or move the old file away"
        )
    if before.instrument != fresh.instrument:
        return None
    if lost := _lost_claims(before, fresh):
        return (
            f"this run did not decide {_some(lost)}, which the baseline holds; run them too, or move the old file away"
        )
    if lost := _lost_series(before, fresh):
        return (
            f"this run has no {_some(lost)}, which the baseline holds; give data that have it, or move the old file "
            "away"
        )
    return None


def _lost_claims(before: Baseline, fresh: Baseline) -> list[str]:
    kept = {(row.claim, row.base, row.judge) for row in fresh.claims}
    return [
        _named(row.claim, row.base, row.judge) for row in before.claims if (row.claim, row.base, row.judge) not in kept
    ]


def _lost_series(before: Baseline, fresh: Baseline) -> list[str]:
    """Return the guarded measures that would go, whatever they are counted in: a default guard would go with them."""
    kept, old = (
        dict.fromkeys((one.measure, one.base, one.condition, one.judge) for one in baseline.series)
        for baseline in (fresh, before)
    )
    return [_named(*place) for place in old if place not in kept]


def _named(*parts: str | None) -> str:
    return " ".join(filter(None, parts))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
