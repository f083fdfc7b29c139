"""The description of the API: an OpenAPI 3.1 document and its pages.

In: the routes of `handlers/` and `operators/`, and the numbers of a `Deployment`. Out: the replies of `GET
/openapi.json` and of the pages under `/docs`.

Invariants. The document describes every route, and nothing else. Schemas come from the types that endpoints
read and write, statuses and texts of refusals from the table of codes, numbers from the settings. An example
is made of the examples of its fields, or written by hand; a test checks each against its schema.

Reading order: `deployment` (the numbers), `schemas`, `examples`, `errors`, `document`; then those of the
pages: `lookup`, `elements`, `samples`, `reference`, `trial`, `guide`, `page`.
"""
