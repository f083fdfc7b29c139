"""People: users who sign in through the chat platform, their sessions, roles and quarantines.

In: the state, a time, and what somebody asks for. Out: events, what is known of a visitor, or a refusal.
Everything is pure. Whether somebody may ask for it, the callers check by `permissions`.

Reading order: `permissions` (who may do what, and who moderates), `quarantine` (what is forbidden to whom),
`user_sessions` (who a browser belongs to), `queries` (pages of users).
"""
