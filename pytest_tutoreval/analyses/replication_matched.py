"""P3 under the matched budget: exact where the text is there, else its bounds over all fillings of what is missing."""

from dataclasses import dataclass
from itertools import product

from pytest_tutoreval.analyses.matched_budget import match_arms
from pytest_tutoreval.analyses.matched_openings import MatchedIndependence, bound_contrast, matched_independence
from pytest_tutoreval.analyses.replication_checks import Judged
from pytest_tutoreval.analyses.replication_evidence import Evidence
from pytest_tutoreval.analyses.replication_printed import Digits, Printed
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS

__all__ = ["MatchedP3"]

_P = Digits(is_p=True)


@dataclass(frozen=True)
class MatchedP3:
    """The p of P3 under the budget. From tables: whether some filling of the missing replies prints as the study's."""

    base: str

    def judge(self, evidence: Evidence, printed: Printed) -> Judged:
        """Return the comparison, or the bounds and how many fillings print so; a p no filling gives is different."""
        cells, matched = match_arms(evidence.measures, self.base)
        independence = matched_independence(cells, matched)
        row = evidence.row("matched_budget", "contrast.independence", self.base)
        if independence.is_known:
            if row.p_value is None:
                raise NotEvaluable("P3 under the budget has no test")
            agrees = _P.agree(row.p_value, printed)
            return Judged("reproduced", row.p_value) if agrees else Judged("different", row.p_value)
        bounds = bound_contrast(independence, evidence.study.inference.alpha)
        if bounds.p_low is None or bounds.p_high is None:
            raise NotEvaluable(f"{bounds.n_fillings} fillings of the missing opening replies are too many to test")
        ours = f"{bounds.p_low:.3f} to {bounds.p_high:.3f}"
        n_printing = sum(_P.agree(p, printed) for p in _p_values(independence))
        if not n_printing:
            return Judged("different", ours, f"none of {bounds.n_fillings} fillings of the missing replies prints so")
        outcome = next((note for note in row.notes if note.startswith("the outcome")), "")
        return Judged(
            "not_evaluable",
            ours,
            "missing input: which opening replies of the kept cells hold a reasoning step (text). Bounds over all "
            f"{bounds.n_fillings} fillings: difference {bounds.low:+.4f} to {bounds.high:+.4f}, p {ours}; "
            f"{n_printing} of them print as the study's {printed.text}; {outcome}",
        )


def _p_values(independence: MatchedIndependence) -> list[float]:
    """Return the p of every filling."""
    from pytest_tutoreval.inference import signed_rank

    conv, ped = (independence.values[arm] for arm in ARMS)
    pairs = [(one, other) for replicate in sorted(conv) if (one := conv[replicate]) and (other := ped[replicate])]
    choices = [[one - other for one, other in product(*pair)] for pair in pairs]
    return [signed_rank(filling).p_value for filling in product(*choices)]
