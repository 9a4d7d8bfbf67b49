"""`markdown` reads Markdown and plain text; `html_blocks` reads the HTML inside Markdown."""
