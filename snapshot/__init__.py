"""Snapshots: the state as a file, so that a start need not fold the whole journal.

In: the state of a running gateway, or a data folder, a backup or an export. Out: snapshot files, backups,
exports, and the recovered state with the end of its journal.

Invariant: the recovered state is the newest good snapshot and every record behind it. Taking a snapshot never
forks and never holds the event loop, and a file counts only when it is whole and durable.

Reading order: `files` (the format, and copying a state that changes), `snapshotter` (snapshots and backups
while the gateway serves), `recovery` (from disk to state). The commands use the others: `export`, `restore`
and `inspection`.
"""
