"""Questions with gold evidence, made from one's own documents, tables and kept answers.

`draft` is a question as it is made. `windows` and `sampling` choose passages of documents, of which
`from_documents` makes questions. `from_tables` samples lookup plans, and words them.
`from_answers` finds the questions that people really asked and that the test set lacks. What a
person decides is asked in `labelling`; `reviewing` asks about made questions. `steps` keeps these
in the table `generated_questions`.
"""
