"""Engines that read PDFs: `pdfium` and `pymupdf` here, `docling` and `marker` where installed.

`page_view` gives all of them the words and pictures that PDFium finds on a page; `bundled_layout`
finds blocks with a model that comes inside a package, for docling and Marker without weights.
`docling_offline` plugs that model into docling.
"""
