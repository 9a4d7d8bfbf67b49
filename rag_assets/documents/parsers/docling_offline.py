"""What makes docling's standard pipeline run without weights, and without torchvision.

The bundled layout model takes the place of docling's; the place of TableFormer stays empty. Only
the worker that parses imports this module: it imports docling.
"""

# ruff: noqa: TID253 - nothing but docling's worker imports this module

from collections.abc import Sequence
from typing import Any, ClassVar

from docling.datamodel.base_models import (
    Cluster,
    LayoutPrediction,
    Page,
    TableStructurePrediction,
)
from docling.datamodel.document import ConversionResult
from docling.datamodel.pipeline_options import (
    BaseLayoutOptions,
    BaseTableStructureOptions,
    PdfPipelineOptions,
)
from docling.models.base_layout_model import BaseLayoutModel
from docling.models.base_table_model import BaseTableStructureModel
from docling.models.factories import get_layout_factory
from docling.models.factories.table_factory import TableStructureFactory
from docling.pipeline import standard_pdf_pipeline
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel

from rag_assets.documents.parsers.bundled_layout import BundledLayout, Region

SCALE = 1.5
"""Pixels of a point in the picture that the layout model sees."""

LABELS = {
    "text": DocItemLabel.TEXT,
    "title": DocItemLabel.SECTION_HEADER,
    "figure": DocItemLabel.PICTURE,
    "figure_caption": DocItemLabel.CAPTION,
    "table": DocItemLabel.TABLE,
    "table_caption": DocItemLabel.CAPTION,
    "header": DocItemLabel.PAGE_HEADER,
    "footer": DocItemLabel.PAGE_FOOTER,
    "reference": DocItemLabel.TEXT,
    "equation": DocItemLabel.FORMULA,
}
"""What docling calls the kinds of blocks of the bundled model."""


def without_weights(options: PdfPipelineOptions) -> PdfPipelineOptions:
    """`options` with the models of this module in place of those that need weights."""
    layouts = get_layout_factory(allow_external_plugins=False)  # cached by this very spelling
    if BundledOptions not in layouts.classes:
        layouts.register(BundledModel, "rag_assets", __name__)
    tables = TableStructureFactory()
    tables.register(NoCells, "rag_assets", __name__)
    # docling's own factory imports TableFormer, and with it torchvision, even where it is off
    standard_pdf_pipeline.get_table_structure_factory = lambda **_: tables  # ty: ignore[invalid-assignment]
    return options.model_copy(
        update={
            "layout_options": BundledOptions(),
            "do_table_structure": False,
            "table_structure_options": NoCellsOptions(),
        }
    )


class BundledOptions(BaseLayoutOptions):
    """Chooses `BundledModel`."""

    kind: ClassVar[str] = "bundled_layout"


class BundledModel(BaseLayoutModel):
    """The bundled layout model as a layout engine of docling."""

    def __init__(self, options: BundledOptions, **_: Any) -> None:
        self.options = options
        self._layout = BundledLayout()

    @classmethod
    def get_options_type(cls) -> type[BundledOptions]:
        """By which docling finds it."""
        return BundledOptions

    def predict_layout(
        self,
        conv_res: ConversionResult,  # noqa: ARG002 - docling's signature
        pages: Sequence[Page],
    ) -> list[LayoutPrediction]:
        """Blocks of each page."""
        return [LayoutPrediction(clusters=_clusters(page, self._layout)) for page in pages]


class NoCellsOptions(BaseTableStructureOptions):
    """Chooses `NoCells`."""

    kind: ClassVar[str] = "no_cells"


class NoCells(BaseTableStructureModel):
    """Leaves tables as boxes."""

    enabled = False

    def __init__(self, options: NoCellsOptions, **_: Any) -> None:
        self.options = options

    @classmethod
    def get_options_type(cls) -> type[NoCellsOptions]:
        """By which docling finds it."""
        return NoCellsOptions

    def predict_tables(
        self,
        conv_res: ConversionResult,  # noqa: ARG002 - docling's signature
        pages: Sequence[Page],
    ) -> list[TableStructurePrediction]:
        """Nothing: docling does not call it while it is not enabled."""
        return [TableStructurePrediction() for _ in pages]


def _clusters(page: Page, layout: BundledLayout) -> list[Cluster]:
    picture = page.get_image(scale=SCALE)
    if picture is None or page.size is None:
        return []
    across, down = page.size.width / picture.width, page.size.height / picture.height
    return [
        _cluster(place, region, across=across, down=down)
        for place, region in enumerate(layout.regions(picture))
    ]


def _cluster(place: int, region: Region, *, across: float, down: float) -> Cluster:
    x0, y0, x1, y1 = region.box
    return Cluster(
        id=place,
        label=LABELS[region.label],
        confidence=region.score,
        bbox=BoundingBox(
            l=x0 * across,
            t=y0 * down,
            r=x1 * across,
            b=y1 * down,
            coord_origin=CoordOrigin.TOPLEFT,
        ),
    )
