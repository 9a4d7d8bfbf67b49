"""Media types of the files that can be parsed: sources detect them, parsers declare them."""

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
HTML = "text/html"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"

SUFFIXES = {
    PDF: ".pdf",
    DOCX: ".docx",
    PPTX: ".pptx",
    XLSX: ".xlsx",
    HTML: ".html",
    MARKDOWN: ".md",
    PLAIN: ".txt",
}
"""The suffix of a file's copy while it is parsed, whatever the file's own name is."""
