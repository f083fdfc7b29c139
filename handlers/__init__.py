"""The endpoints, and the one table of routes.

In: a `Request`, whose body is bytes. Out: a `Reply`, whose body is bytes, or one of the refusals that
`reply.reply_to` has an answer for. An endpoint's method is parse, rule, commit, reply.

Invariants. Every endpoint is a route of `routes.ROUTES`. Every answer has a type (a view), and every refusal
one status and one text (`reply`). A reply leaves after the record of its change is on disk. No view and no
log line holds a secret. The vote check (`public.PublicApi.voters`) is one synchronous function over memory
alone.

Reading order: `request` and `reply` (what comes in and goes out), `route` (a row) and `routes` (the table),
`public` (the contract's two endpoints), `operator` (the guard of all others), `vote_feed`.
"""
