"""Money: a budget is never exceeded, what was paid for is kept, and what a run cost is said or said to be unknown."""

import json
from pathlib import Path

import pytest

from pytest_tutoreval.live import LiveOutcome, Needs
from pytest_tutoreval.providers.money import UnknownPrice
from tests.live.running import a_study_file, asked_bodies, bodies_on_disk, go, short_instrument, tutoreval, whole_lines
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

NEEDS = Needs.crossed(bases=["sonnet", "gpt"], conditions=["conv", "ped"], judges=["opus"], rubrics=["helpfulness"])
PRICE = (3.0, 15.0)


def cost_on_disk(folder: Path) -> float:
    """Return the dollars of every call on disk, from the tokens the server counted."""
    paths = [path for part in ("sessions", "ratings") for path in (folder / part).rglob("*.jsonl")]
    lines = [line for path in paths for line in whole_lines(path)]
    n_input = sum(int(line.get("input_tokens", 0)) for line in lines)
    n_output = sum(int(line.get("output_tokens", 0)) for line in lines)
    return (n_input * PRICE[0] + n_output * PRICE[1]) / 1e6


def run(server: LoopbackServer, folder: Path, budget: float | None) -> LiveOutcome:
    study = a_study_file(folder.parent, server.base_urls, price=PRICE)
    return go(server, folder, NEEDS, study=study, budget=budget, replicates=tuple(range(4)))


def test_a_budget_is_never_exceeded_with_many_calls_in_flight(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=-1, delay=0.005)], answer=speak) as server:
        whole = run(server, tmp_path / "whole" / "corpus", None)
        assert whole.dollars == pytest.approx(cost_on_disk(tmp_path / "whole" / "corpus"))
        assert whole.dollars is not None
        for share in (0.1, 0.5, 0.9):
            folder = tmp_path / f"{share}" / "corpus"
            outcome = run(server, folder, share * whole.dollars)
            assert not outcome.complete
            assert cost_on_disk(folder) <= share * whole.dollars
            assert outcome.dollars == pytest.approx(cost_on_disk(folder))
            reasons = {*outcome.collection.unfinished.values(), *outcome.judging.incomplete.values()}
            assert all("the budget of" in reason and "raise it to resume" in reason for reason in reasons)
            # Calls in flight reserve more than they cost: others wait for the difference rather than give up.
            assert cost_on_disk(folder) >= share * whole.dollars - 0.05


def test_a_budget_that_suffices_with_room_for_one_call_completes(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=-1, delay=0.002)], answer=speak) as server:
        whole = run(server, tmp_path / "whole" / "corpus", None)
        assert whole.dollars is not None
        outcome = run(server, tmp_path / "corpus", whole.dollars + 0.04)
        assert server.most_at_once > 2
    assert outcome.complete, outcome.lines()


def test_a_larger_budget_resumes_to_the_end_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    with LoopbackServer(answer=speak) as server:
        folder = tmp_path / "corpus"
        first = run(server, folder, 0.1)
        assert not first.complete
        kept, _ = bodies_on_disk(folder, short_instrument())
        assert asked_bodies(server) == kept
        assert run(server, folder, None).complete
        assert asked_bodies(server) == bodies_on_disk(folder, short_instrument())[0]


def test_a_budget_of_zero_pays_nothing_and_says_so(tmp_path: Path) -> None:
    with LoopbackServer(answer=speak) as server:
        outcome = run(server, tmp_path / "corpus", 0.0)
        assert server.journal == []
    assert any("the budget of 0.00 dollars is reached" in line for line in outcome.lines())


def test_an_attempt_that_timed_out_counts_as_if_it_had_been_billed(tmp_path: Path) -> None:
    steps = [Step(times=1, delay=3.0, shape="openrouter")]
    with LoopbackServer(steps, answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls, price=PRICE)
        text = study.read_text(encoding="utf-8").replace("concurrency = 64", "concurrency = 64\ntimeout = 0.5")
        study.write_text(text, encoding="utf-8")
        needs = Needs.crossed(bases=["sonnet"], conditions=["cold"])
        outcome = go(server, tmp_path / "corpus", needs, study=study, replicates=(0,))
    assert outcome.complete
    assert outcome.dollars is not None
    # 512 tokens could have been answered and billed.
    assert outcome.dollars > cost_on_disk(tmp_path / "corpus") + 512 * PRICE[1] / 1e6


def test_an_unknown_price_refuses_a_budgeted_run_before_anything_is_sent(tmp_path: Path) -> None:
    with LoopbackServer(answer=speak) as server:
        with pytest.raises(UnknownPrice, match=r"anthropic/claude-sonnet-4-6.*price file"):
            go(server, tmp_path / "corpus", NEEDS, budget=5.0)
        assert server.journal == []
    assert not (tmp_path / "corpus").exists()


def test_without_a_price_and_without_a_budget_the_cost_is_said_to_be_unknown(tmp_path: Path) -> None:
    with LoopbackServer(answer=speak) as server:
        finished = tutoreval(
            *("collect", "--corpus", tmp_path / "corpus", "--base", "sonnet", "--condition", "cold"),
            *("--replicates", "1", "--study", a_study_file(tmp_path, server.base_urls)),
        )
    assert finished.returncode == 0, finished.stderr
    assert "cost unknown" in finished.stdout
    assert "$" not in finished.stdout


def test_the_ledger_keeps_what_each_route_was_billed(tmp_path: Path) -> None:
    with LoopbackServer(answer=speak) as server:
        outcome = run(server, tmp_path / "corpus", None)
    (path,) = (tmp_path / "corpus" / "runs").glob("*.jsonl")
    billed = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["spending"]
    assert outcome.dollars is not None
    assert sum(route["dollars"] for route in billed.values()) == pytest.approx(outcome.dollars)


def test_prices_that_are_zero_cost_nothing_under_a_budget_of_zero(tmp_path: Path) -> None:
    with LoopbackServer(answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls, price=(0.0, 0.0))
        outcome = go(
            server, tmp_path / "corpus", Needs.crossed(bases=["gpt"], conditions=["cold"]), study=study, budget=0.0
        )
    assert outcome.complete
    assert outcome.dollars == 0
