"""Questions with gold evidence, made from one's own documents, tables and kept answers.

`draft` is a question as it is made. `passages` are what `windows` and `sampling` choose of
documents; `from_documents` makes questions of them by `reading` and `filters`. `from_tables`
samples lookup plans, and words them. `from_answers` finds the questions that people really asked
and that the test set lacks. What a person decides is asked in `labelling`. `steps` keeps it all in
the table `generated_questions`.
"""
