"""The chat platform: signing in with it, and its facts on users, servers and bots.

In: unchecked answers of the platform's API. Out: facts, authorization requests, and the times at which the
platform may be asked again.

Invariants. A fact that the platform does not state is unknown; it is never taken for a yes. No answer raises
an exception, whatever it contains. The platform's tokens are used at once and kept nowhere.

Reading order: `answers` (facts, and how answers become facts), `authorization` (signing in), `listing_checks`
(the conditions for a listing), `platform_client` (questions, within the platform's rate limits).
"""
