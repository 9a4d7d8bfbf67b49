"""Figures: pictures in documents and of them.

`describe` and `describing`: figures in words, by a language model that sees; `linked_pictures`:
pictures that lie beside a document; `page_pictures`: pictures of units, for people.
"""
