"""E-mails to users who want them: on decisions, endpoints that are suspended, and reports of visitors.

In: records with decisions, suspensions and reports, and the time. Out: mails to the operator's mail server,
and the outcome of each attempt as an event.

    record -> timer -> due? -> attempt -> outcome --record--> ... (as reminders go: direct_messages/)

The state keeps no mails that wait. It keeps the choice of each user, with the address, and up to when the
user was told of each listing. What is due follows from these and from the listings, so a crash forgets
nothing. Nobody gets a mail about anything that happened before their choice.

Invariants. A user without a choice has no address here. A mail server that is slow or gone holds nothing but
other mails. A mail has one recipient, and no text of a user ends a header.

Reading order: `due_mails` (which mail is due), `mail_text` (the texts), `mail_server` (SMTP),
`mail_notifier`.
"""
