"""Commands before the first call: what a run will cost, and how large a study has to be."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pytest_tutoreval.cli.arguments import (
    Jobs,
    Prices,
    Replicates,
    StudyOption,
    failing_in_one_line,
    live_run,
    split_names,
)

if TYPE_CHECKING:
    from pytest_tutoreval.frozen import OpenedStudy
    from pytest_tutoreval.measures import CorpusMeasures
    from pytest_tutoreval.planning import PlannedSize, Pricing, Simulation, StudyPlan, StudySize
    from pytest_tutoreval.records.claim import Claim

__all__ = ["plan_cost_of", "plan_power"]

# How far promises for a gate fell from simulated truth: tests/gating/test_product_simulation.py has the tutors.
_PILOT_NOTE = (
    "+- is the simulation's chance alone, not the pilot's: another pilot of 10 replicates may well promise .2 more or "
    "less, one of 60 still .1, and small pilots promise rather too much"
)


def plan_cost_of(
    ctx: typer.Context,
    base: Annotated[str, typer.Option("--base", help="Bases, comma-separated")] = "",
    condition: Annotated[str, typer.Option(help="Conditions, comma-separated (default: the study's)")] = "",
    judge: Annotated[str, typer.Option(help="Judges, comma-separated")] = "",
    rubric: Annotated[str, typer.Option(help="Rubrics, comma-separated (default: all)")] = "",
    replicates: Replicates = None,
    study: StudyOption = None,
    prices: Prices = None,
    jobs: Jobs = 256,
) -> None:
    """Price a run before its first call: calls, tokens, dollars and hours per base and role."""
    if ctx.invoked_subcommand is not None:
        return
    if not split_names(base):
        raise typer.BadParameter("name at least one", param_hint="--base")
    with failing_in_one_line():
        from pytest_tutoreval.planning import plan_cost

        run = live_run(
            Path(),
            needs=(split_names(base), split_names(condition) or None, split_names(judge), split_names(rubric) or None),
            study=study,
            prices=prices,
            budget=None,
            max_retries=None,
        )
        cost = plan_cost(run.instrument, run.needs, run.prices, run.study_file, replicates=replicates, at_once=jobs)
        for role in cost.roles:
            money = "price unknown" if role.dollars is None else f"${role.dollars:.2f}"
            typer.echo(
                f"{role.base}  {role.role:<24} {role.route.provider}/{role.route.model}: {role.calls} calls, "
                f"{role.input_tokens / 1e6:.2f} M + {role.output_tokens / 1e6:.2f} M tokens, {money}, "
                f"largest request {role.largest_request} tokens"
            )
            if role.exceeds:
                typer.echo(f"  LIMIT: {role.exceeds}")
        routes = [role.route for role in cost.roles if role.dollars is None]
        unpriced = dict.fromkeys(f"{route.provider}/{route.model}" for route in routes)
        money = f"price unknown for {', '.join(unpriced)}" if cost.dollars is None else f"${cost.dollars:.2f}"
        assumed = ", ".join(f"{role} {tokens}" for role, tokens in cost.assumptions.reply_tokens.items())
        typer.echo(f"in all: {cost.calls} calls, {money}, about {cost.hours:.1f} hours")
        every = ", ".join(f"{number} in {name}" for name, number in cost.assumptions.elicited_every.items())
        typer.echo(
            f"assumed: replies of {assumed} tokens, an elicitation every n-th probe (n = {every}), "
            f"{cost.assumptions.seconds:g} s a call, every tutor turn in the window; prices from the price file"
        )
        sys.exit(1 if any(role.exceeds for role in cost.roles) else 0)


def plan_power(
    base: Annotated[str, typer.Option("--base", help="Bases, comma-separated (default: all the pilot holds)")] = "",
    judge: Annotated[str, typer.Option(help="Judges, comma-separated (default: all the pilot holds)")] = "",
    claim: Annotated[str, typer.Option(help="Claims, comma-separated (default: all the source can carry)")] = "",
    corpus: Annotated[Path | None, typer.Option("--corpus", exists=True, file_okay=False, help="Pilot corpus")] = None,
    effect: Annotated[
        list[str] | None,
        typer.Option("--effect", help="Stated first arm - second: measure=mean,sd[,sd_problem[,sd_rating]]"),
    ] = None,
    replicates: Annotated[str, typer.Option(help="Numbers of replicates, comma-separated")] = "5,6,8,10,12,16,20",
    problems: Annotated[str, typer.Option(help="Numbers of tutored problems (default: as in the source)")] = "",
    repetitions: Annotated[str, typer.Option(help="Ratings a turn and judge (default: as in the source)")] = "",
    target: Annotated[float, typer.Option(min=0.01, max=0.999, help="Power that is wanted")] = 0.8,
    simulations: Annotated[int, typer.Option(min=100, help="Simulated studies a size")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same plan")] = 0,
    to: Annotated[
        Path | None, typer.Option("--to", file_okay=False, help="Folder for power.json, .md and .svg")
    ] = None,
    register: Annotated[
        Path | None,
        typer.Option("--register", dir_okay=False, help="Claim file to write the smallest n that does into"),
    ] = None,
    gate: Annotated[bool, typer.Option("--gate", help="Plan the gate's guards instead of claims")] = False,
    candidate: Annotated[
        str, typer.Option(help="With --gate: base that plays the candidate (default: the same tutor once more)")
    ] = "",
    study: StudyOption = None,
    prices: Prices = None,
) -> None:
    """Simulate how often a study of a given size would decide, from a pilot or from stated effects."""
    with failing_in_one_line():
        from pytest_tutoreval.planning import Simulation, plan_document, sizes_of
        from pytest_tutoreval.reporting.power import render_plan_text

        asked = _Asked(
            bases=split_names(base),
            judges=split_names(judge),
            corpus=corpus,
            effects=effect or [],
            sizes=sizes_of(
                _numbers(replicates, "--replicates"),
                _numbers(problems, "--problems") or [None],
                _numbers(repetitions, "--repetitions") or [None],
            ),
            simulation=Simulation(simulations, seed),
            target=target,
            study=study,
            prices=prices,
        )
        plan = asked.plan_gate(candidate) if gate else asked.plan_claims(split_names(claim))
        document = plan_document(plan)
        typer.echo(render_plan_text(document), nl=False)
        if to is not None:
            _write(document, to)
        if register is not None:
            typer.echo(_register(plan, register))
            if asked.opened.lock is not None:
                typer.echo('the study is locked, so put this on record: tutoreval lock --amend "planned n"')


def _numbers(text: str, option: str) -> list[int]:
    words = split_names(text)
    if not all(word.isdecimal() and int(word) >= 1 for word in words):
        raise typer.BadParameter(f"{text!r}: not a comma list of whole numbers from 1 on", param_hint=option)
    return sorted({int(word) for word in words})


@dataclass(frozen=True)
class _Asked:
    """A plan as the command line asks for it: from a pilot corpus or from stated effects, at some sizes."""

    bases: list[str]
    judges: list[str]
    corpus: Path | None
    effects: list[str]
    sizes: "list[StudySize]"
    simulation: "Simulation"
    target: float
    study: Path | None
    prices: Path | None

    @cached_property
    def opened(self) -> "OpenedStudy":
        from pytest_tutoreval.frozen import open_study

        return open_study(self.study)

    @cached_property
    def measures(self) -> "CorpusMeasures | None":
        """The pilot's, None where effects are stated. Raises ConfigurationProblem unless exactly one is given."""
        from pytest_tutoreval.errors import ConfigurationProblem
        from pytest_tutoreval.measures import CorpusMeasures
        from pytest_tutoreval.store import open_corpus

        if bool(self.effects) == (self.corpus is not None):
            raise ConfigurationProblem("plan power needs --corpus PILOT or --effect measure=mean,sd, one of the two")
        if self.corpus is None:
            return None
        instrument = self.opened.instrument
        return CorpusMeasures(open_corpus(self.corpus, instrument=instrument.sha256), instrument)

    @property
    def pricing(self) -> "Pricing":
        from pytest_tutoreval.planning import Pricing
        from pytest_tutoreval.providers.money import read_prices

        file = self.opened.file
        return Pricing(self.opened.instrument, read_prices(self.prices, own=file.prices), file)

    def plan_claims(self, names: list[str]) -> "StudyPlan":
        from pytest_tutoreval.claims import known_claims
        from pytest_tutoreval.errors import ConfigurationProblem
        from pytest_tutoreval.planning import PilotSource, Source, StatedSource, parse_effect, plan_claims

        known = known_claims(self.opened.claims)
        if unknown := [name for name in names if name not in known]:
            raise ConfigurationProblem(f"--claim: unknown {', '.join(unknown)} (known: {', '.join(known)})")
        stated = dict(map(parse_effect, self.effects))
        source: Source
        if self.measures is None:
            study = self.opened.instrument.study
            own = self.opened.file.bases
            base = own[0].id if own else study.primary_base
            source, bases, judges = (
                StatedSource(stated, self.opened.instrument),
                [base],
                [study.primary_judge],
            )
        else:
            manifest = self.measures.corpus.manifest
            source, bases, judges = PilotSource(self.measures), list(manifest.bases), list(manifest.judges)
        chosen = [known[name] for name in names] or [
            claim for claim in known.values() if self.measures is not None or _carried(claim, known, stated)
        ]
        planned = plan_claims(
            chosen,
            known,
            source,
            bases=self.bases or bases,
            judges=self.judges or judges,
            sizes=self.sizes,
            simulation=self.simulation,
            pricing=self.pricing,
        )
        return self._plan(source.described(), planned, {claim.id: "supported" for claim in chosen})

    def plan_gate(self, candidate: str) -> "StudyPlan":
        from pytest_tutoreval.errors import ConfigurationProblem
        from pytest_tutoreval.gating import DEFAULT_GUARDS, GUARDED_MEASURES, tutored_conditions
        from pytest_tutoreval.planning import (
            PilotSource,
            PilotTutor,
            family_note,
            parse_effect,
            plan_gate,
            plan_stated_gate,
            whole_gate_note,
        )

        file, study = self.opened.file, self.opened.instrument.study
        guards = file.guards or DEFAULT_GUARDS
        conditions = tutored_conditions(study)
        if self.measures is None:
            stated = dict(parse_effect(text, GUARDED_MEASURES) for text in self.effects)
            judges = max(1, len(self.judges))
            n_guards = sum(
                len(guard.conditions or conditions) * (judges if GUARDED_MEASURES[guard.measure].judged else 1)
                for guard in guards
            )
            planned = plan_stated_gate(
                stated,
                instrument=self.opened.instrument,
                guards=guards,
                settings=file.gate,
                n_guards=n_guards,
                sizes=self.sizes,
                simulation=self.simulation,
            )
            beyond = {
                guard.measure: (effect.mean if guard.worse == "higher" else -effect.mean) >= guard.margin
                for guard in guards
                if (effect := stated.get(guard.measure)) is not None
            }
            words = "; ".join(f"{name}: mean {effect.mean:g}, sd {effect.sd:g}" for name, effect in stated.items())
            wanted = {name: "regressed" if is_beyond else "held" for name, is_beyond in beyond.items()}
            source = f"stated differences, candidate - baseline ({words})"
            return self._plan(source, planned, wanted, family_note(n_guards, file.gate))
        manifest = self.measures.corpus.manifest
        bases = self.bases or list(manifest.bases)
        unknown = [name for name in (*bases, candidate or bases[0]) if name not in manifest.bases]
        if unknown or len(bases) != 1:
            raise ConfigurationProblem(
                f"--gate plans one base against itself or a --candidate; name one with --base (the pilot holds "
                f"{', '.join(manifest.bases)})"
            )
        held = tuple(name for name in conditions if name in manifest.conditions)
        judged = tuple(self.judges or manifest.judges)
        baseline, changed = (
            PilotTutor(self.measures, base, held, judged) for base in (bases[0], candidate or bases[0])
        )
        planned = plan_gate(
            baseline,
            changed,
            guards=file.guards,
            settings=file.gate,
            sizes=self.sizes,
            simulation=self.simulation,
            pricing=self.pricing,
        )
        against = f"{changed.base} against {baseline.base}" if candidate else f"{baseline.base} against itself"
        outcome = "regressed" if candidate else "held"
        named = dict.fromkeys((power.what for power in planned[0].powers), outcome)
        note = family_note(len(planned[0].powers) - 1, file.gate)
        source = f"{PilotSource(self.measures).described()}: {against}"
        return self._plan(source, planned, named, *map(whole_gate_note, planned), note)

    def _plan(
        self, source: str, sizes: "tuple[PlannedSize, ...]", wanted: Mapping[str, str], *notes: str
    ) -> "StudyPlan":
        from pytest_tutoreval.planning import StudyPlan

        provenance = None if self.measures is None else self.measures.corpus.manifest.provenance
        return StudyPlan(
            source=source,
            simulated_data=provenance == "simulated",
            sizes=sizes,
            wanted=wanted,
            target=self.target,
            seed=self.simulation.seed,
            simulations=self.simulation.studies,
            notes=notes if self.measures is None else (*notes, _PILOT_NOTE),
        )


