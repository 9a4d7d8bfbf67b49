"""What all sections of the file have in common."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

SLUG = r"^[a-z0-9]+([_-][a-z0-9]+)*$"
"""Never two underscores: `__` parts the names inside a table's name, and a variable's levels."""
Slug: TypeAlias = Annotated[str, Field(pattern=SLUG)]


class Section(BaseModel):
    """A part of the file: unknown keys are errors, values do not change once loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
