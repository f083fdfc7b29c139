"""The table of pages for people: each page is a row with a function, and the forms that it takes.

In: a request for a page, and who sends it. Out: a page as a value, which `web/` draws, a redirect, or JSON.
A row says the rest: path, access, template, posts. From it follow the routes of the page and of its JSON.

Invariants. A page changes the state through an action alone. Its JSON is the value that the page shows. No
page keeps a token of the chat platform, and each wait for the platform has a bound.

Reading order: `page` (a row), `visitors` (people and their sessions), `site_tools` (the tools of pages),
`page_rows` (how a row is served), `owner` (the pages of a listing's owners, keys first), `table`.
"""
