"""Media types that can be parsed, whoever asks: sources tell them, parsers take them."""

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
"""How a file is called while it is parsed, whatever its own name is."""
