"""The claims of a document, read into what a page shows of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from pytest_tutoreval.reporting.html.forest import Scale, forest_axis, forest_row, registered_sign, scale_around
from pytest_tutoreval.reporting.html.shown import Outcome, held, interval_of, numbers, outcome
from pytest_tutoreval.reporting.html.views import (
    Anchors,
    Card,
    ClaimSection,
    Grid,
    GridCell,
    Part,
    Plot,
    PlotRow,
    Registration,
    SmallPlot,
    TurnsLink,
)

__all__ = ["ReadClaims"]

Row = Mapping[str, Any]

_ARMS = ("conv", "ped")
_ARROWS = {1: "\N{RIGHTWARDS ARROW}", -1: "\N{LEFTWARDS ARROW}"}


class ReadClaims:
    """The claims of a document, read once. Keys a document of another version lacks are taken as not said."""

    def __init__(self, document: Row, anchors: Anchors, turns: TurnsLink) -> None:
        self._anchors, self._turns = anchors, turns
        self._rows: Sequence[Row] = document.get("claims", ())
        self._reasons: Sequence[Row] = document.get("not_evaluable", ())
        self._run: Row = document.get("run", {})
        self._registered = {row.get("claim", row.get("id")): row for row in document.get("registrations", ())}
        self._cells = {_place(row): row for row in self._rows}
        self._undecided = {_place(row) for row in self._reasons}
        self._scales: dict[tuple[str, str | None], Scale] = {}

    # the grid

    def grids(self) -> list[Grid]:
        """Return a grid a judge; judge-free claims stand in each."""
        every = [*self._rows, *self._reasons]
        judges: Sequence[str | None]
        judges = _in_order(self._run.get("judges", ()), (row["judge"] for row in every)) or [None]
        bases = _in_order(self._run.get("bases", ()), (row["base"] for row in every))
        names = list(dict.fromkeys(row["claim"] for row in every))
        return [
            Grid(judge, tuple(bases), tuple(self._grid_row(name, bases, judge) for name in names)) for judge in judges
        ]

    def _grid_row(self, claim: str, bases: Iterable[str], judge: str | None) -> tuple[str, str, tuple[GridCell, ...]]:
        decided = any(row["claim"] == claim for row in self._rows)
        href = f"#{self._anchors.of('claim', claim)}" if decided else "#not-evaluable"
        return claim, href, tuple(self._grid_cell(claim, base, judge) for base in bases)

    def _grid_cell(self, claim: str, base: str, judge: str | None) -> GridCell:
        for whose in (judge, None):
            if row := self._cells.get((claim, base, whose)):
                return GridCell(_outcome_of(row), f"#{self._anchor(row)}")
            if (claim, base, whose) in self._undecided:
                return GridCell(outcome("not_evaluable"), f"#{self._anchors.of('not evaluable', claim, base, whose)}")
        return GridCell(outcome("absent"), None)

    # sections

    def sections(self) -> list[ClaimSection]:
        """Return the claims in the document's order, with their cards."""
        return [self._section(name, list(rows)) for name, rows in _grouped(self._rows)]

    def _section(self, claim: str, rows: Sequence[Row]) -> ClaimSection:
        parts = rows[0].get("components", ())
        members = tuple(part["name"] for part in parts) if _is_joint(rows[0]) else ()
        return ClaimSection(
            anchor=self._anchors.of("claim", claim),
            claim=claim,
            registration=self._registration(rows[0]),
            plots=() if members else tuple(self._plots(claim, rows)),
            members=members,
            cards=tuple(map(self._card, rows)),
        )

    def _registration(self, row: Row) -> Registration:
        said = self._registered.get(row["claim"], {})
        return Registration(
            title=said.get("title"),
            rule=said.get("rule") or row["direction"],
            measure=said.get("measure"),
            arms=tuple(said.get("arms") or _ARMS),
            kind=(said.get("kind") or "").replace("_", " ") or None,
            evidence=said.get("evidence_visible"),
        )

    def _plots(self, claim: str, rows: Sequence[Row]) -> Iterator[Plot]:
        """Yield the overview of a claim: one plot, or one a part."""
        names = dict.fromkeys(part["name"] for row in rows for part in row.get("components", ()))
        for name in list(names) or [None]:
            found = [(row, part) for row in rows if (part := _part(row, name)) is not None]
            row, part = found[0]
            scale, sign, quantity = self._scale(claim, name), self._sign(row, part), self._quantity(row, part)
            yield Plot(
                name=name,
                quantity=quantity,
                registered=" ".join(filter(None, (part["direction"], _ARROWS.get(sign or 0)))),
                rows=tuple(self._plot_row(row, part, scale, sign) for row, part in found),
                axis=_axis(scale, sign, quantity),
            )

    def _plot_row(self, row: Row, part: Row, scale: Scale, sign: int | None) -> PlotRow:
        came_to = _outcome_of(row) if part is row else held(part)
        return PlotRow(
            base=row["base"],
            judge=row["judge"],
            outcome=came_to,
            drawn=_drawn(row, part, came_to, scale, sign),
            numbers=numbers(part),
            href=f"#{self._anchor(row)}",
            turns=self._turns_of(row),
        )

    def _card(self, row: Row) -> Card:
        parts = row.get("components", ())
        own = not parts
        return Card(
            anchor=self._anchor(row),
            claim=row["claim"],
            base=row["base"],
            judge=row["judge"],
            outcome=_outcome_of(row),
            direction=row["direction"],
            registration=self._registration(row),
            role=row["role"],
            status=row["status"],
            numbers=numbers(row) if own else None,
            plot=self._small_plot(row, row) if own else None,
            parts=tuple(self._component(row, part) for part in parts),
            notes=tuple(row.get("notes", ())),
            turns=self._turns_of(row),
        )

    def _component(self, row: Row, part: Row) -> Part:
        member = self._member(row, part)
        return Part(
            name=part["name"],
            outcome=held(part) if part.get("verdict") is None else _outcome_of(part),
            direction=part["direction"],
            numbers=numbers(part),
            plot=self._small_plot(row, part),
            href=f"#{self._anchor(member)}" if member else None,
        )

    def _member(self, row: Row, part: Row) -> Row | None:
        """Return the row of the claim a part is, judge-free where that claim is."""
        if part.get("verdict") is None:
            return None
        places = ((part["name"], row["base"], judge) for judge in (row["judge"], None))
        return next((self._cells[place] for place in places if place in self._cells), None)

    def _small_plot(self, row: Row, part: Row) -> SmallPlot:
        scale, sign = self._scale(row["claim"], part.get("name")), self._sign(row, part)
        came_to = _outcome_of(part) if part.get("verdict") else held(part)
        quantity = self._quantity(row, part)
        return SmallPlot(_drawn(row, part, came_to, scale, sign), _axis(scale, sign, quantity), quantity)

    # what rows share

    def _scale(self, claim: str, name: str | None) -> Scale:
        """Return the scale of a claim or of one of its parts: the same for every base and judge, overview and card."""
        key = (claim, name)
        if key not in self._scales:
            rows = [(row, part) for row in self._rows if row["claim"] == claim and (part := _part(row, name))]
            self._scales[key] = scale_around((interval_of(part) for _, part in rows), sign=self._sign(*rows[0]))
        return self._scales[key]

    def _sign(self, row: Row, part: Row) -> int | None:
        """Return the registered sign of a row, or of a part: of a candidate it is that of candidate - reference."""
        whose = part["name"] if _is_candidate(part) else self._measured(row, part).arms[0]
        return registered_sign(part["direction"], first=whose)

    def _quantity(self, row: Row, part: Row) -> str:
        """Return what a plot's numbers are."""
        if part["direction"] in ("positive", "negative"):
            return f"coefficient of leakage on {part['name'].replace('_', ' ')}"
        said = self._measured(row, part)
        arms = (part["name"], "reference") if _is_candidate(part) else said.arms
        return ", ".join(filter(None, (" \N{MINUS SIGN} ".join(arms), said.measure)))

    def _measured(self, row: Row, part: Row) -> Registration:
        """Return the registration that says what a row's or a part's numbers are: a member's own."""
        member = self._member(row, part) if part is not row else None
        return self._registration(member or row)

    def _turns_of(self, row: Row) -> str | None:
        """Return where the turns are that a row rests on: both arms of its base, the leaky ones for leakage."""
        keys: dict[str, object] = {"base": row["base"]}
        if row["judge"]:
            keys["judge"] = row["judge"]
        if self._registration(row).measure == "leakage":
            keys["filter"] = "leaky"
        return self._turns(**keys)

    def _anchor(self, row: Row) -> str:
        return self._anchors.of(*_place(row))


