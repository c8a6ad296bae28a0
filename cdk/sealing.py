"""The key that seals what partners and signatures must keep secret, and who may use it for what.

Every use names its purpose in the encryption context, so that a function allowed to seal a webhook's token can neither
read it back nor touch a signing key.
"""

from aws_cdk import aws_kms
from constructs import Construct

from a2a_serverless.aws.settings import CARD_CONTEXT, SECRET_CONTEXT, SIGNING_CONTEXT

from .function import HopFunction, Host, removal


class Sealing(Construct):
    """One symmetric key, turned over by KMS each year."""

    def __init__(self, scope: Construct, name: str, *, host: Host) -> None:
        super().__init__(scope, name)
        self.key = aws_kms.Key(
            self,
            "Key",
            description=f"a2a-serverless {host.choices.stage}: seals webhook credentials and signing keys",
            enable_key_rotation=True,
            removal_policy=removal(host.choices),
        )

    def allow_sealing_secrets(self, function: HopFunction) -> None:
        """Webhook credentials go in."""
        function.may("kms:Encrypt", on=self.key.key_arn, purpose=SECRET_CONTEXT)

    def allow_opening_secrets(self, function: HopFunction) -> None:
        """Webhook credentials come out, to be sent to their owner's receiver."""
        function.may("kms:Decrypt", on=self.key.key_arn, purpose=SECRET_CONTEXT)

    def allow_making_signing_keys(self, function: HopFunction) -> None:
        """A new pair is made, and its private half stays sealed."""
        function.may("kms:GenerateDataKeyPairWithoutPlaintext", on=self.key.key_arn, purpose=SIGNING_CONTEXT)

    def allow_signing_cards(self, function: HopFunction) -> None:
        """The key of the cards is made once, and opened when a card is first asked for. Whoever serves the cards could
        serve any, so nothing is gained by keeping their key elsewhere.
        """
        function.may(
            "kms:GenerateDataKeyPairWithoutPlaintext", "kms:Decrypt", on=self.key.key_arn, purpose=CARD_CONTEXT
        )

    def allow_signing(self, function: HopFunction) -> None:
        """A signing key is opened, once per cold start."""
        function.may("kms:Decrypt", on=self.key.key_arn, purpose=SIGNING_CONTEXT)
