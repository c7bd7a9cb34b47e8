"""What an analysis's rows are about, and how contrasts, models and means are laid out in them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import DegenerateData, NotCertified, NotEvaluable
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.measures import ModelFrame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.claim import Role

if TYPE_CHECKING:
    from pytest_tutoreval.inference import Contrast, CrossedFit, TwoStage

__all__ = [
    "REGISTERED_CONTRASTS",
    "REGISTERED_SLOPES",
    "Replicates",
    "Subject",
    "change_notes",
    "compare",
    "contrast_part",
    "fit_frame",
    "fit_parts",
    "leakage_mean_parts",
    "mean_part",
    "outcome_words",
    "same_outcome",
    "significance",
    "slope_part",
    "two_stage_of",
    "two_stage_part",
]

# Sign of conv - ped, and of the leakage slope, that was registered (definitions, section 9).
REGISTERED_CONTRASTS: Mapping[str, int] = {"leakage": 1, "helpfulness": 1, "independence": -1}
REGISTERED_SLOPES: Mapping[str, int] = {"helpfulness": 1, "next_turn_independence": -1}

# A session measure by replicate; None where it is undefined.
Replicates = Mapping[int, float | None]

_ERRORS = "se is from the expected information (as lme4), se_observed from the observed Hessian (as the study printed)"


@dataclass(frozen=True)
class Subject:
    """An analysis's name and role, with the instrument, base and judge its rows are about."""

    analysis: str
    role: Role
    instrument: Instrument
    base: str
    judge: str | None = None

    @classmethod
    def of(cls, analysis: str, role: Role, given: AnalysisInput) -> "Subject":
        """Return the subject of an analysis that is run once a base, or once a base and judge."""
        if given.base is None:
            raise ValueError("base = None; this analysis is run once a base, so name one.")
        return cls(analysis, role, given.measures.instrument, given.base, given.judge)

    @property
    def alpha(self) -> float:
        """The registered level."""
        return self.instrument.study.inference.alpha

    def row(self, measure: str, **fields: Any) -> AnalysisRow:
        """Return a row of this subject."""
        given = {"base": self.base, "judge": self.judge, **fields}
        return AnalysisRow(analysis=self.analysis, role=self.role, measure=measure, **given)

    def undecided(self, measure: str, reason: object, **fields: Any) -> AnalysisRow:
        """Return a row that keeps its place with the reason why it has no numbers."""
        return self.row(measure, **fields | {"notes": (*fields.get("notes", ()), f"not evaluable: {reason}")})

    def mean_row(self, measure: str, values: Replicates, **fields: Any) -> AnalysisRow:
        """Return a mean over sessions with its percentile interval; the median, minimum, maximum and sum as parts."""
        from pytest_tutoreval.inference import percentile_interval

        # The interval draws from the sessions in this order.
        given = [values[replicate] for replicate in sorted(values)]
        known = [value for value in given if value is not None]
        counts = {"n": len(known), "n_dropped": len(given) - len(known)}
        if not known:
            return self.undecided(measure, "undefined in every session", **counts | fields)
        interval = percentile_interval(known, rng=self.rng(), draws=self.instrument.study.inference.bootstrap_draws)
        parts = (
            AnalysisPart(name="median", estimate=median(known)),
            AnalysisPart(name="min", estimate=min(known)),
            AnalysisPart(name="max", estimate=max(known)),
            AnalysisPart(name="sum", estimate=math.fsum(known)),
        )
        return self.row(
            measure,
            estimate=math.fsum(known) / len(known),
            ci_low=interval.low,
            ci_high=interval.high,
            components=parts,
            **counts | fields,
        )

    def contrast_row(
        self,
        measure: str,
        first: Replicates,
        second: Replicates,
        *,
        names: tuple[str, str] = ("conv", "ped"),
        components: Iterable[AnalysisPart] = (),
        **fields: Any,
    ) -> AnalysisRow:
        """Return first - second over the registered replicates: mean, test, interval, effect and its parts.

        Parts: each arm's mean, the median difference, the pairs above, below and at zero, the test's W, and its p on
        differences rounded to 12 decimals. Undefined pairs are dropped and counted.
        """
        contrast = compare(self.instrument, first, second)
        differences = _differences(first, second)
        parts = (
            AnalysisPart(name=names[0], estimate=contrast.conv_mean, n=contrast.n_pairs),
            AnalysisPart(name=names[1], estimate=contrast.ped_mean, n=contrast.n_pairs),
            AnalysisPart(name="median", estimate=median(differences)),
            AnalysisPart(name="above", n=sum(difference > 0 for difference in differences)),
            AnalysisPart(name="below", n=sum(difference < 0 for difference in differences)),
            AnalysisPart(name="equal", n=contrast.n_zero),
            AnalysisPart(name="signed_rank", estimate=contrast.statistic, p_value=contrast.p_value),
            AnalysisPart(name="rounded", p_value=contrast.p_value_rounded),
        )
        return self.row(
            measure,
            estimate=contrast.value,
            ci_low=contrast.ci_low,
            ci_high=contrast.ci_high,
            p_value=contrast.p_value,
            cliffs_delta=contrast.cliffs_delta,
            n=contrast.n_pairs,
            n_dropped=contrast.n_dropped,
            components=(*parts, *components),
            **fields,
        )

    def rng(self) -> Any:
        """Return the registered generator, made anew: each interval has its own."""
        import numpy as np

        return np.random.default_rng(self.instrument.study.inference.bootstrap_seed)


