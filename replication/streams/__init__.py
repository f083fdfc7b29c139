"""Streams: each node appends what it did to its own stream, and reads the streams of the others.

In: records of the journal, and entries of other nodes. Out: entries of this node, merged facts, and gaps
that only a copy can fill. Invariants: a stream has the author's records in their order, without a hole, or
it ends; an entry leaves only after its records are durable; a cursor moves in the record that contains what
was read. The room knows the members, and nothing of copies.
"""
