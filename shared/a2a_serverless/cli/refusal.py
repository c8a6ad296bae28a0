"""Why a command did not do what it was told."""


class Refusal(Exception):
    """The message is one sentence for who told it."""
