"""Replication: several gateways serve one platform, and each soon knows the changes of the others.

Purpose
-------
A *node* is a gateway with a data folder of its own. Its journal is the truth about what it did. Redis only
carries facts between nodes, and may lose everything at any time. No request waits for Redis, except that a
vote waits briefly for its claim.

The words
---------
name       The operator's name of the node (`redis.node`). A lease makes sure that one process bears it.
epoch      A time in milliseconds. A node begins a new epoch when its journal is not the one that the others
           know: the folder is new, restored, a copy, or was put back.
node id    `<name>.<epoch>`, never used twice. Votes, cursors and webhooks belong to node ids.
position   The number of a record in the journal of one node, from 1.
fact       A statement about a thing as it is now: a listing, a user's votes at one node, a removal.
timestamp  The time of a change by a hybrid logical clock: later than everything that its author had read.
stream     The facts of one node in Redis, in the order of its journal. An *entry* has the id
           `<epoch>-<position>` and all facts behind one position and up to its own.
cursor     The position up to which this node has merged another one. It is in the journal, in the same
           record as the facts.
gap        Positions that other nodes know and that no stream will bring, because it was cut or lost.
copy       The whole state of a *donor* as facts. A node with a gap takes it through Redis.
status     A node's report on itself, written with every *heartbeat*: its node id, its cursors, the top of
           its stream, the copy that it wants.
lease      A key in Redis that expires: on a name, on a vote (a *claim*), or on the webhooks of a node that
           is gone (its holder is the *successor*).
digest     A keyed hash in place of a user, where Redis or a long memory may not know the user.
fence      A stop for webhooks after a pause of the process, because a successor may have sent them.

The flow of facts
-----------------
    ledger -> capture -> outgoing -> publisher ==> Redis ==> follower -> merge -> ledger
       |                    ^                      stream       | gap
       '----- journal ------'                                  '-> fetcher <== copy <== donor

1. A rule commits a record. `capture` makes facts of it, and `Outgoing` keeps them until the record is
   durable.
2. `publisher` appends them to the node's stream. Explicit ids make a second try harmless. After an
   outage it reads the newest entry and goes on behind it, if need be from the journal.
3. `follower` of every other node reads the entry, `merge` turns its facts into events, and
   `applying` commits them with the cursor. Nobody captures a merged record again: each node publishes
   only what it did itself.
4. `members` reads the cursors in the statuses. `Gaps` finds what no stream will bring, and the fetcher of
   `copies` takes a copy of the node that knows most.

Invariants
----------
* A fact leaves a node only after its record is durable there.
* Merging commutes and is idempotent: nodes that have merged the same facts have the same shared digest.
* A stream has its author's records in order and without a hole. A cursor never passes a hole: a copy of a
  node that knows more moves it.
* A node id stands for one journal. A node that finds another journal under its node id begins a new epoch
  before it publishes anything, and takes its provisional votes along.
* A node decides by its own monotonic clock who is there, never by the clock of another machine.
* Nodes of other versions read entries, statuses, pieces and uses: a new field comes last, with a default.

The files, in reading order
---------------------------
    facts, capture, merge, applying       what nodes tell each other, and how it is committed
    redis_link                            the connection to Redis, sealed envelopes
    members, claims, succession, epochs   who is there, leases, node ids
    publisher, usage, follower            publishing and following streams, and gaps in them
    copies, blob_exchange                 giving and taking copies, and files of listings
    warnings, readiness, node             what operators see, when the node serves, and the loops of all

A file imports only files of its own line and of lines above it. Streams and copies do not know each other:
`node` hands the values of one to the other. docs/replication.md is for operators;
docs/decisions/0011-replication.md says why it is built like this.
"""