def _carried(claim: "Claim", known: "Mapping[str, Claim]", stated: Mapping[str, object]) -> bool:
    """Return whether stated effects say all that a claim rests on."""
    match claim.form:
        case "paired_contrast" | "many_to_one":
            return claim.measure in stated
        case "joint":
            return all(_carried(known[name], known, stated) for name in claim.all_of)
        case _:
            return False


def _write(document: Mapping[str, Any], folder: Path) -> None:
    from pytest_tutoreval.reporting.power import render_plan_markdown, render_plan_svg

    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "power.json": json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n",
        "power.md": render_plan_markdown(document),
        "power.svg": render_plan_svg(document),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    typer.echo(f"{folder}: {', '.join(texts)} written")


def _register(plan: "StudyPlan", path: Path) -> str:
    """Put the smallest n that reaches the target into a claim file, and return what was done."""
    from pytest_tutoreval.claims import read_claim
    from pytest_tutoreval.errors import ConfigurationProblem

    claim = read_claim(path)
    if claim.id not in plan.wanted:
        raise ConfigurationProblem(f"{path}: claim {claim.id} was not planned here; name it with --claim")
    n = plan.smallest_n(claim.id)
    if n is None:
        raise ConfigurationProblem(
            f"{path}: no size planned here reaches {plan.target:.0%} for {claim.id}, so nothing was registered; plan "
            "more replicates, or register a larger effect"
        )
    if claim.form == "joint":
        raise ConfigurationProblem(f"{path}: a joint claim has the n of its members; register theirs")
    text = path.read_text(encoding="utf-8")
    if claim.replicates is not None:
        raise ConfigurationProblem(
            f"{path}: replicates = {claim.replicates} is registered already, and a registered n is not rewritten; "
            f"planned here: {n}"
        )
    # Behind the id, so that it stays above any table of the file.
    lines = text.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.split("=")[0].strip() == "id") + 1
    lines.insert(at, f"replicates = {n}  # planned for power {plan.target:g}, seed {plan.seed}\n")
    path.write_text("".join(lines), encoding="utf-8", newline="")
    return f"{path}: replicates = {n} registered"
