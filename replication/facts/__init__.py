"""Facts, which nodes send each other: made of events (`capture`) and turned back into events (`merge`).

In: records of this node, or facts of another one. Out: facts to send, or events to commit. Invariant: merging
commutes and is idempotent, so nodes that have merged the same facts, in any order, are equal. All but
`applying`, which commits what was merged, is pure.
"""
