"""The rules on listings: submit and review them, issue keys, set webhooks, push counts.

In come the state, a form that a client has filled in, and the time. Out go events to commit, or a refusal is
raised. Invariant: a rule changes nothing itself, so what it refuses has left no trace; and a form that exists
is valid, so that no rule checks a field again.
"""