# contrasts


def compare(instrument: Instrument, first: Replicates, second: Replicates) -> "Contrast":
    """Return the paired contrast first - second over the registered replicates.

    Raises
    ------
    NotEvaluable
        No pair has both values.
    """
    import numpy as np

    from pytest_tutoreval.inference import paired_contrast

    inference = instrument.study.inference
    arms = [
        [math.nan if (value := values.get(replicate)) is None else value for replicate in replicates]
        for replicates in (list(instrument.study.registered_replicates()),)
        for values in (first, second)
    ]
    try:
        return paired_contrast(
            np.array(arms[0], dtype=float),
            np.array(arms[1], dtype=float),
            rng=np.random.default_rng(inference.bootstrap_seed),
            draws=inference.bootstrap_draws,
        )
    except DegenerateData as exc:
        raise NotEvaluable(f"{exc.kind}: no replicate has both values") from exc


def _differences(first: Replicates, second: Replicates) -> list[float]:
    pairs = [(first[replicate], second[replicate]) for replicate in first.keys() & second.keys()]
    return [one - other for one, other in pairs if one is not None and other is not None]


def mean_part(name: str, values: Iterable[float]) -> AnalysisPart:
    """Return a mean over turns as a part: None over no turn."""
    known = list(values)
    return AnalysisPart(name=name, estimate=math.fsum(known) / len(known) if known else None, n=len(known))


def contrast_part(name: str, contrast: "Contrast") -> AnalysisPart:
    """Return a contrast as a part beside another one."""
    return AnalysisPart(
        name=name,
        estimate=contrast.value,
        ci_low=contrast.ci_low,
        ci_high=contrast.ci_high,
        p_value=contrast.p_value,
        cliffs_delta=contrast.cliffs_delta,
        n=contrast.n_pairs,
        n_dropped=contrast.n_dropped,
    )


def leakage_mean_parts(frame: ModelFrame) -> tuple[AnalysisPart, AnalysisPart]:
    """Return the mean outcome of leaky and of non-leaky turns, pooled."""
    turns = list(zip(frame.outcome, frame.leakage, strict=True))
    return (
        mean_part("leaky", (value for value, leaky in turns if leaky)),
        mean_part("non_leaky", (value for value, leaky in turns if not leaky)),
    )


# outcomes


def significance(estimate: float | None, p_value: float | None, alpha: float) -> int:
    """Return the sign of a significant estimate, or 0: p strictly below alpha."""
    if estimate is None or p_value is None or not p_value < alpha:
        return 0
    return (estimate > 0) - (estimate < 0)


def outcome_words(estimate: float, p_value: float, alpha: float) -> str:
    """Return an estimate with its p and what its test says."""
    said = {1: "significantly positive", -1: "significantly negative", 0: "not significant"}
    return f"{estimate:+.3f} (p {p_value:.2g}), {said[significance(estimate, p_value, alpha)]}"


def same_outcome(first: tuple[float, float], second: tuple[float, float], alpha: float) -> str | None:
    """Return how two results (estimate, p) differ in what they say, or None: first significance, then sign."""
    one, other = (significance(estimate, p_value, alpha) for estimate, p_value in (first, second))
    if one != other:
        return "reversed" if one * other < 0 else "differ in significance"
    return "differ in sign" if first[0] * second[0] < 0 else None