def _place(row: Row) -> tuple[str, str, str | None]:
    return row["claim"], row["base"], row["judge"]


def _part(row: Row, leg: str | None) -> Row | None:
    """Return a named part of a row, or the row itself."""
    if leg is None:
        return row
    return next((part for part in row.get("components", ()) if part["name"] == leg), None)


def _is_candidate(part: Row) -> bool:
    """Return whether a part is one of several candidates that a claim holds against one reference."""
    return " > " in part["direction"] and "name" in part and part.get("verdict") is None


def _is_joint(row: Row) -> bool:
    return any(part.get("verdict") is not None for part in row.get("components", ()))


def _outcome_of(row: Row) -> Outcome:
    return outcome(row["verdict"], reversed_=bool(row.get("reversed")))


def _in_order(known: Iterable[str], found: Iterable[str | None]) -> list[str]:
    """Return the names that occur, those that are known first and in their order."""
    occurring = dict.fromkeys(name for name in found if name)
    return [*(name for name in known if name in occurring), *(name for name in occurring if name not in set(known))]


def _grouped(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for name in dict.fromkeys(row["claim"] for row in rows):
        yield name, [row for row in rows if row["claim"] == name]


def _drawn(row: Row, part: Row, came_to: Outcome, scale: Scale, sign: int | None) -> Markup:
    shown = numbers(part)
    names = ", ".join(filter(None, (row["claim"], part.get("name"), row["base"], row["judge"])))
    return forest_row(
        scale,
        interval_of(part),
        title=f"{names}: {shown.estimate}, 95 % interval {shown.interval}",
        described=f"{came_to.word}; registered: {part['direction']}",
        mark=came_to.kind,
        sign=sign,
    )


def _axis(scale: Scale, sign: int | None, quantity: str) -> Markup:
    side = {1: "right of zero", -1: "left of zero"}.get(sign or 0, "on no one side")
    return forest_axis(
        scale,
        title=f"Scale: {quantity}",
        described=f"from {scale.low:g} to {scale.high:g}; the registered direction lies {side}",
        sign=sign,
    )
