"""The head of a document: its title, number, dates and version, and what else its first page says.

Read `facts` first: what is stated of the document as a whole. `versions`: how names and texts spell
a version, and which of two is the newer one. `header_fields`: facts by named rules, for the headers
of chunks. `words`: months, and the words that tell what a number or a date means; they are data
(`words.toml`).
"""
