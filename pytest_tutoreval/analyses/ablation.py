"""Seven policies on the primary base, by the primary judge: two revised prompts, three deleted parts, conv and ped."""

from pytest_tutoreval.analyses.ablation_contrasts import ablation_contrasts
from pytest_tutoreval.analyses.ablation_couplings import ablation_couplings
from pytest_tutoreval.analyses.ablation_scores import ablation_scores
from pytest_tutoreval.analyses.registry import Analysis

__all__ = ["ANALYSES"]

ANALYSES: tuple[Analysis, ...] = (
    Analysis(
        "ablation_contrasts",
        "Ablation: each variant against conv and against ped",
        "ablation",
        "corpus",
        ablation_contrasts,
    ),
    Analysis(
        "ablation_scores",
        "Ablation: replicate-averaged measures of every policy, their spans and leakage shares",
        "ablation",
        "corpus",
        ablation_scores,
    ),
    Analysis(
        "ablation_couplings",
        "Ablation: next-turn independence after leaky and non-leaky turns, policy by policy",
        "ablation",
        "corpus",
        ablation_couplings,
    ),
)
