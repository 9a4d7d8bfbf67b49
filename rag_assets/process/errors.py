"""Errors that are told to people as they are.

The command line, the HTTP API and the tools of agents tell the message of each, without a
traceback. What is none of these is a mistake of the program.
"""


class ExplainedError(Exception):
    """Something cannot be done; the message says what is wrong, and what to do about it."""


class RequestError(ExplainedError, ValueError):
    """What was asked for makes no sense; the message says what is allowed."""


class UnanswerableError(ExplainedError):
    """A model, its weights, an index, a signal or rewrites are missing, which a search needs.

    Nothing is wrong with the tables: another retriever may answer.
    """
