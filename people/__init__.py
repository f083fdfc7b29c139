"""People: users who sign in through the chat platform, their sessions, roles and quarantines.

In: the state, a time, and a request of somebody. Out: events, the identity of a visitor, or a refusal.
Everything is pure. The callers check the permissions.

Reading order: `permissions` (rights and moderators), `quarantine` (acts that are forbidden to a user),
`user_sessions` (the users that browsers are signed in as), `choices` (what users set for themselves),
`queries` (pages of users).
"""
