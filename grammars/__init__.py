"""Texts that several rooms read, each with one grammar. A text comes in, the value that it means goes out.

A refusal says why in words that follow a field's or a setting's name, and quotes no secret. The settings, the
forms and the HTTP client read the same text in the same way, because nobody else reads it. The room imports
only the texts of refusals.
"""
