"""Direct messages through the chat platform's bot: to owners on decisions, and reminders to users.

In: records with decisions, reminders and votes, and the time. Out: questions to the platform, and the outcome
of each attempt as an event.

Invariants. An attempt has an outcome in the log, or it is made again under the same nonce, which the platform
posts once. No webhook waits for a message: they share neither slots nor queues.

Reading order: `message_text` (the texts), `message_attempts` (attempts and their outcomes), `timers` (when to
look), `owner_notifier` and `reminder_notifier` (which message is due).
"""
