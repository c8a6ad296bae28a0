"""A receiver of webhooks on loopback: takes whatever comes, keeps the connection. Prints its address."""

import asyncio
import sys

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection."""
    while True:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
        except asyncio.IncompleteReadError:
            break
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length or 0))
        writer.write(_ANSWER)
        await writer.drain()
    writer.close()


async def main() -> None:
    """Until standard input is closed."""
    server = await asyncio.start_server(take, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
