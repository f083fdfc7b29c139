"""The domain's core: the state of a node in memory, and the one way to change it.

In come events: values that say how something is now, made by the rules in `votes/` and `listings/`, by the
webhook sender and by replication. `Ledger.commit` appends them to the journal as one record and applies them.
Out go tables of frozen rows that everybody may read, and each record to the readers of the log.

Invariant: the state is the fold of the journal's records, and nothing else. The same records fold into
an equal state with an equal digest. So `apply` does no I/O, reads no clock and draws no random number.

    rows, events                the values: what is kept, and what changes it
    failures                    what can fail by nobody's mistake
    state                       the tables as a whole: apply, copy, load, digest
    listing_table, packing, listing_changes, user_rows, user_changes, delivery_table, fleet_table, vote_table,
    vote_counts                 one table each, and its parts
    digest                      incremental digests
    sharing                     the slots of a listing: how rows of several nodes join
    audit_log                   what a listing remembers of actors
    ledger                      the one writer
    clock                       time, read in one way
"""
