"""Alerts: people are told of each problem once when it begins, and once when it is over.

Read in this order: `record` (what was told, and what waits to be told), `messages` (how several
changes become one message), `channels` (how a message reaches Slack, Teams, a program or a mail
server), `dispatch` (the loop: look, compare with the record, tell, write the record).
"""
