"""Voting. A user, a listing and the time come in; events of votes and vote statuses go out.

`table.py` keeps the votes and imports nothing of ours: `core.State` is handed a table and applies events to
it. Rules and queries only read. A vote and the webhook that tells of it are one record.
"""
