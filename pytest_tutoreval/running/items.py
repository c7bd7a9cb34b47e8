"""Claims, analyses and gates as pytest items: what they are parametrised over, and how an item is read back."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tutoreval.running.options import ALL, expand_names

if TYPE_CHECKING:
    from pytest_tutoreval.records.claim import Claim
    from pytest_tutoreval.workbench import ClaimPlace, Workbench

__all__ = [
    "claim_place",
    "drop_items_of_no_base",
    "find_item_claim",
    "item_params",
    "parametrize_analysis",
    "parametrize_claim",
    "parametrize_gates",
    "selected_names",
    "workbench_of",
]

# In a judge-bound test's id where the corpus holds no ratings: the item is an error with its reason, never missing.
UNJUDGED = "unjudged"
# In the id of a claim's test that is about none of the selected bases, until it is taken out.
NOWHERE = "nowhere"

_WORKBENCH = pytest.StashKey["Workbench"]()
# An item's claim files are read once, however many hooks ask for its claim.
_CLAIM = pytest.StashKey["tuple[Claim, Mapping[str, Claim]]"]()


def workbench_of(config: pytest.Config) -> "Workbench":
    """Return the run's corpus, opened once a process, after what packages and conftest.py files register.

    A corpus that cannot be opened, or a package that cannot be loaded, is a usage error.
    """
    if _WORKBENCH not in config.stash:
        from pytest_tutoreval.errors import TutorEvalError
        from pytest_tutoreval.extending import load_extensions
        from pytest_tutoreval.workbench import Workbench

        folder = config.getoption("tutoreval_corpus")
        opened = ExitStack()
        config.add_cleanup(opened.close)  # what is registered is the process's, which may run pytest again
        try:
            opened.enter_context(load_extensions(plugin for _, plugin in config.pluginmanager.list_name_plugin()))
            config.stash[_WORKBENCH] = Workbench(
                Path(folder) if folder else None,
                study_file=_study_file(config),
                live=config.getoption("tutoreval_live"),
            )
        except TutorEvalError as exc:
            raise pytest.UsageError(str(exc)) from exc
    return config.stash[_WORKBENCH]


def _study_file(config: pytest.Config) -> Path | None:
    """Return the study file that is named, or else the tutoreval.toml where pytest was started or in its rootdir."""
    from pytest_tutoreval.frozen import find_study

    if named := config.getoption("tutoreval_study"):
        return Path(named)
    return find_study(config.invocation_params.dir, config.rootpath)


def selected_names(config: pytest.Config) -> tuple[list[str], list[str]]:
    """Return the bases and judges this run is about. What is paid for is named: --live takes nothing for granted."""
    bench = workbench_of(config)
    chosen_bases, chosen_judges = config.getoption("tutoreval_base"), config.getoption("tutoreval_judge")
    if config.getoption("tutoreval_live") and not chosen_bases:
        raise pytest.UsageError("--live needs --base: name the tutor bases to pay for")
    bases = expand_names(chosen_bases, bench.bases, "--base", knower=bench.knower)
    judges = expand_names(chosen_judges, bench.judges, "--judge", knower=bench.knower)
    return bases, [] if config.getoption("tutoreval_live") and not chosen_judges else judges


def parametrize_claim(metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
    """Parametrise a claim's test over bases and, where it is judge-bound, judges."""
    claim, known = find_item_claim(metafunc.definition, marker)
    wanted = {"decided", "base", "judge"} if claim.judge_bound else {"decided", "base"}
    if wanted != wanted & set(metafunc.fixturenames) or ("judge" in metafunc.fixturenames) != claim.judge_bound:
        bound = "judge-bound" if claim.judge_bound else "judge-free"
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.name}: claim {claim.id} is {bound}, so its test takes exactly "
            f"{', '.join(sorted(wanted))} of decided, base and judge"
        )
    selected, judges = selected_names(metafunc.config)
    bases = claim_bases(metafunc.config, claim, known, selected)
    common = [bare_mark(metafunc.config, name) for name in (claim.id, claim.role)]
    if not bases:
        metafunc.parametrize("base", [pytest.param(None, id=NOWHERE)])
    elif claim.judge_bound:
        rated: list[str | None] = [*judges] or [None]
        metafunc.parametrize(
            ("base", "judge"),
            [
                pytest.param(base, judge, id=f"{base}-{judge or UNJUDGED}", marks=[*common, *marks])
                for base in bases
                for judge in rated
                for marks in [place_marks(metafunc.config, base, judge)]
            ],
        )
    else:
        metafunc.parametrize(
            "base",
            [pytest.param(b, id=b, marks=[*common, *place_marks(metafunc.config, b, None)]) for b in bases],
        )


