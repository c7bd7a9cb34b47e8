"""The study's own `results/` tree, made from the flat copy by the mapping of the copy's README."""

from pathlib import Path

__all__ = ["results_tree"]

_SECOND = "judge_robustness/gpt-5.6-sol"
_PLACES = {
    "per_turn.sonnet.csv": "confirmatory/per_turn.csv",
    "per_turn.gpt.csv": "confirmatory_gpt/per_turn.csv",
    "per_turn.gemini.csv": "confirmatory_gemini/per_turn.csv",
    "per_turn.ablation.csv": "ablation/per_turn.csv",
    "per_session.sonnet.csv": "confirmatory/per_session.csv",
    "per_session.gpt.csv": "confirmatory_gpt/per_session.csv",
    "per_session.gemini.csv": "confirmatory_gemini/per_session.csv",
    "per_session.ablation.csv": "ablation/per_session.csv",
    "inference.sonnet.json": "confirmatory/inference.json",
    "inference.gpt.json": "confirmatory_gpt/inference.json",
    "inference.gemini.json": "confirmatory_gemini/inference.json",
    "matched_budget.sonnet.json": "confirmatory/matched_budget.json",
    "ablation_analysis.json": "ablation/ablation_analysis.json",
    "per_turn.sonnet.sol.csv": f"{_SECOND}/sonnet/per_turn.csv",
    "per_turn.gpt.sol.csv": f"{_SECOND}/gpt/per_turn.csv",
    "per_turn.gemini.sol.csv": f"{_SECOND}/gemini/per_turn.csv",
    "inference.sonnet.sol.json": f"{_SECOND}/sonnet/judge_inference.json",
    "inference.gpt.sol.json": f"{_SECOND}/gpt/judge_inference.json",
    "inference.gemini.sol.json": f"{_SECOND}/gemini/judge_inference.json",
    "policy_adjusted.sonnet.sol.json": f"{_SECOND}/sonnet/policy_adjusted.json",
    "policy_adjusted.gpt.sol.json": f"{_SECOND}/gpt/policy_adjusted.json",
    "policy_adjusted.gemini.sol.json": f"{_SECOND}/gemini/policy_adjusted.json",
    "comparison.sol.json": f"{_SECOND}/comparison/comparison.json",
    "condition_adjusted.json": "condition_adjusted_sensitivity/analysis.json",
}


def results_tree(flat: Path, target: Path) -> None:
    """Write the study's own tree."""
    for name, place in _PLACES.items():
        path = target / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((flat / name).read_bytes())
