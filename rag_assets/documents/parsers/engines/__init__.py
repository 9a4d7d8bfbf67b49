"""Engines that read PDFs: `pdfium` and `pymupdf` here, `docling` and `marker` where installed.

`page_view` shows what PDFium sees of a page to those that see less; `bundled_layout` finds blocks
with the model that comes in a package, for docling and Marker without weights.
"""