def claim_bases(
    config: pytest.Config, claim: "Claim", known: "Mapping[str, Claim]", selected: Sequence[str]
) -> Sequence[str]:
    """Return for which bases a claim has an item, none where --base leaves out the one it is about.

    Where --base is not given, a base that is missing from the corpus makes an item with that reason, never none.
    """
    from pytest_tutoreval.claims import home_of, item_bases

    home, chosen = home_of(claim, known), config.getoption("tutoreval_base")
    if home is not None and (not chosen or ALL in chosen):
        return (home,)
    return item_bases(claim, known, selected)


def drop_items_of_no_base(items: list[pytest.Item]) -> None:
    """Take out the items of claims that have none among the selected bases: pytest makes one, skipped, of no values."""
    items[:] = [
        item
        for item in items
        if item.get_closest_marker("claim") is None or item_params(item).get("base", NOWHERE) is not None
    ]


def parametrize_gates(metafunc: pytest.Metafunc) -> None:
    """Parametrise a gate's test over bases and gates."""
    from pytest_tutoreval.collecting.preflight import GATES

    bases, _ = selected_names(metafunc.config)
    metafunc.parametrize(
        ("base", "gate"),
        [
            pytest.param(base, gate, id=f"{base}-{gate}", marks=place_marks(metafunc.config, base, None))
            for base in bases
            for gate in GATES
        ],
    )


def parametrize_analysis(metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
    """Parametrise an analysis's test over what it is run once for: nothing, a base, or a base and a judge."""
    known = workbench_of(metafunc.config).analyses()
    name = str(marker.args[0]) if marker.args else ""
    if name not in known:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.name}: analysis {name!r} is not known. Known: {', '.join(known)}."
        )
    analysis = known[name]
    bases, judges = selected_names(metafunc.config)
    role = bare_mark(metafunc.config, analysis.role)
    places: list[tuple[str | None, str | None]]
    match analysis.scope:
        case "corpus":
            places = [(None, None)]
        case "base":
            places = [(base, None) for base in bases]
        case "base_judge":
            places = [(base, judge) for base in bases for judge in judges]
    # The scope says what an analysis is run once for, so its test need not name both.
    metafunc.fixturenames.extend(name for name in ("base", "judge") if name not in metafunc.fixturenames)
    metafunc.parametrize(
        ("base", "judge"),
        [
            pytest.param(
                base,
                judge,
                id="-".join(filter(None, (base, judge))) or "corpus",
                marks=[role, *(place_marks(metafunc.config, base, judge) if base else [])],
            )
            for base, judge in places
        ],
    )


def find_item_claim(node: pytest.Item, marker: pytest.Mark) -> "tuple[Claim, Mapping[str, Claim]]":
    """Return the claim that an item's marker names, and the claims it may refer to."""
    from pytest_tutoreval.claims import find_claim
    from pytest_tutoreval.errors import TutorEvalError

    if _CLAIM in node.stash:
        return node.stash[_CLAIM]
    if len(marker.args) != 1 or not isinstance(marker.args[0], str):
        raise pytest.Collector.CollectError(f"{node.name}: the claim marker takes one claim id, as in claim('P1')")
    try:
        found = find_claim(marker.args[0], node.path.parent, workbench_of(node.config).claims)
    except TutorEvalError as exc:
        raise pytest.Collector.CollectError(str(exc)) from exc
    node.stash[_CLAIM] = found
    return found


def bare_mark(config: pytest.Config, name: str) -> pytest.MarkDecorator:
    """Return a bare mark; names come from claim files and corpora, so they are registered as they are met."""
    if not any(line.partition(":")[0] == name for line in config.getini("markers")):
        config.addinivalue_line("markers", f"{name}: a claim or a tutor base")
    mark: pytest.MarkDecorator = getattr(pytest.mark, name)
    return mark


def place_marks(config: pytest.Config, base: str, judge: str | None) -> list[pytest.MarkDecorator]:
    marks = [bare_mark(config, base), pytest.mark.base(name=base)]
    return [*marks, pytest.mark.judge(name=judge)] if judge else marks


def item_params(item: pytest.Item) -> Mapping[str, Any]:
    """Return what an item is parametrised with."""
    params: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return params


def claim_place(item: pytest.Item, marker: pytest.Mark) -> "ClaimPlace":
    """Return which claim an item decides, for which base and judge."""
    from pytest_tutoreval.workbench import ClaimPlace

    claim, known = find_item_claim(item, marker)
    params = item_params(item)
    return ClaimPlace(claim, known, params["base"], params.get("judge"))
