"""The members of the fleet: who is there, what each says of itself, and who may do what.

In: this node's `Report`, and the statuses of the others. Out: `Member`s with their statuses,
`KnownElsewhere`, leases (on a name, on a vote, on the webhooks of a node that is gone), and warnings for
operators. Invariant: the nodes that count as present are decided by this node's own monotonic clock, never by
another machine's. The room knows neither streams nor copies.
"""
