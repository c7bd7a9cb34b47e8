"""Commands before the first call: what a run will cost, and how large a study has to be."""

import json
import sys
from collections.abc import Mapping
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
    from pytest_tutoreval.planning import Simulation, StudyPlan, StudySize
    from pytest_tutoreval.records.claim import Claim

__all__ = ["plan_cost_of", "plan_power"]


def plan_cost_of(
    ctx: typer.Context,
    base: Annotated[str, typer.Option("--base", help="Bases, comma-separated")] = "",
    condition: Annotated[str, typer.Option(help="Conditions, comma-separated")] = "cold,conv,ped",
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
            needs=(split_names(base), split_names(condition), split_names(judge), split_names(rubric) or None),
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
        money = "price unknown" if cost.dollars is None else f"${cost.dollars:.2f}"
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
        typer.Option("--effect", help="Instead of a pilot: measure=mean,sd[,sd_problem[,sd_rating]], repeatable"),
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
    study: StudyOption = None,
    prices: Prices = None,
) -> None:
    """Simulate how often a study of a given size would decide, from a pilot or from stated effects."""
    with failing_in_one_line():
        from pytest_tutoreval.planning import Simulation, sizes_of
        from pytest_tutoreval.reporting.power import plan_document, render_plan_text

        plan = _plan(
            bases=split_names(base),
            judges=split_names(judge),
            claims=split_names(claim),
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
        document = plan_document(plan)
        typer.echo(render_plan_text(document), nl=False)
        if to is not None:
            _write(document, to)
        if register is not None:
            typer.echo(_register(plan, register))


def _numbers(text: str, option: str) -> list[int]:
    words = split_names(text)
    if not all(word.isdecimal() and int(word) >= 1 for word in words):
        raise typer.BadParameter(f"{text!r}: not a comma list of whole numbers from 1 on", param_hint=option)
    return sorted({int(word) for word in words})


def _plan(
    *,
    bases: list[str],
    judges: list[str],
    claims: list[str],
    corpus: Path | None,
    effects: list[str],
    sizes: "list[StudySize]",
    simulation: "Simulation",
    target: float,
    study: Path | None,
    prices: Path | None,
) -> "StudyPlan":
    from pytest_tutoreval.claims import bundled_claims, read_claims
    from pytest_tutoreval.errors import ConfigurationProblem
    from pytest_tutoreval.frozen import open_study
    from pytest_tutoreval.planning import (
        PilotSource,
        Pricing,
        Source,
        StatedSource,
        StudyPlan,
        parse_effect,
        plan_claims,
    )
    from pytest_tutoreval.providers.money import read_prices
    from pytest_tutoreval.workbench import Workbench

    opened = open_study(study)
    known = {**bundled_claims(), **(read_claims(opened.claims) if opened.claims else {})}
    if unknown := [name for name in claims if name not in known]:
        raise ConfigurationProblem(f"--claim: unknown {', '.join(unknown)} (known: {', '.join(known)})")
    stated = dict(map(parse_effect, effects))
    if bool(stated) == (corpus is not None):
        raise ConfigurationProblem("plan power needs --corpus PILOT or --effect measure=mean,sd, one of the two")
    source: Source
    if corpus is None:
        source, simulated = StatedSource(stated, opened.instrument), False
        known_bases, known_judges = [opened.instrument.study.primary_base], [opened.instrument.study.primary_judge]
    else:
        measures = Workbench(corpus, study_file=study).measures
        manifest = measures.corpus.manifest
        source, simulated = PilotSource(measures), manifest.provenance == "simulated"
        known_bases, known_judges = list(manifest.bases), list(manifest.judges)
    chosen = [known[name] for name in claims] or [
        claim for claim in known.values() if corpus is not None or _carried(claim, known, stated)
    ]
    planned = plan_claims(
        chosen,
        known,
        source,
        bases=bases or known_bases,
        judges=judges or known_judges,
        sizes=sizes,
        simulation=simulation,
        pricing=Pricing(opened.instrument, {**read_prices(prices), **opened.file.prices}, opened.file),
    )
    return StudyPlan(
        source=source.described(),
        simulated_data=simulated,
        sizes=planned,
        wanted={claim.id: "supported" for claim in chosen},
        target=target,
        seed=simulation.seed,
        simulations=simulation.studies,
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
