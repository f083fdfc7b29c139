"""The chat platform: what its users sign in with, and what it says of users, servers and bots.

In: answers of the platform's API, as decoded JSON that nobody has checked. Out: facts, authorization
requests, and the times at which the platform may be asked again.

Invariants. A fact that the platform does not state is unknown; it is never taken for a yes. No answer raises
an exception, whatever it holds. The platform's tokens are used at once and kept nowhere.

Reading order: `facts` (what is known), `reading` (answers to facts), `authorization` (signing in), `waits`
(when to ask again), `images` (addresses of pictures), `bot_checks` and `server_checks` (who may be listed).
All of them are pure; `platform_client` asks.
"""
