"""Our certified crossed fit against statsmodels' powell, on turns like the study's; CPU time of this process.

Run from the repository's root: `OPENBLAS_NUM_THREADS=1 python benchmarks/crossed_fit.py`.
"""

import time
import warnings
from collections.abc import Callable
from statistics import median

import numpy as np
import pandas as pd
from statsmodels.regression.mixed_linear_model import MixedLM

from pytest_tutoreval.inference import fit_crossed

N_TURNS, N_SETS, N_OURS = 400, 9, 20


def some_turns(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    replicate, problem, ped = (rng.integers(0, levels, N_TURNS) for levels in (10, 6, 2))
    leaky = (rng.random(N_TURNS) < np.where(ped == 1, 0.12, 0.35)).astype(float)
    effects = 0.18 * rng.normal(size=10)[replicate] + 0.09 * rng.normal(size=6)[problem]
    noise = 0.49 * rng.normal(size=(3, N_TURNS))
    ratings = np.clip(np.round(4.6 + 0.3 * leaky + effects + noise), 1, 5)
    return pd.DataFrame(
        {
            "y": ratings.mean(axis=0),
            "L": leaky,
            "replicate": [f"r{k}" for k in replicate],
            "problem": [f"p{k}" for k in problem],
        }
    )


def cpu_seconds(call: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def measure() -> str:
    ours, theirs = [], []
    for seed in range(N_SETS):
        turns = some_turns(seed)
        y, leaky = turns["y"].to_numpy(), turns["L"].to_numpy()
        groups = {"replicate": list(turns["replicate"]), "problem": list(turns["problem"])}
        components = {"replicate": "0 + replicate", "problem": "0 + problem"}

        def fit_ours(y: object = y, leaky: object = leaky, groups: object = groups) -> object:
            return fit_crossed(y, {"L": leaky}, groups)  # type: ignore[arg-type, dict-item]

        # Both from labelled columns: the set-up is part of the cost of a fit.
        def fit_theirs(turns: pd.DataFrame = turns, components: dict[str, str] = components) -> object:
            model = MixedLM.from_formula("y ~ L", turns, groups=np.ones(N_TURNS), re_formula="0", vc_formula=components)
            return model.fit(reml=False, method="powell")

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.append(cpu_seconds(fit_theirs, 1))
        ours.append(cpu_seconds(fit_ours, N_OURS))
    ratio = median(slow / fast for slow, fast in zip(theirs, ours, strict=True))
    return (
        f"crossed fit, n = {N_TURNS}, 10 x 6 levels: ours {1e3 * median(ours):.2f} ms, "
        f"statsmodels powell {1e3 * median(theirs):.0f} ms CPU (medians of {N_SETS} sets)\n"
        f"statsmodels takes {ratio:.0f} times as long (the target is 10 at least)"
    )


if __name__ == "__main__":
    print(measure())
