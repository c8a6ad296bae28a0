"""The account of the embedded AWS, as everything that speaks to it knows it."""

from typing import Final

REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
ACCESS_KEY: Final = "test"
"""The key of the account's root, and its secret; every other key is checked when IAM is enforced."""
