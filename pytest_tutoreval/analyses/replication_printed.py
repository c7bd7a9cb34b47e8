"""The numbers the study printed, value by value, and what it means that one of ours prints as one of them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pytest_tutoreval.resources import data_folder

__all__ = ["Digits", "Printed", "PublishedEntry", "published_entries"]

# Fields that say what an entry is about. Every other field is a value, and none of them may vanish.
_ABOUT = frozenset(
    {
        *("id", "where", "claim", "base", "judge", "measure", "statistic", "model", "unit", "note"),
        *("derived", "descriptive"),
    }
)
# A list in the file is an interval.
_ENDS = ("low", "high")
# A double is not exactly the decimal it was read from; a tie that close to half a unit prints either way.
_DUST = Decimal("1e-9")
_SMALL_P = Decimal("0.001")


@dataclass(frozen=True)
class Printed:
    """A value as it stands in the file: `raw` keeps its digits, or is None where nothing is printed."""

    path: str
    raw: Decimal | int | str | None

    @property
    def text(self) -> str:
        """The value in the file's digits; `-` where nothing is printed."""
        if isinstance(self.raw, Decimal) and 0 < abs(self.raw) < _SMALL_P:
            return f"{self.raw:e}"
        return "-" if self.raw is None else str(self.raw)


@dataclass(frozen=True)
class PublishedEntry:
    """An entry of the file. `note` is what the study says beside the numbers."""

    id: str
    where: str
    note: str | None
    values: tuple[Printed, ...]


@dataclass(frozen=True)
class Digits:
    """How finely a value is compared: as printed.

    JSON drops trailing zeros, so -1.240 stands there as -1.24. `places` says how many decimals its table prints, and
    `is_p` that it is a p-value: at least two significant digits below .001, at least three decimals above.
    """

    places: int | None = None
    is_p: bool = False

    def agree(self, ours: float | str, printed: Printed) -> bool:
        """Return whether our number, rounded to the printed digits, is the printed one; words and counts are equal."""
        raw = printed.raw
        if isinstance(raw, Decimal) and not isinstance(ours, str):
            unit = self._unit(raw)
            return abs(Decimal(ours) - raw) <= unit / 2 * (1 + _DUST)
        return raw is not None and not isinstance(ours, bool) and ours == raw

    def _unit(self, raw: Decimal) -> Decimal:
        """Return the unit of the last digit that counts."""
        exponent = raw.as_tuple().exponent
        assert isinstance(exponent, int)
        finest = [exponent]
        if self.places is not None:
            finest.append(-self.places)
        if self.is_p:
            finest.append(raw.adjusted() - 1 if 0 < raw < _SMALL_P else -3)
        return Decimal(1).scaleb(min(finest))


def published_entries(data: str | None = None) -> tuple[PublishedEntry, ...]:
    """Return the entries of the file's text, or of the one that comes with the package, in its order.

    Raises
    ------
    ValueError
        Two entries share an id: one of them would vanish.
    """
    if data is None:
        data = (data_folder("reports/reference") / "published.json").read_text(encoding="utf-8")
    entries = tuple(_entry(fields) for fields in json.loads(data, parse_float=Decimal)["entries"])
    ids = [entry.id for entry in entries]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise ValueError(f"published.json: {', '.join(twice)} stands there twice; an id names one entry.")
    return entries


def _entry(fields: Mapping[str, Any]) -> PublishedEntry:
    values = tuple(_values({name: value for name, value in fields.items() if name not in _ABOUT}, ""))
    return PublishedEntry(fields["id"], fields["where"], fields.get("note"), values)


def _values(value: Any, path: str) -> Iterator[Printed]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _values(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for name, inner in zip(_ENDS, value, strict=True):
            yield from _values(inner, f"{path}.{name}")
    else:
        yield Printed(path, value)
