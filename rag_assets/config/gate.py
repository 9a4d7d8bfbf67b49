"""The section `gate`: when an index may take the place of the one that serves."""

from typing import Annotated, TypeAlias

from pydantic import Field

from rag_assets.config.base import Section

MetricAtCutoff: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^(hit_rate|precision|recall|capped_recall|f1|mrr|map|ndcg)@[1-9][0-9]?$",
        description="a metric and its k, such as hit_rate@10",
    ),
]


class Gate(Section):
    """What a candidate is judged by."""

    margin: float | None = Field(
        None,
        gt=0,
        le=0.5,
        description="a loss of the metric up to this size is accepted; what the number of "
        "questions can show unless given",
    )
    metric: MetricAtCutoff = "hit_rate@10"
    max_age: int = Field(14, ge=1, description="days for which a verdict holds")
    queries: int = Field(
        500,
        ge=50,
        le=5_000,
        description="queries cut from units (known items), at most, with no questions or few",
    )

    @property
    def cutoff(self) -> int:
        """The k of the metric."""
        return int(self.metric.partition("@")[2])
