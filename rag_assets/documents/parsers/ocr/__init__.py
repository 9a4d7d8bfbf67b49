"""Pages without a text layer: `scanned_pages` makes paragraphs of the lines that an engine finds.

The engines are `rapidocr`, a package, and `tesseract`, a program.
"""
