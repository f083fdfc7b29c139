"""E-mails to users who ask for them: about decisions, suspended endpoints, and reports of visitors.

In: records with decisions, suspensions and reports, and the time. Out: mails to the operator's mail server,
and the outcome of each attempt as an event.

    record -> timer -> due? -> attempt -> outcome --record--> ... (as reminders go: direct_messages/)

The state keeps no queue of mails. It keeps the choice of each user, with the address, and the last mail to
the user about each listing. The due mails follow from these and from the listings, so a crash loses nothing.
Nobody gets a mail about anything that happened before their choice.

Invariants. A user without a choice has no address here. A slow mail server delays only other mails. A mail
has one recipient, and no text of a user ends a header.

Reading order: `due_mails` (which mail is due), `mail_text` (the texts), `mail_server` (SMTP),
`mail_notifier`.
"""
