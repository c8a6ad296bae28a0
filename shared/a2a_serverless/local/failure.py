"""The error that ends a stack which was started and cannot go on."""


class StackFailedError(Exception):
    """The stack could not be started or deployed; the message says which part and why."""
