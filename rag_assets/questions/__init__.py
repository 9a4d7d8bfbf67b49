"""Questions with gold evidence, made from one's own documents, tables and kept answers.

`draft` is a question as it is made. `passages` are what `windows` and `sampling` choose of
documents; `from_documents` makes questions of them by `reading` and `filters`. `from_tables`
samples lookup plans, and words them. `making` keeps what they make in the table
`generated_questions`, which `steps` hands to the graph; `counts` sums it up. `from_answers` finds
the questions that people really asked and that the test set lacks, and `importing` takes in those
that people bring. What a person decides is asked in `labelling`; `reviewing` asks about made
questions.
"""
