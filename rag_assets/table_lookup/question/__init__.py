"""From the words of a question to a lookup plan, by rules.

Read `understanding` first: each table reads the question by itself, and the one that explains all
its words wins. `question` holds its words before any table, `linking` (with `linked_columns` and
`linked_values`) what of a table they can mean, and `composing` gives each word a role: a value
(`value_mentions`), a number (`quantities`, `placing`), a column (`mentions`), a condition
(`conditions`), or what is asked for (`asking_for`). `planning` makes plans of the roles.
"""
