"""A bare engine for the contract tests: no stack is deployed into it. Prints its address, stops with its stdin."""

import asyncio
import os
import sys
import threading
from pathlib import Path

from a2a_serverless.local.clone import repository_root
from a2a_serverless.local.engine import EngineSettings, prepare
from a2a_serverless.local.ports import listen


def main(folder: Path) -> None:
    """Serve until standard input is closed."""
    tmp, logs = folder / "tmp", folder / "logs"
    tmp.mkdir()
    logs.mkdir()
    aws, public = listen(0, variable="AWS_PORT"), listen(0, variable="PORT")
    # Enforced for everybody: the tests' own calls are the root's, and every role is given what it needs.
    root = repository_root()
    hidden = (str(root), str(root / "shared"))
    engine = prepare(EngineSettings(tmp=tmp, logs=logs, strict_iam=True, hidden_paths=hidden), aws, public)

    def announce() -> None:
        engine.started.wait()
        print(engine.endpoint, flush=True)

    async def told_to_stop() -> None:
        await asyncio.to_thread(sys.stdin.buffer.read)

    threading.Thread(target=announce, daemon=True).start()
    engine.serve([aws, public], until=told_to_stop)
    engine.patched.workers.kill_all()
    os._exit(0)  # pollers are daemons and have nothing to save


if __name__ == "__main__":
    main(Path(sys.argv[1]))
