"""What concerns the running process itself; nothing of the domain.

`memory` gives unused memory back, `overlap` lets two things run at once, `interrupts` makes sure
that Ctrl-C and SIGTERM end a run, and `clock` says what day it is.
"""
