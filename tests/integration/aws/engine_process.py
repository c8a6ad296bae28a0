"""The embedded AWS in a process of its own: prints its endpoint, ends when its standard input is closed."""

import asyncio
import sys
import tempfile
from pathlib import Path

from a2a_serverless.local.engine import EngineSettings, prepare
from a2a_serverless.local.ports import listen


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        listen(0, variable="AWS") as aws,
        listen(0, variable="PUBLIC") as public,
    ):
        engine = prepare(EngineSettings(tmp=Path(folder), logs=Path(folder), log_level="ERROR"), aws, public)
        print(engine.endpoint, flush=True)

        async def until_stdin_closes() -> None:
            await asyncio.to_thread(sys.stdin.buffer.read)

        engine.serve([aws, public], until=until_stdin_closes)


if __name__ == "__main__":
    main()
