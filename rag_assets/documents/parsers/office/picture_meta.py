"""Keys and marks by which docling's document holds what docling itself does not keep.

`docling_backends` writes them, `docling_office` reads them.
"""

ALT = "rag_assets__alt"
"""The alternative text of a picture on a web page."""
LINK = "rag_assets__link"
"""The address of a picture on a web page: see `pictures.link_of`."""
ABOVE, BELOW = "\ue0f1", "\ue0f2"
"""First letter of a paragraph that stands above or below the text of a web page."""
GLUE = "\ue0f3"
"""First letter of a run that goes on without a blank: docling puts one between all runs."""
PROBLEM = "rag_assets__problem"
"""Why a figure of an Office file has no picture."""
