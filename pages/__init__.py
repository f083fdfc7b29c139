"""The table of pages for people: each page is a row with a function, and the forms that it takes.

In: a request for a page, and who sends it. Out: a page as a value, which `web/` draws, a redirect, or JSON.
A row says the rest: path, access, template, posts. From it follow the routes of the page and of its JSON.

Invariants. A page changes the state through an action alone. Its JSON is the value that the page shows.

Reading order: `page` (a row), `site_tools` (what pages work with), `page_rows` (how a row is served), `owner`
(the pages of a listing's owners, keys first), `table`.
"""
