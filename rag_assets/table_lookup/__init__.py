"""Lookup: questions to tables, answered by a plan that is run, without embedding.

A library that knows tables and retrieval, and nothing of answers. Read `looking_up` first: from a
question to sentences that cite their cells. `tables` is what can be asked, `question` reads a
question into one of the `plans`, which SQL in a sandbox runs, and `sentences` tells what it gave;
`words` are what the reading knows of English and Swedish. Where the rules refuse a question,
`by_model` lets a language model fill in the plan.
"""
