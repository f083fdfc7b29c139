"""A receiver in the web framework of your bot: asgi, aiohttp, flask, django, tornado.

Each module imports its framework, so import only the one that you use. Another framework can do the same:
read headers and bytes, await `receiver.receive(headers, body)`, and send its answer.
"""
