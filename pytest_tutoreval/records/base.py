"""What every record on disk has in common."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

__all__ = ["Name", "Record", "Sha256"]

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

# Names become folder names, pytest ids and marks.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]


class Record(BaseModel):
    """A frozen record; an unknown field is an error, a non-finite float never gets in or out."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def compact(self) -> dict[str, Any]:
        """Return the JSON-ready fields that differ from their defaults: what a line on disk holds."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)