def change_notes(
    before: tuple[str, AnalysisPart], after: tuple[str, AnalysisRow], alpha: float
) -> tuple[AnalysisPart, tuple[str, ...]]:
    """Return whether what a test says changes (part `changed`, n 1 or 0), and both results in words where it does."""
    (old, first), (new, second) = before, after
    if None in (first.estimate, first.p_value, second.estimate, second.p_value):
        return AnalysisPart(name="changed"), (f"{old} and {new} cannot be compared: one has no number",)
    one, other = ((given.estimate or 0.0, 1.0 if given.p_value is None else given.p_value) for given in (first, second))
    how = same_outcome(one, other, alpha)
    if how is None:
        return AnalysisPart(name="changed", n=0), (f"significance and sign are those of the {old}",)
    said = f"{old} and {new} {'are ' if how == 'reversed' else ''}{how}"
    return (
        AnalysisPart(name="changed", n=1),
        (f"{said}: {old} {outcome_words(*one, alpha)}; {new} {outcome_words(*other, alpha)}",),
    )


# models


def fit_frame(frame: ModelFrame, *, adjusted: bool) -> "CrossedFit":
    """Return the certified fit of model (2), or of model (1) where it is not adjusted for the policy.

    Raises
    ------
    NotEvaluable
        The model is not defined on these rows, or its maximum could not be certified.
    """
    from pytest_tutoreval.inference import fit_crossed

    columns = {"leakage": frame.leakage} | ({"policy": frame.policy} if adjusted else {})
    try:
        return fit_crossed(frame.outcome, columns, {"replicate": frame.replicate, "problem": frame.problem})
    except DegenerateData as exc:
        raise NotEvaluable(f"{exc.kind}: {exc}") from exc
    except NotCertified as exc:
        raise NotEvaluable(str(exc)) from exc


def fit_parts(fit: "CrossedFit") -> tuple[tuple[AnalysisPart, ...], tuple[str, ...]]:
    """Return a fit's parts (coefficients with both errors, variances, log-likelihood) and its notes.

    `observed_hessian` is the leakage slope tested with the standard error the study printed.
    """
    names = [name for name in fit.coefficients if name != "(Intercept)"]
    parts = [slope_part(name, fit, name) for name in names]
    slope = fit.coefficients["leakage"]
    if slope.se_observed is not None:
        parts.append(_observed(slope.estimate, slope.se_observed))
    parts += [AnalysisPart(name=f"variance_{group}", estimate=value) for group, value in fit.variances.items()]
    parts.append(AnalysisPart(name="variance_residual", estimate=fit.residual_variance))
    parts.append(AnalysisPart(name="log_likelihood", estimate=fit.log_likelihood))
    zero = [name for name, theta in fit.theta.items() if theta < 1e-4]
    notes = [_ERRORS]
    if fit.singular:
        notes.append(f"the fit lies on the boundary: {' and '.join(zero)} variance at zero")
    return tuple(parts), tuple(notes)


def slope_part(name: str, fit: "CrossedFit", column: str = "leakage") -> AnalysisPart:
    """Return a coefficient of a fit as a part."""
    test = fit.coefficients[column]
    return AnalysisPart(
        name=name,
        estimate=test.estimate,
        ci_low=test.ci_low,
        ci_high=test.ci_high,
        p_value=test.p_value,
        se=test.se,
        se_observed=test.se_observed,
        n=fit.n,
    )


def _observed(estimate: float, se: float) -> AnalysisPart:
    half = 1.959963984540054 * se
    return AnalysisPart(
        name="observed_hessian",
        estimate=estimate,
        ci_low=estimate - half,
        ci_high=estimate + half,
        p_value=math.erfc(abs(estimate / se) / math.sqrt(2.0)),
        se=se,
        se_observed=se,
    )


def two_stage_part(frame: ModelFrame, subject: Subject) -> tuple[AnalysisPart, ...]:
    """Return the two-stage comparison as a part, or none where it is not defined."""
    try:
        found = two_stage_of(frame, subject)
    except NotEvaluable:
        return ()
    part = AnalysisPart(
        name="two_stage",
        estimate=found.value,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
        p_value=found.p_value,
        n=found.n_used,
        n_dropped=found.n_skipped,
    )
    return (part,)


def two_stage_of(frame: ModelFrame, subject: Subject) -> "TwoStage":
    """Return the two-stage comparison of a frame's turns. Raises NotEvaluable."""
    from pytest_tutoreval.inference import two_stage

    try:
        return two_stage(
            frame.outcome,
            [flag > 0 for flag in frame.leakage],
            [int(label.removeprefix("r")) for label in frame.replicate],
            rng=subject.rng(),
            draws=subject.instrument.study.inference.bootstrap_draws,
        )
    except (DegenerateData, ValueError) as exc:
        raise NotEvaluable(str(exc)) from exc
