"""Families: which documents are versions of one another, and which of them is current.

Read `members` first. `family_rows`: which documents are linked anew; `version_marks`,
`version_words`, `stated_facts`: what names and first pages say; `candidates`, `links`: who is a
version of whom; `decisions`: what people say of it. `shown` and `section_changes`: what people see
of versions.
"""
