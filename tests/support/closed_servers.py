"""The end of a server of asyncio: it leaves no connection open."""

import asyncio


async def close_server(server: asyncio.Server) -> None:
    """Accept no more connections, and close the server a turn later.

    asyncio leaves a connection open that it accepts in the turn in which its server is closed.
    """
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener)
    await asyncio.sleep(0)
    server.close()
