"""The table of actions: everything that the management API, a page or a command can do, each declared once.

In: a `Call` (who acts, when, on what, with which tools) and a form that was read. Out: a view, or a refusal.
A row of the table says the rest: path, access, texts, refusals, command. From it follow a management route
for each kind of listing, an operation of the OpenAPI document, a command of `admin`, and a test of access.

Invariants. No module here knows HTTP, a template or the command line. A view leaves after the record of its
change is on disk.

Reading order: `action` (a row, and a call of it), `tools`, `keys` (the first subject), `table`.
"""
