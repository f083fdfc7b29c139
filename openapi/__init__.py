"""The description of the API: an OpenAPI 3.1 document and its page.

In: the rows of `handlers.routes`, and the numbers of a `Deployment`. Out: the replies of `GET
/openapi.json` and `GET /docs`.

Invariants. The document describes every route, and nothing else. Schemas come from the types that
endpoints read and write, refusals from the tree of refusals, statuses and texts from the table of
replies, numbers from the settings. An example is made of the examples of its fields, or written by hand; a
test checks each against its schema.

Reading order: `deployment` (the numbers), `schemas`, `samples`, `examples`, `errors`, `answer_headers`,
`document`, `page`.
"""
