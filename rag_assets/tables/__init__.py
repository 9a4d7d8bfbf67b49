"""Rows get ids and headings in plain words, then become text."""
