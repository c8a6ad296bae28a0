"""How a function starts: on Lambda it has two whole processors for it, which its calls do not have."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def starting() -> Iterator[None]:
    """While imports go on nothing is garbage, so none is looked for, and what they made is never looked at again.

    The collector's passes over a million new objects would be a tenth of a cold start.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_on:
            gc.enable()


def is_on_lambda() -> bool:
    """Whether a call is sure to follow, in the environment that is there now."""
    return "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ
