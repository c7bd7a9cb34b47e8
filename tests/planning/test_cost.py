"""A plan's calls are the protocol's, its tokens near the released ones, its prices and limits the user's."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import extend_instrument, load_instrument
from pytest_tutoreval.live import Needs
from pytest_tutoreval.planning import Assumptions, CostPlan, RoleCost, plan_cost
from pytest_tutoreval.records.study_file import Price, RouteSettings, StudyFile

RUBRICS = ("helpfulness", "pedagogy")
CONDITIONS = ("cold", "conv", "ped")
WIDE = {name: RouteSettings(concurrency=100_000) for name in ("anthropic", "openai", "gemini", "openrouter")}

# Calls of one session by hand. Six tutored problems of S T S T S T S T S; ped adds a tracker's call to each tutor turn.
# Probes are 13 after tutoring and 19 in cold; one elicitation each in cold, one in 13 elsewhere.
STUDENT_CALLS = {"cold": 19 + 19, "conv": 6 * 5 + 13 + 1, "ped": 6 * 5 + 13 + 1}
TUTOR_CALLS = {"cold": 0, "conv": 6 * 4, "ped": 6 * 8}
SESSION_CALLS = {name: STUDENT_CALLS[name] + TUTOR_CALLS[name] for name in CONDITIONS}


def plan(
    conditions: Sequence[str] = CONDITIONS,
    *,
    bases: Sequence[str] = ("sonnet",),
    judges: Sequence[str] = (),
    rubrics: Sequence[str] = RUBRICS,
    prices: Mapping[str, Price] | None = None,
    routes: Mapping[str, RouteSettings] | None = None,
    **options: Any,
) -> CostPlan:
    needs = Needs.crossed(bases=bases, conditions=conditions, judges=judges, rubrics=rubrics)
    return plan_cost(load_instrument(), needs, prices or {}, StudyFile(routes=dict(routes or {})), **options)


def role(cost: CostPlan, name: str, base: str = "sonnet") -> RoleCost:
    return next(each for each in cost.roles if (each.base, each.role) == (base, name))


# calls


@pytest.mark.parametrize("condition", CONDITIONS)
def test_calls_of_a_session_are_the_protocol_s(condition: str) -> None:
    cost = plan([condition], replicates=1)
    counted = {each.role: each.calls for each in cost.roles if each.calls}
    expected = {"student": STUDENT_CALLS[condition], "tutor": TUTOR_CALLS[condition]}
    assert counted == {name: calls for name, calls in expected.items() if calls}
    assert cost.calls == SESSION_CALLS[condition]


def test_a_registered_run_is_ten_replicates() -> None:
    cost = plan()
    assert role(cost, "student").calls == 10 * (38 + 44 + 44) == 1260
    assert role(cost, "tutor").calls == 10 * (24 + 48) == 720


def test_every_tutor_turn_is_rated_three_times_under_each_rubric_and_cold_never() -> None:
    cost = plan(judges=["opus", "sol"], replicates=2)
    # 2 replicates of conv and ped, 24 turns each, 3 repetitions
    expected = dict.fromkeys(
        [f"judge {judge}, {rubric}" for judge in ("opus", "sol") for rubric in RUBRICS], 2 * 2 * 72
    )
    assert {each.role: each.calls for each in cost.roles if each.role.startswith("judge")} == expected
    assert role(plan(["cold"], judges=["opus"]), "judge opus, pedagogy").calls == 0


def of_needs(needs: Needs, **options: Any) -> list[tuple[str, str, int]]:
    cost = plan_cost(load_instrument(), needs, {}, StudyFile(), **options)
    return [(each.base, each.role, each.calls) for each in cost.roles]


def test_a_plan_to_judge_alone_pays_for_ratings_alone() -> None:
    ratings = {("sonnet", condition, "opus", "pedagogy"): None for condition in ("conv", "ped")}
    assert of_needs(Needs(ratings=ratings), replicates=1) == [("sonnet", "judge opus, pedagogy", 2 * 72)]


def test_each_cell_and_each_rating_has_its_own_number() -> None:
    needs = Needs(
        cells={("sonnet", "cold"): 2, ("sonnet", "ped"): 12, ("gpt", "ped"): 10},
        ratings={("sonnet", "ped", "opus", "pedagogy"): 8, ("gpt", "conv", "opus", "pedagogy"): 1},
    )
    assert of_needs(needs) == [
        ("sonnet", "student", 2 * 38 + 12 * 44),
        ("sonnet", "tutor", 12 * 48),
        ("sonnet", "judge opus, pedagogy", 8 * 72),
        ("gpt", "student", 10 * 44),
        ("gpt", "tutor", 10 * 48),
        ("gpt", "judge opus, pedagogy", 72),
    ]
    sessions = 2 * SESSION_CALLS["cold"] + (12 + 10) * SESSION_CALLS["ped"]
    one_by_one = plan_cost(load_instrument(), needs, {}, StudyFile(routes=WIDE), at_once=1)
    assert one_by_one.hours == pytest.approx(sessions * 3 / 3600, rel=1e-12)


@pytest.mark.parametrize(("every", "elicitations"), [(1, 19), (2, 9), (3, 6), (19, 1), (20, 0)])
def test_the_elicitations_are_those_assumed(every: int, elicitations: int) -> None:
    cost = plan(["cold"], replicates=1, assumptions=Assumptions(elicited_every={"cold": every}))
    assert cost.calls == 19 + elicitations


def test_bases_are_planned_each_on_its_own_route() -> None:
    cost = plan(["conv"], bases=["sonnet", "gpt"], replicates=1)
    assert [(each.base, each.role, each.route.provider, each.calls) for each in cost.roles] == [
        ("sonnet", "student", "openrouter", 44),
        ("sonnet", "tutor", "anthropic", 24),
        ("gpt", "student", "openrouter", 44),
        ("gpt", "tutor", "openai", 24),
    ]


# tokens


ABLATIONS = ("conv_no_final_answer", "ped_no_gate", "ped_no_cascade", "ped_no_tracker")


@pytest.fixture(scope="module")
def released_means(shared: Path) -> dict[str, dict[str, float]]:
    """The means of the released sessions of the primary base, by condition."""
    columns = ("n_model_calls", "student_tokens", "tutor_tokens", "total_tokens")
    rows: list[dict[str, str]] = []
    for name in ("sonnet", "ablation"):
        path = shared / "data" / "paper-tables" / f"per_session.{name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows += [row for row in csv.DictReader(file) if name == "sonnet" or row["condition"] in ABLATIONS]
    return {
        condition: {name: mean(float(row[name]) for row in rows if row["condition"] == condition) for name in columns}
        for condition in (*CONDITIONS, *ABLATIONS)
    }


# The one tolerance here: a plan is a forecast. The socratic tutor says less than conv, so its plan is an upper end.
@pytest.mark.parametrize("condition", [*CONDITIONS, *ABLATIONS])
def test_tokens_are_within_a_quarter_of_the_released_means(
    released_means: dict[str, dict[str, float]], condition: str
) -> None:
    cost, expected = plan([condition], replicates=1), released_means[condition]
    tokens = {each.role: each.input_tokens + each.output_tokens for each in cost.roles}
    assert tokens["student"] == pytest.approx(expected["student_tokens"], rel=0.25)
    assert tokens.get("tutor", 0) == pytest.approx(expected["tutor_tokens"], rel=0.25)
    assert sum(tokens.values()) == pytest.approx(expected["total_tokens"], rel=0.25)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_calls_are_within_one_of_the_released_means(
    released_means: dict[str, dict[str, float]], condition: str
) -> None:
    assert SESSION_CALLS[condition] == pytest.approx(released_means[condition]["n_model_calls"], abs=1)


@pytest.mark.parametrize(("condition", "released"), [("cold", 4900), ("ped", 7200), ("conv", 9500)])
def test_the_largest_student_request_is_within_a_quarter_of_the_released_one(condition: str, released: int) -> None:
    assert role(plan([condition], replicates=1), "student").largest_request == pytest.approx(released, rel=0.25)


def test_tokens_grow_with_replicates_alone() -> None:
    one, ten = role(plan(replicates=1), "student"), role(plan(), "student")
    assert (ten.input_tokens, ten.output_tokens) == (10 * one.input_tokens, 10 * one.output_tokens)
    assert ten.largest_request == one.largest_request


def test_output_tokens_are_calls_times_the_assumed_reply() -> None:
    cost = plan(["ped"], judges=["opus"], replicates=1)
    said = Assumptions().reply_tokens
    assert role(cost, "tutor").output_tokens == 24 * (said["tracker"] + said["responder"])
    assert role(cost, "student").output_tokens == 44 * said["student"]
    assert role(cost, "judge opus, pedagogy").output_tokens == 72 * said["judge"]
    assert role(plan(["conv"], replicates=1), "tutor").output_tokens == 24 * said["tutor"]


# dollars


def test_dollars_are_tokens_times_prices_a_million() -> None:
    prices = {"openrouter": Price(input=0.05, output=0.08), "anthropic": Price(input=3, output=15)}
    cost = plan(prices=prices)
    student, tutor = role(cost, "student"), role(cost, "tutor")
    assert student.dollars == (student.input_tokens * 0.05 + student.output_tokens * 0.08) / 1_000_000
    assert tutor.dollars == (tutor.input_tokens * 3 + tutor.output_tokens * 15) / 1_000_000
    assert cost.dollars == student.dollars + tutor.dollars


def test_a_model_s_price_goes_before_its_provider_s() -> None:
    prices = {"anthropic": Price(input=3, output=15), "anthropic/claude-sonnet-4-6": Price(input=0, output=0)}
    assert role(plan(prices=prices), "tutor").dollars == 0


def test_an_unknown_price_is_never_zero_and_leaves_the_sum_unknown() -> None:
    cost = plan(prices={"openrouter": Price(input=1, output=1)})
    assert role(cost, "student").dollars is not None
    assert role(cost, "tutor").dollars is None
    assert cost.dollars is None


# limits and hours


@pytest.mark.parametrize("spare", [pytest.param(0, id="just-fits"), pytest.param(-1, id="one-token-short")])
def test_a_request_that_exceeds_tokens_a_minute_is_named(spare: int) -> None:
    largest = role(plan(["conv"]), "student").largest_request + 512  # with the student's cap
    limit = largest + spare
    cost = plan(["conv"], routes={"openrouter": RouteSettings(tokens_per_minute=limit)})
    said = f"the largest request and its cap ({largest} tokens) exceed {limit} a minute"
    assert [each.exceeds for each in cost.roles] == [said if spare else None, None]


def test_hours_are_at_least_the_longest_session_s() -> None:
    # ped: 92 calls of 3 s, one after another, however many run beside it
    assert plan(routes=WIDE, at_once=100_000).hours == 92 * 3 / 3600
    assert plan(["cold"], routes=WIDE, at_once=100_000).hours == 38 * 3 / 3600


def test_hours_grow_where_fewer_sessions_are_open() -> None:
    # all sessions one after another: 10 x (38 + 68 + 92) calls of 3 s
    assert plan(routes=WIDE, at_once=1).hours == 10 * (38 + 68 + 92) * 3 / 3600


@pytest.mark.parametrize(
    ("settings", "hours"),
    [
        pytest.param(RouteSettings(concurrency=1), 1260 * 3 / 3600, id="concurrency"),
        pytest.param(RouteSettings(concurrency=1000, requests_per_minute=10), 1260 / 10 / 60, id="requests"),
    ],
)
def test_hours_are_at_least_what_a_route_s_limits_allow(settings: RouteSettings, hours: float) -> None:
    cost = plan(routes={**WIDE, "openrouter": settings})
    assert cost.hours == role(cost, "student").hours == pytest.approx(hours, rel=1e-12)


def test_hours_by_tokens_a_minute() -> None:
    cost = plan(routes={**WIDE, "openrouter": RouteSettings(concurrency=1000, tokens_per_minute=20_000)})
    student = role(cost, "student")
    assert cost.hours == pytest.approx((student.input_tokens + student.output_tokens) / 20_000 / 60, rel=1e-12)


def test_bases_share_their_student_s_route() -> None:
    routes = {**WIDE, "openrouter": RouteSettings(concurrency=1)}
    alone, together = plan(routes=routes), plan(bases=["sonnet", "gpt", "gemini"], routes=routes)
    assert together.hours == pytest.approx(3 * alone.hours, rel=1e-12)


# what cannot be planned


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bases": ["nobody"]}, "base 'nobody' is not in the study"),
        ({"judges": ["me"]}, "judge 'me' is not in the study"),
        ({"conditions": ["conv", "tutored"]}, r"condition tutored is not known \(known: cold, conv, ped, "),
        (
            {"judges": ["opus"], "rubrics": ["kindness"]},
            r"rubric kindness is not known \(known: helpfulness, pedagogy\)",
        ),
    ],
    ids=["base", "judge", "condition", "rubric"],
)
def test_an_unknown_name_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationProblem, match=message):
        plan(**given)


def test_an_aggregator_without_a_pin_is_refused() -> None:
    base = {"id": "ours", "label": "Ours", "model": "us/ours", "provider": "openrouter", "sampling": {"max_tokens": 64}}
    file = StudyFile.parse({"bases": [base]})
    needs = Needs.crossed(bases=["ours"], conditions=["conv"])
    with pytest.raises(ConfigurationProblem, match="base ours: openrouter chooses among hosts, and no pin is set"):
        plan_cost(extend_instrument(load_instrument(), file), needs, {}, file)


# the command


def command(*arguments: str | Path) -> tuple[int, list[str]]:
    result = CliRunner().invoke(app, ["plan", *map(str, arguments)], env={"COLUMNS": "250", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output.splitlines()


def test_the_command_says_every_role_the_sum_and_what_it_assumes() -> None:
    code, lines = command("--base", "sonnet", "--judge", "opus")
    assert code == 0
    assert lines == [
        "sonnet  student                  openrouter/meta-llama/llama-3.1-8b-instruct: 1260 calls, "
        "5.25 M + 0.10 M tokens, price unknown, largest request 10331 tokens",
        "sonnet  tutor                    anthropic/claude-sonnet-4-6: 720 calls, 0.40 M + 0.09 M tokens, "
        "price unknown, largest request 1071 tokens",
        "sonnet  judge opus, helpfulness  anthropic/claude-opus-4-8: 1440 calls, 1.69 M + 0.10 M tokens, $10.95, "
        "largest request 1844 tokens",
        "sonnet  judge opus, pedagogy     anthropic/claude-opus-4-8: 1440 calls, 2.08 M + 0.10 M tokens, $12.91, "
        "largest request 2116 tokens",
        "in all: 4860 calls, price unknown for openrouter/meta-llama/llama-3.1-8b-instruct, "
        "anthropic/claude-sonnet-4-6, about 0.3 hours",
        "assumed: replies of student 80, tutor 230, tracker 90, responder 70, judge 70 tokens, an elicitation every "
        "n-th probe (n = 1 in cold, 13 in tutored), 3 s a call, every tutor turn in the window; prices from "
        "the price file",
    ]


def test_the_command_prices_with_the_user_s_file(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[openrouter]\ninput = 0\noutput = 0\n[anthropic]\ninput = 0\noutput = 100\n", encoding="utf-8")
    code, lines = command("--base", "sonnet", "--condition", "conv", "--replicates", "1", "--prices", prices)
    # 24 tutor turns of 230 tokens at 100 dollars a million
    assert (code, lines[-2]) == (0, "in all: 68 calls, $0.55, about 0.1 hours")


def test_the_command_exits_one_where_a_limit_is_exceeded(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text("[routes.openrouter]\ntokens_per_minute = 6000\n", encoding="utf-8")
    code, lines = command("--base", "sonnet", "--study", study)
    assert code == 1
    assert lines[0].startswith("sonnet  student ")
    assert lines[1] == "  LIMIT: the largest request and its cap (10843 tokens) exceed 6000 a minute"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--base", "nobody"], 1, "tutoreval: base 'nobody' is not in the study (known: sonnet, gpt, gemini)"),
        (["--base", "sonnet", "--condition", "cvon"], 1, "tutoreval: condition cvon is not known"),
        (["--base", "sonnet", "--judge", "opus", "--rubric", "x"], 1, "tutoreval: rubric x is not known"),
        (["--base", ","], 2, "name at least one"),
    ],
    ids=["base", "condition", "rubric", "no-base"],
)
def test_the_command_refuses_what_it_does_not_know(arguments: list[str], code: int, message: str) -> None:
    found, lines = command(*arguments)
    assert found == code
    assert message in "\n".join(lines)


def test_a_price_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[anthropic]\ninput = -1\noutput = 2\n", encoding="utf-8")
    code, lines = command("--base", "sonnet", "--prices", prices)
    assert code == 1
    assert lines[0].startswith(f"tutoreval: {prices}: input: ")


def test_a_plan_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("--base", "sonnet", "--replicates", "1")[0] == 0
    assert list(tmp_path.iterdir()) == []
