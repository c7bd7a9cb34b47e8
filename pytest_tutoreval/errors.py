"""What can go wrong, as one tree.

TutorEvalError
├── ResourceMissing          a data folder of the package is not where it should be
├── InstrumentError          the frozen instrument
│   ├── TamperedInstrument   a file is not the one that was frozen
│   ├── ConstraintViolated   one of the four frozen constraints does not hold
│   └── StudyChanged         a user's study is not the one that was locked
├── ClaimFileError           a claim file says something impossible; lists every problem at once
├── RegistrationMismatch     a test states another registration than the claim file it is decided under
├── CorpusError              a folder of sessions and ratings
│   ├── ForeignInstrument    stamped with another instrument digest
│   ├── BrokenSession        a session file that cannot be read as one finished episode
│   ├── BrokenRatings        a rating file that cannot be read
│   └── BrokenTable          an imported table that cannot be read
├── ImportFailure            a foreign format that could not be turned into a corpus
├── BrokenDocument           a verdicts.json that cannot be read, or is of another format
├── ConfigurationProblem     a study or study file asks for what cannot be run
├── ExtensionError           a package that registers something cannot be loaded, or registers what it may not
├── BaselineError            a baseline that cannot be read, is not comparable, or may not be written
├── GateFailed               a preflight gate failed, so no session is paid for
├── ReplayMiss               a recorded run was asked something it was not asked before
├── BlindingBroken           a judge's request holds more than it may; nothing was sent
├── ProtocolError            an agent or caller stepped outside the session protocol
├── NotEvaluable             a claim cannot be decided from this corpus; an error, never a verdict
│   └── NotInCorpus          an analysis is about something this kind of corpus does not have at all
└── StatisticsError
    ├── UnpairedError        two arms that cannot be paired
    ├── DegenerateData       data on which the model is not defined (named in `kind`)
    └── NotCertified         a fit whose optimum could not be certified

Every message says where, what was found, what was expected and what to do next.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

__all__ = [
    "BaselineError",
    "BlindingBroken",
    "BrokenDocument",
    "BrokenRatings",
    "BrokenSession",
    "BrokenTable",
    "ClaimFileError",
    "ConfigurationProblem",
    "ConstraintViolated",
    "CorpusError",
    "DegenerateData",
    "ExtensionError",
    "ForeignInstrument",
    "GateFailed",
    "ImportFailure",
    "InstrumentError",
    "NotCertified",
    "NotEvaluable",
    "NotInCorpus",
    "ProtocolError",
    "RegistrationMismatch",
    "ReplayMiss",
    "ResourceMissing",
    "StatisticsError",
    "StudyChanged",
    "TamperedInstrument",
    "TutorEvalError",
    "UnpairedError",
    "did_you_mean",
]


def did_you_mean(found: object, known: Iterable[str]) -> str:
    """Return the hint an error about an unknown name ends in, with a space before it; nothing where none is near."""
    near = get_close_matches(str(found), list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class TutorEvalError(Exception):
    """Root of every error this package raises on purpose."""


class ResourceMissing(TutorEvalError):
    """A data folder (instrument, fixtures, reference) is neither in the wheel nor beside the package."""


class InstrumentError(TutorEvalError):
    """The frozen instrument cannot be used."""


class TamperedInstrument(InstrumentError):
    """A frozen file is missing, unlisted, or differs from its recorded digest.

    Attributes
    ----------
    path : the file
    expected, found : sha256 hex digests; None where the file is absent on that side
    """

    def __init__(self, message: str, *, path: Path, expected: str | None, found: str | None) -> None:
        super().__init__(message)
        self.path, self.expected, self.found = path, expected, found


class ConstraintViolated(InstrumentError):
    """A frozen constraint of the problem set (definitions, section 2) does not hold."""


class StudyChanged(InstrumentError):
    """A user's study is not the one that was locked; `names` are the files that differ, as the lock calls them."""

    def __init__(self, message: str, *, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.names = names


class ClaimFileError(TutorEvalError):
    """A claim file cannot be used; `problems` lists everything wrong with it."""

    def __init__(self, path: Path | str, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        super().__init__("\n".join(f"{path}: {problem}" for problem in problems))


class RegistrationMismatch(TutorEvalError):
    """A test states a registration that differs from the claim file."""


class CorpusError(TutorEvalError):
    """A corpus cannot be used."""


class ForeignInstrument(CorpusError):
    """Data stamped with another instrument digest: never mixed with this one's."""


class _FileError(CorpusError):
    def __init__(self, path: Path | str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path}: {problem}")


class BrokenSession(_FileError):
    """A session file cannot be read as one finished episode."""


class BrokenRatings(_FileError):
    """A rating file cannot be read."""


class BrokenTable(_FileError):
    """A table of an imported corpus cannot be read."""


class ImportFailure(TutorEvalError):
    """A foreign folder could not be turned into a corpus."""


class BrokenDocument(TutorEvalError):
    """A verdicts.json cannot be read, or is of a format this version does not know."""

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path}: {problem}")


class ConfigurationProblem(TutorEvalError):
    """A study or study file asks for what cannot be run; found before anything is sent."""


class ExtensionError(TutorEvalError):
    """A package, or a plugin of pytest's, that registers something cannot be loaded, or registers what it may not."""


class BaselineError(TutorEvalError):
    """A baseline cannot be read, belongs to other data than these, or may not be written from this run."""


class GateFailed(TutorEvalError):
    """The last preflight failed a blocking gate; a registered run does not begin."""


class ReplayMiss(TutorEvalError):
    """A replayed corpus holds no answer to exactly this request."""


class BlindingBroken(TutorEvalError):
    """A judge's request holds more than the rubric and what was visibly said; it was not sent."""


class ProtocolError(TutorEvalError):
    """An agent or a caller stepped outside the session protocol."""


class NotEvaluable(TutorEvalError):
    """The claim cannot be decided from this corpus, with the reason; never a verdict."""


class NotInCorpus(NotEvaluable):
    """An analysis is about what this kind of corpus does not have at all: text, ablations, a second judge."""


class StatisticsError(TutorEvalError):
    """A statistic is not defined on the data given."""


class UnpairedError(StatisticsError):
    """The two arms of a paired contrast do not have one value each per replicate."""


class DegenerateData(StatisticsError):
    """The model is not defined on these data; `kind` names how."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class NotCertified(StatisticsError):
    """No optimiser run reached a point that passes the optimality check."""
