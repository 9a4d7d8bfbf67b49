"""The page where one asks and sees the proof: made on the server, brought up to date by htmx.

Read `answers` (an answer as the templates show it), `sources` and `snippets` (what they show of
the index), then `views` (the routes). Every route gives a whole page, of which an open one takes
what it needs; only an answer on its way comes in pieces.
"""
