"""The command ``fairshap``, which answers signals from its first moment on.

It stands beside the package: importing any part of the package imports all of it, which can take seconds.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Run the command."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    from fairshap.cli import main as run

    run()


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    word = "interrupted" if number == signal.SIGINT else "terminated"
    print(f"fairshap: {word}; nothing was written.", file=sys.stderr, flush=True)
    os._exit(128 + number)


if __name__ == "__main__":
    main()
