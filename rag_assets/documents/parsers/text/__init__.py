"""Markdown and plain text, and the HTML that stands in Markdown."""
