"""What makes docling's standard pipeline run without weights, and without torchvision.

The bundled layout model takes the place of docling's, and white space between words that of
TableFormer. Only the worker that parses imports this module: it imports docling.
"""

# ruff: noqa: TID253 - nothing but docling's worker imports this module

from collections.abc import Sequence
from typing import Any, ClassVar

from docling.datamodel.base_models import (
    Cluster,
    LayoutPrediction,
    Page,
    Table,
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
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel, TableCell
from docling_core.types.doc.page import TextCell

from rag_assets.documents.parsers.engines.bundled_layout import BundledLayout, LayoutRegion
from rag_assets.documents.parsers.tables import Word, grid_of

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
    tables.register(WordGrid, "rag_assets", __name__)
    # docling's own factory imports TableFormer, and torchvision with it, whatever is chosen
    standard_pdf_pipeline.get_table_structure_factory = lambda **_: tables  # ty: ignore[invalid-assignment]
    return options.model_copy(
        update={
            "layout_options": BundledOptions(),
            "do_table_structure": True,
            "table_structure_options": WordGridOptions(),
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
        """The options by whose type docling finds this model."""
        return BundledOptions

    def predict_layout(
        self,
        conv_res: ConversionResult,  # noqa: ARG002 - docling's signature
        pages: Sequence[Page],
    ) -> list[LayoutPrediction]:
        """Blocks of each page."""
        return [LayoutPrediction(clusters=_clusters(page, self._layout)) for page in pages]


class WordGridOptions(BaseTableStructureOptions):
    """Chooses `WordGrid`."""

    kind: ClassVar[str] = "word_grid"


class WordGrid(BaseTableStructureModel):
    """Cells by the white space between words, as a table engine of docling."""

    enabled = True

    def __init__(self, options: WordGridOptions, **_: Any) -> None:
        self.options = options

    @classmethod
    def get_options_type(cls) -> type[WordGridOptions]:
        """The options by whose type docling finds this model."""
        return WordGridOptions

    def predict_tables(
        self,
        conv_res: ConversionResult,  # noqa: ARG002 - docling's signature
        pages: Sequence[Page],
    ) -> list[TableStructurePrediction]:
        """Cells of the tables of each page."""
        return [TableStructurePrediction(table_map=_tables(page)) for page in pages]


def _tables(page: Page) -> dict[int, Table]:
    layout = page.predictions.layout
    clusters = layout.clusters if layout else []
    return {
        cluster.id: _table(cluster, page=page.page_no)
        for cluster in clusters
        if cluster.label == DocItemLabel.TABLE
    }


def _table(cluster: Cluster, *, page: int) -> Table:
    grid, spans = grid_of([_word(cell) for cell in cluster.cells])
    wide = {(row, column): (rows, columns) for row, column, rows, columns in spans}
    covered = {
        (row, place)
        for row, column, _, columns in spans
        for place in range(column + 1, column + columns)
    }
    cells = [
        _cell(row, column, *wide.get((row, column), (1, 1)), text=text)
        for row, line in enumerate(grid)
        for column, text in enumerate(line)
        if (row, column) not in covered
    ]
    return Table(
        otsl_seq=[],
        table_cells=cells,
        num_rows=len(grid),
        num_cols=len(grid[0]) if grid else 0,
        id=cluster.id,
        page_no=page,
        cluster=cluster,
        label=cluster.label,
    )


def _word(cell: TextCell) -> Word:
    box = cell.rect.to_bounding_box()
    return Word(cell.text, (box.l, box.t, box.r, box.b))


def _cell(row: int, column: int, rows: int, columns: int, *, text: str) -> TableCell:
    return TableCell(
        text=text,
        row_span=rows,
        col_span=columns,
        start_row_offset_idx=row,
        end_row_offset_idx=row + rows,
        start_col_offset_idx=column,
        end_col_offset_idx=column + columns,
    )


def _clusters(page: Page, layout: BundledLayout) -> list[Cluster]:
    picture = page.get_image(scale=SCALE)
    if picture is None or page.size is None:
        return []
    across, down = page.size.width / picture.width, page.size.height / picture.height
    return [
        _cluster(place, region, across=across, down=down)
        for place, region in enumerate(layout.regions(picture))
    ]


def _cluster(place: int, region: LayoutRegion, *, across: float, down: float) -> Cluster:
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
