"""Voting. A user, a listing and the time come in; events of votes and vote statuses go out.

`core/vote_table.py` keeps the votes. Rules and queries only read. A vote and the webhook that tells of it are
one record.
"""
