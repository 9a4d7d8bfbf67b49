"""docling by itself: nothing else that lies on the machine changes what it reads.

docling looks for LibreOffice, which draws what docling cannot, and its limits and the folder of its
weights may stand in variables of the environment. None of these is in the recipe of a parser: two
machines would read the same file differently, and no fingerprint would tell.
"""

import logging


def set_up() -> None:
    """Make docling find no program, keep to its own settings and say nothing.

    How fast it works (`DOCLING_DEVICE`, `DOCLING_NUM_THREADS`) is still up to the environment.
    """
    from docling.backend.docx.drawingml import utils
    from docling.datamodel.settings import settings as of_docling
    from docling_core.utils.settings import settings as of_core

    logging.getLogger("docling").setLevel(logging.ERROR)
    # all its readers of Office files ask this one
    utils.get_libreoffice_cmd = _no_program  # ty: ignore[invalid-assignment]
    for settings in (of_docling, of_core):
        settings.__dict__.update(type(settings).model_construct().__dict__)


def _no_program(raise_if_unavailable: bool = False) -> None:
    """Stands in for docling's search for LibreOffice: there is none."""
    if raise_if_unavailable:
        raise RuntimeError("LibreOffice is not used here")
