"""Direct messages: one to an owner for each decision on a listing, through the chat platform's bot.

In: records with decisions, and the time. Out: questions to the platform, and the outcome of each attempt as
an event. The message is a part of the listing's row (`core/rows.py`), so a later decision takes the
place of one that nobody was told of.

Invariants. An attempt has an outcome in the log, or it is made again under the same nonce, which the platform
posts once. No webhook waits for a message: they share neither slots nor queues.

Reading order: `message_text` (what an owner reads), `message_outcomes` (what comes of an attempt), `teller`
(the attempts), `message_tally` (their numbers).
"""
