"""Claim files: read, checked, every problem named at once."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_tutoreval.errors import ClaimFileError, ExtensionError, did_you_mean
from pytest_tutoreval.measures import TURN_OUTCOMES, is_judged, known_measures
from pytest_tutoreval.records.base import Record
from pytest_tutoreval.records.claim import (
    Claim,
    CouplingClaim,
    JointClaim,
    ManyToOneClaim,
    PairedClaim,
    claim_adapter,
)
from pytest_tutoreval.registering import add_entry
from pytest_tutoreval.resources import data_folder

__all__ = [
    "PACKAGE_CLAIMS",
    "bundled_claims",
    "find_claim",
    "known_claims",
    "read_claim",
    "read_claims",
    "register_claims",
    "registered_claims",
]

# Claims that packages bring, by id: beside the study's, never in place of one.
PACKAGE_CLAIMS: dict[str, Claim] = {}

# Report order: the study's own claims first, in its order, then a user's by name.
STUDY_ORDER = ("P1", "P2", "P3", "J1", "J2")

_FORMS: Mapping[str, type[Record]] = {
    "paired_contrast": PairedClaim,
    "many_to_one": ManyToOneClaim,
    "leakage_coupling": CouplingClaim,
    "joint": JointClaim,
}


def read_claim(path: Path) -> Claim:
    """Return the claim in a file.

    Raises
    ------
    ClaimFileError
        Everything wrong with the file, a line each: unknown fields and measures, impossible directions, a claim that
        says it is judge-free and rests on a judge.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ClaimFileError(path, [f"cannot be read as TOML: {exc}"]) from exc
    problems = [*_unknown_names(fields), *_judge_binding(fields)]
    if "id" in fields and fields["id"] != path.stem:
        problems.append(f"id = {fields['id']!r}, the file is named {path.stem!r}; give both one name")
    try:
        claim = claim_adapter.validate_python(fields)
    except ValidationError as exc:
        raise ClaimFileError(path, [*problems, *_invalid_fields(exc)]) from exc
    if problems:
        raise ClaimFileError(path, problems)
    return claim


def _unknown_names(fields: Mapping[str, Any]) -> list[str]:
    problems = []
    if "measure" in fields and fields["measure"] not in known_measures():
        problems.append(_unknown("measure", fields["measure"], "measure", known_measures()))
    for leg in _legs(fields):
        if "outcome" in leg and leg["outcome"] not in list(TURN_OUTCOMES):
            problems.append(_unknown("outcome", leg["outcome"], "turn-level outcome", TURN_OUTCOMES))
    return problems


