"""Does the rule for P2 keep its error rate where conv and ped are judged alike?

400 corpora of one base in memory: the real protocol on the training problems, a judge whose taste knows neither
telling nor asking, the real averaging, test and decision rule.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from pytest_tutoreval.claims.rule import decide
from pytest_tutoreval.frozen import Instrument, load_instrument
from pytest_tutoreval.inference import paired_contrast
from pytest_tutoreval.measures import session_score, turn_score
from pytest_tutoreval.providers.scripted import SCRIPTS, JudgeScript, ScriptedCast, ScriptedJudge, Taste
from pytest_tutoreval.simulating import simulate_ratings, simulate_session

N_CORPORA = 400
INDIFFERENT = JudgeScript(tastes={"helpfulness": Taste(level=4.4, turn_sd=0.35)}, unusable_rate=0.01)


def training_only() -> Instrument:
    """The bundled instrument without the items no judge ever sees."""
    instrument = load_instrument()
    return replace(instrument, problems=instrument.training)


def helpfulness(instrument: Instrument, condition: str, replicate: int, seed: int) -> float | None:
    cast = ScriptedCast(instrument.problems, SCRIPTS["sonnet"], seed=seed)
    session = simulate_session(instrument, cast, base="sonnet", condition=condition, replicate=replicate)
    judge = ScriptedJudge(INDIFFERENT, seed=seed)
    _, ratings = simulate_ratings(instrument, session, judge="opus", rubric="helpfulness", answer=judge)
    by_turn: dict[tuple[str, int], list[int | None]] = defaultdict(list)
    for rating in ratings:
        by_turn[rating.problem, rating.turn].append(rating.overall)
    return session_score(turn_score(overalls).value for overalls in by_turn.values())


@pytest.mark.slow
def test_live_test_is_supported_in_at_most_alpha_of_null_corpora(capsys: pytest.CaptureFixture[str]) -> None:
    instrument = training_only()
    study = instrument.study
    supported = backwards = 0
    for seed in range(N_CORPORA):
        conv, ped = (
            np.array(
                [helpfulness(instrument, arm, replicate, seed) for replicate in study.registered_replicates()],
                dtype=float,
            )
            for arm in ("conv", "ped")
        )
        # the interval decides nothing, so few draws do
        contrast = paired_contrast(conv, ped, rng=np.random.default_rng(seed), draws=100)
        outcome = decide(contrast.value, contrast.p_value, sign=1, alpha=study.inference.alpha)
        supported += outcome.holds
        backwards += outcome.reversed
    with capsys.disabled():
        print(
            f"\nP2 under the null: supported in {supported} of {N_CORPORA} corpora ({supported / N_CORPORA:.3f}), "
            f"reversed in {backwards} ({backwards / N_CORPORA:.3f})"
        )
    assert supported / N_CORPORA <= study.inference.alpha
