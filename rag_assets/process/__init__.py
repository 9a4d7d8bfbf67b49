"""What concerns the running process itself; nothing of the domain.

`memory` gives unused memory back, `overlap` lets two things run at once, `interrupts` makes sure
that Ctrl-C and SIGTERM end a run, and `clock` says what day it is.

Work that is waited for no longer than a tenth of a second:

>>> from time import sleep
>>> from rag_assets.process.clock import in_words
>>> from rag_assets.process.deadlines import DeadlineError, within
>>> try:
...     within(0.1, lambda: sleep(1))
... except DeadlineError as error:
...     print(error)
timed out: it took longer than 0.1 s
>>> in_words(93_784)
'1 day 2 hours'
"""
