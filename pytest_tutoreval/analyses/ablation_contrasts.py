"""Each ablation variant against conv and against ped, paired by replicate (definitions, section 14)."""

from pytest_tutoreval.analyses.ablation_corpus import read_ablation
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, BASELINES
from pytest_tutoreval.records.analysis import AnalysisRow

__all__ = ["MEASURES", "ablation_contrasts"]

# In the study's order.
MEASURES = ("leakage", "independence", "helpfulness", "pedagogy")


def ablation_contrasts(given: AnalysisInput) -> list[AnalysisRow]:
    """Return variant - conv and variant - ped for every variant and session measure.

    One of the two is the policy the variant was made from; the note says which. The p-value is recorded and decides
    nothing.
    """
    ablation = read_ablation(given)
    rows: list[AnalysisRow] = []
    for measure in MEASURES:
        subject = ablation.subject("ablation_contrasts", measure)
        try:
            values = ablation.sessions(measure)
        except NotEvaluable as exc:
            rows.append(subject.undecided(measure, exc, notes=ablation.notes))
            continue
        for variant in ablation.variants:
            for reference in ARMS:
                name = f"{measure}.{variant}-{reference}"
                what = "its baseline" if reference == BASELINES[variant] else "the other policy"
                said = (f"against {what}; descriptive, the p-value decides nothing", *ablation.notes)
                try:
                    row = subject.contrast_row(
                        name, values[variant], values[reference], names=("variant", "reference"), notes=said
                    )
                except NotEvaluable as exc:
                    row = subject.undecided(name, exc, notes=said)
                rows.append(row)
    return rows
