"""The bundled study against the shared definitions and verbatim texts."""

from pathlib import Path

import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records import PHASES, RUBRIC_FIELDS

INSTRUMENT = load_instrument()
STUDY = INSTRUMENT.study
TEXTS = [
    path.relative_to(INSTRUMENT.folder).as_posix()
    for part in ("prompts", "rubrics")
    for path in sorted((INSTRUMENT.folder / part).iterdir())
]


@pytest.mark.parametrize("name", ["problems.csv", "forms.csv", *TEXTS])
def test_file_has_the_study_s_bytes(name: str, shared: Path) -> None:
    assert (INSTRUMENT.folder / name).read_bytes() == (shared / "paper" / name).read_bytes()


@pytest.mark.parametrize("part", ["prompts", "rubrics"])
def test_no_verbatim_text_is_left_out(part: str, shared: Path) -> None:
    assert {path.name for path in (INSTRUMENT.folder / part).iterdir()} == {
        path.name for path in (shared / "paper" / part).iterdir()
    }


# definitions, sections 1 to 3


def test_bases_are_the_three_with_sonnet_primary() -> None:
    assert ([base.id for base in STUDY.bases], STUDY.primary_base) == (["sonnet", "gpt", "gemini"], "sonnet")


def test_judges_are_the_two_with_opus_primary() -> None:
    assert ([judge.id for judge in STUDY.judges], STUDY.primary_judge) == (["opus", "sol"], "opus")


def test_conditions_come_in_the_released_order() -> None:
    assert STUDY.protocol.condition_order == ("cold", "conv", "ped")


def test_phase_counts_are_six_three_four_three_three() -> None:
    assert [STUDY.protocol.phase_counts[phase] for phase in PHASES] == [6, 3, 4, 3, 3]


def test_problems_stand_in_phase_order() -> None:
    assert [problem.phase for problem in INSTRUMENT.problems] == [
        phase for phase in PHASES for _ in range(STUDY.protocol.phase_counts[phase])
    ]


def test_six_problems_are_tutored() -> None:
    assert [problem.id for problem in INSTRUMENT.training] == [f"train-{number}" for number in range(1, 7)]


def test_protocol_has_ten_replicates_four_tutor_turns_three_repetitions_and_seed_zero() -> None:
    protocol = STUDY.protocol
    assert (protocol.replicates, protocol.tutor_turns, protocol.repetitions, protocol.base_seed) == (10, 4, 3, 0)


def test_seeds_are_the_replicate_numbers() -> None:
    assert [STUDY.seed(replicate) for replicate in STUDY.registered_replicates()] == list(range(10))


def test_inference_is_at_alpha_05_with_ten_thousand_draws_from_seed_zero() -> None:
    inference = STUDY.inference
    assert (inference.alpha, inference.bootstrap_draws, inference.bootstrap_seed) == (0.05, 10_000, 0)


def test_fewer_than_six_pairs_decide_nothing() -> None:
    assert STUDY.inference.minimum_pairs == 6


@pytest.mark.parametrize("base", STUDY.bases, ids=lambda base: base.id)
def test_tutors_sample_at_04_with_1024_tokens(base: object) -> None:
    sampling = next(entry.sampling for entry in STUDY.bases if entry is base)
    assert (sampling.temperature, sampling.max_tokens) == (0.4, 1024)


@pytest.mark.parametrize(
    ("base", "reasoning", "seed"),
    [("sonnet", "disabled", None), ("gpt", "none", "replicate"), ("gemini", "low", "replicate")],
)
def test_reasoning_is_off_or_at_the_provider_s_minimum_and_anthropic_gets_no_seed(
    base: str, reasoning: str, seed: str | None
) -> None:
    sampling = next(entry.sampling for entry in STUDY.bases if entry.id == base)
    assert (sampling.reasoning, sampling.seed) == (reasoning, seed)


def test_student_is_pinned_to_one_provider_at_08_with_512_tokens() -> None:
    student = STUDY.student
    assert (student.provider, student.pin, student.sampling.temperature, student.sampling.max_tokens) == (
        "openrouter",
        ("groq",),
        0.8,
        512,
    )


def test_opus_is_left_at_its_defaults_capped_and_unseeded() -> None:
    sampling = STUDY.judges[0].sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.seed, sampling.reasoning) == (512, None, None, None)


def test_sol_has_a_larger_cap_medium_reasoning_and_seeds_by_repetition() -> None:
    judge = STUDY.judges[1]
    sampling = judge.sampling
    assert (sampling.max_tokens, sampling.reasoning, sampling.seed, judge.pin) == (
        2048,
        "medium",
        "repetition",
        ("openai",),
    )


def test_every_rubric_of_the_study_has_a_text_and_fields() -> None:
    assert set(STUDY.rubrics) == set(RUBRIC_FIELDS) <= set(INSTRUMENT.rubrics)


@pytest.mark.parametrize("rubric", RUBRIC_FIELDS)
def test_rubric_text_asks_for_exactly_the_fields_that_are_read(rubric: str) -> None:
    schema = INSTRUMENT.rubrics[rubric].splitlines()[-1]
    assert schema == "{" + ", ".join(f'"{field}": <1-5>' for field in RUBRIC_FIELDS[rubric]) + "}"


def test_router_has_the_registered_threshold_levels_and_fields() -> None:
    router = INSTRUMENT.router
    assert (router.attempts_threshold, router.hint_levels, router.tracker_fields) == (
        2,
        ("abstract", "pointed", "concrete"),
        ("demonstrated", "missing", "stuck", "progressed"),
    )


def test_every_status_line_of_the_definitions_is_in_the_register() -> None:
    # definitions, section 16, has twelve rows; two of our own declare wording and model fits
    assert len(STUDY.register_entries) == 14
