"""The journal: every committed change as a record on disk, in order.

In: records, through `Journal.append`, and the data folder. Out: a position for each record, the news that a
position is durable, and the records again for a start or another reader.

Invariant: a position is durable only after the fdatasync that covers it has returned, and a start reads every
durable record or refuses to start. Only bytes that were never durable may be bad.

Reading order: `frames` (the format), `segments` (reading, and telling a torn write from corruption),
`journal` (one fdatasync for many records), `record_pages` (reading on while it is written).
"""