def _legs(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    legs = fields.get("legs")
    return [leg for leg in legs if isinstance(leg, dict)] if isinstance(legs, list) else []


def _unknown(field: str, found: object, what: str, known: Iterable[str]) -> str:
    return f"{field} = {found!r} is not a known {what}. Known: {', '.join(sorted(known))}.{did_you_mean(found, known)}"


def _judge_binding(fields: Mapping[str, Any]) -> list[str]:
    """Return a line where `judge_bound` contradicts what the claim rests on; joint claims are checked as a set."""
    names = [fields.get("measure"), *(leg.get("outcome") for leg in _legs(fields))]
    known = [name for name in names if isinstance(name, str) and (name in known_measures() or name in TURN_OUTCOMES)]
    judged = any(is_judged(name) for name in known)
    if not known or fields.get("judge_bound") is judged or not isinstance(fields.get("judge_bound"), bool):
        return []
    rests = "rests on a judge's ratings" if judged else "rests on no judge"
    return [f"judge_bound = {str(fields['judge_bound']).lower()}, but {', '.join(known)} {rests}"]


def _invalid_fields(error: ValidationError) -> list[str]:
    problems = []
    for problem in error.errors(include_url=False, include_context=False):
        form, *path = problem["loc"] or ("",)
        where = ".".join(map(str, path if form in _FORMS else problem["loc"]))
        if problem["type"] == "missing":
            problems.append(f"{where}: missing; every claim of this form states it")
        elif problem["type"] == "too_short" and problem["input"]:
            continue  # its items are there, and what is wrong with them is named one by one
        elif problem["type"] == "value_error":  # our own words, which go on from what was found
            problems.append(f"{where} = {problem['input']!r} {problem['msg'].removeprefix('Value error, ')}")
        elif problem["type"] == "extra_forbidden" and len(path) == 1:
            hint = did_you_mean(where, _FORMS[str(form)].model_fields)
            problems.append(f"{where}: {problem['msg']} (found {problem['input']!r:.60}){hint and '.' + hint}")
        else:
            problems.append(f"{where or 'claim'}: {problem['msg']} (found {problem['input']!r:.60})")
    return problems


def read_claims(folder: Path) -> dict[str, Claim]:
    """Return the claims of a folder by id, in report order; a joint claim's members must be among them."""
    claims: dict[str, Claim] = {}
    broken: list[ClaimFileError] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            claims[path.stem] = read_claim(path)
        except ClaimFileError as exc:
            broken.append(exc)
    if len(broken) == 1:
        raise broken[0]
    if broken:
        named = [f"{Path(error.path).name}: {problem}" for error in broken for problem in error.problems]
        raise ClaimFileError(folder, named)
    ordered = sorted(
        claims, key=lambda name: (STUDY_ORDER.index(name) if name in STUDY_ORDER else len(STUDY_ORDER), name)
    )
    return {name: claims[name] for name in ordered}


@lru_cache(maxsize=1)
def bundled_claims() -> Mapping[str, Claim]:
    """Return the registered claims of the bundled instrument."""
    return read_claims(data_folder("instrument") / "claims")


def registered_claims() -> Mapping[str, Claim]:
    """Return the registered claims of the bundled instrument, then those of packages."""
    return {**bundled_claims(), **PACKAGE_CLAIMS}


def register_claims(folder: Path, *, by: str) -> Mapping[str, Callable[[], None]]:
    """Add the claims of a package's folder, and return by id how each is taken out again.

    Raises
    ------
    ExtensionError
        There is no such folder, or no claim in it; a claim file is wrong, or its id is taken. Nothing was added then.
    """
    if not isinstance(folder, Path) or not folder.is_dir():
        raise ExtensionError(f"{by}: claims {str(folder)!r:.200} is no folder; give the Path of one with claim files")
    try:
        found = read_claims(folder)
    except ClaimFileError as exc:
        raise ExtensionError(f"{by}: {exc}") from exc
    if not found:
        raise ExtensionError(f"{by}: {folder} holds no claim file; expected CLAIM.toml")
    added: dict[str, Callable[[], None]] = {}
    try:
        for name, claim in found.items():
            added[name] = add_entry(PACKAGE_CLAIMS, "claim", name, claim, bundled_claims(), by=by)
    except ExtensionError:
        for take_out in added.values():
            take_out()
        raise
    return added


def known_claims(*folders: Path | None) -> dict[str, Claim]:
    """Return the registered claims, then a user's own in these folders; a folder that is not there holds none.

    Raises
    ------
    ClaimFileError
        A claim file is wrong, or its id is registered already.
    """
    known = dict(registered_claims())
    for folder in _own_folders(*folders):
        clash = sorted(path.stem for path in folder.glob("*.toml") if path.stem in known)
        if clash:
            raise ClaimFileError(
                folder, [f"{word}.toml: this id is registered already; choose another" for word in clash]
            )
        known |= read_claims(folder)
    return known


def find_claim(name: str, beside: Path, study: Path | None = None) -> tuple[Claim, Mapping[str, Claim]]:
    """Return a claim and the claims it may refer to: a user's own, `NAME.toml`, or a registered one.

    A user's own stand in `claims/` beside a test file, and in `study`, the claims folder a study file names.

    Raises
    ------
    ClaimFileError
        No place has it, or a joint claim names a member that does not exist or contradicts its judge binding.
    """
    known = known_claims(beside / "claims", study)
    own = study or beside / "claims"
    if name not in known:
        raise ClaimFileError(
            own / f"{name}.toml", [f"no such claim file, and no registered claim {name!r}. Known: {', '.join(known)}."]
        )
    claim = known[name]
    if claim.form == "joint":
        problems = [_unknown("all_of", member, "claim", known) for member in claim.all_of if member not in known]
        members = [known[member] for member in claim.all_of if member in known]
        judged = any(member.judge_bound for member in members)
        if not problems and claim.judge_bound is not judged:
            problems.append(f"judge_bound = {str(claim.judge_bound).lower()}, its members say {str(judged).lower()}")
        if any(member.form == "joint" for member in members):
            problems.append("all_of: a joint claim cannot have a joint claim as member")
        if problems:
            raise ClaimFileError(f"{name}.toml", problems)
    return claim, known


def _own_folders(*folders: Path | None) -> list[Path]:
    """Return those that are there, once each, without the bundled claims' own folder."""
    bundled = (data_folder("instrument") / "claims").resolve()
    there = {folder.resolve(): folder for folder in folders if folder is not None and folder.is_dir()}
    return [folder for place, folder in there.items() if place != bundled]
