"""Webhooks: one request to an owner's endpoint for each vote, until it is delivered or given up.

In: records of the log (votes, settings, suspensions) and the time. Out: requests through `outbound/`, and the
outcome of each attempt as events.

Invariants. An attempt has an outcome in the log, or it is made again. An endpoint gets its deliveries in the
order of votes. No endpoint can use up the attempts that others need. No owner is charged for a failure of
ours.

Reading order: `sender` (the loop that sends, also for direct messages), `outbox` (which delivery is due),
`notifier` (the attempts), `attempts` (their outcomes: retries, suspension), `messages` and `chat` (the
requests), `suspension_log` (the operator's log), `attempt_tally` (numbers of attempts).
"""
