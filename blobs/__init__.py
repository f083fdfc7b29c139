"""Blobs: the files of listings, such as pictures and sounds, by the SHA-256 of their content.

In: clean content with its facts; the rows of listings. Out: durable files, their content from memory, and the
listings that name a file.

Invariants. A file is durable before `put` returns, so no event names a file that a power cut can take. A file
that a row names is never removed. A file that no row names is removed after a while.

Reading order: `sealed_blobs` (the format, and the folder on disk), `blob_names` (the rows that name a file),
`blob_store` (bounds, memory, the sweep).
"""
