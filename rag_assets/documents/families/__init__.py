"""Families: which documents are versions of one another, and which of them is current.

Read `members` first. `family_rows`: which documents are linked anew, by what their names and first
pages say (`documents.head`); `candidates`: who may be a version of whom; `decisions`: what people
say of it. `shown` and `section_changes`: what people see of versions.
"""
