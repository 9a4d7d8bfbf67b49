"""Rubrics: what a judge is asked. Each is a file of the folder `rubrics`, known by its hash.

A new rubric is a new file there and nothing else: `config.evaluation` takes the names from it.
Rubrics of somebody's own are files beside the config, or `module:NAME`.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import Field

from rag_assets.api import CustomRubric
from rag_assets.config import ConfigError, RubricName
from rag_assets.config.base import Section
from rag_assets.config.custom import is_custom, part_of
from rag_assets.config.evaluation import RUBRICS, rubric_label
from rag_assets.identity import fingerprint
from rag_assets.models.language.prompts import Prompt, read_prompt
from rag_assets.questions.judging.verdicts import ItemKind, JudgedItem
from rag_assets.workers import Json

PACKAGE = "rag_assets.questions.judging"
EVIDENCE_CHARACTERS = 200
"""Most that a judge writes before it gives a score."""
EVIDENCE: Json = {"type": "string", "maxLength": EVIDENCE_CHARACTERS}
TOKENS = 60
"""The tokens of a reply beside its dimensions."""
DIMENSION_TOKENS = 100
"""The tokens of a dimension in a reply: its evidence, its score and its name."""
OVERALL = "overall"
"""The dimension that is computed: the weighted sum of the others."""


class Dimension(Section):
    """One thing that is scored."""

    asks: str
    weight: float | None = Field(None, description="in the sum of all; null where there is none")


class Rubric(Section):
    """What a judge is asked of one kind of thing, as its file says it."""

    name: str
    about: str
    paper: str | None = Field(None, description="where it comes from, and which tables need it")
    kind: ItemKind
    parts: tuple[str, ...] = Field(description="texts of the item that are shown, in this order")
    optional: tuple[str, ...] = Field((), description="those of them that may be missing")
    scale: tuple[int, int] = Field(description="lowest and highest score")
    words: tuple[str, ...] = Field((), description="what is answered instead of scores, from 0")
    task: str
    dimensions: dict[str, Dimension]

    @property
    def is_ranking(self) -> bool:
        """Whether several answers are ranked, not one scored."""
        return self.kind == "pair"

    @property
    def prompt(self) -> Prompt:
        """What stands around the words of the rubric."""
        form: Literal["ranking", "scores"] = "ranking" if self.is_ranking else "scores"
        return read_prompt(PACKAGE, form)

    @property
    def system(self) -> str:
        """The first message that a judge is sent."""
        names = " or ".join(self.words) or "{} to {}".format(*self.scale)
        scale = "" if self.is_ranking else f" ({names})"
        lines = (f"- {name}{scale}: {each.asks}" for name, each in self.dimensions.items())
        return self.prompt.filled(task=self.task, dimensions="\n".join(lines))

    @property
    def hash(self) -> str:
        """SHA-256 of all of it, the prompt included."""
        return fingerprint(self.model_dump(mode="json"), self.prompt.hash)

    @property
    def tokens(self) -> int:
        """The tokens of a reply that keeps to its lengths."""
        return TOKENS + DIMENSION_TOKENS * len(self.dimensions)

    def applies_to(self, item: JudgedItem) -> bool:
        """Whether `item` is of its kind and has the texts that it shows."""
        needed = set(self.parts) - set(self.optional)
        return item.kind == self.kind and all(item.parts.get(name) for name in needed)

    def scale_of(self, dimension: str) -> tuple[float, float]:
        """Lowest and highest score of a dimension, the computed one included."""
        weights = sum(self.weights.values()) if dimension == OVERALL else 1.0
        return self.scale[0] * weights, self.scale[1] * weights

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of the dimensions that have one."""
        return {name: one.weight for name, one in self.dimensions.items() if one.weight is not None}

    def scores_schema(self) -> Mapping[str, Json]:
        """JSON schema of a reply: for each dimension first the evidence, then the score."""
        allowed: Json = [*self.words] or [*range(self.scale[0], self.scale[1] + 1)]
        score: Json = {"type": "string" if self.words else "integer", "enum": allowed}
        one = strict({"evidence": EVIDENCE, "score": score})
        return strict(dict.fromkeys(self.dimensions, one))

    def read_score(self, given: Json) -> float:
        """The score that a reply by the schema gives: a word by its place."""
        if isinstance(given, str):
            return float(self.words.index(given))
        assert isinstance(given, int | float), "it follows the schema"
        return float(given)


def ranking_schema(letters: str) -> Mapping[str, Json]:
    """JSON schema of a ranking: first the evidence, then the rank of each answer."""
    rank: Json = {"type": "integer", "enum": [*range(1, len(letters) + 1)]}
    return strict({"evidence": EVIDENCE, "ranks": strict(dict.fromkeys(letters, rank))})


def strict(properties: Mapping[str, Json]) -> dict[str, Json]:
    """The schema of an object with exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [*properties],
        "additionalProperties": False,
    }


@cache
def read_rubric(name: RubricName) -> Rubric:
    """The rubric of that name.

    Raises:
        ConfigError: It is of somebody's own, and cannot be read, or is no rubric.
    """
    try:
        if is_custom(name):
            part = part_of(name, CustomRubric)
            given = {key: getattr(part, key) for key in Rubric.model_fields if hasattr(part, key)}
        else:
            shipped = resources.files(PACKAGE) / "rubrics" / f"{name}.toml"
            file = shipped if name in RUBRICS else Path(name)
            given = tomllib.loads(file.read_text("utf-8"))
        return Rubric.model_validate({**given, "name": rubric_label(name)})
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the rubric {name} cannot be used: {error}; see docs/judges.md"
        ) from error
