"""The conditions a corpus may hold, as what a contrast needs to know of them."""

from collections.abc import Mapping

__all__ = ["ARMS", "BASELINES"]

# The contrast is always conv - ped; ablation conditions are never pooled with them.
ARMS = ("conv", "ped")

# Each ablation variant and the policy it was made from (definitions, section 4), in the study's order.
BASELINES: Mapping[str, str] = {
    "conv_socratic": "conv",
    "conv_no_final_answer": "conv",
    "ped_no_gate": "ped",
    "ped_no_tracker": "ped",
    "ped_no_cascade": "ped",
}
