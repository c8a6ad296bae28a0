"""KMS: what sealing webhook credentials and signing keys needs."""

import pytest
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_der_public_key

from .conftest import Cloud

CONTEXT = {"purpose": "signing-keys"}


@pytest.fixture
def key(cloud: Cloud) -> str:
    """A symmetric key."""
    arn: str = cloud.kms.create_key()["KeyMetadata"]["Arn"]
    return arn


@pytest.mark.parametrize("spec", ["ECC_NIST_P256", "RSA_2048"])
def test_a_pair_is_made_whose_private_half_comes_back_from_its_sealed_form(cloud: Cloud, key: str, spec: str) -> None:
    made = cloud.kms.generate_data_key_pair(KeyId=key, KeyPairSpec=spec, EncryptionContext=CONTEXT)

    opened = cloud.kms.decrypt(CiphertextBlob=made["PrivateKeyCiphertextBlob"], EncryptionContext=CONTEXT)["Plaintext"]

    private = load_der_private_key(opened, password=None)
    assert isinstance(private, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    assert private.public_key() == load_der_public_key(made["PublicKey"])
    assert opened == made["PrivateKeyPlaintext"]


def test_a_pair_without_plaintext_gives_only_the_sealed_half(cloud: Cloud, key: str) -> None:
    made = cloud.kms.generate_data_key_pair_without_plaintext(
        KeyId=key, KeyPairSpec="ECC_NIST_P256", EncryptionContext=CONTEXT
    )

    assert "PrivateKeyPlaintext" not in made
    opened = cloud.kms.decrypt(CiphertextBlob=made["PrivateKeyCiphertextBlob"], EncryptionContext=CONTEXT, KeyId=key)[
        "Plaintext"
    ]
    private = load_der_private_key(opened, password=None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert private.public_key() == load_der_public_key(made["PublicKey"])


@pytest.mark.parametrize("context", [{"purpose": "push-secrets"}, {}])
def test_what_was_sealed_under_one_context_does_not_open_under_another(
    cloud: Cloud, key: str, context: dict[str, str]
) -> None:
    sealed = cloud.kms.encrypt(KeyId=key, Plaintext=b"secret", EncryptionContext=CONTEXT)["CiphertextBlob"]

    with pytest.raises(ClientError) as caught:
        cloud.kms.decrypt(CiphertextBlob=sealed, EncryptionContext=context)

    assert caught.value.response["Error"]["Code"] == "InvalidCiphertextException"


def test_a_data_key_comes_plain_and_sealed(cloud: Cloud, key: str) -> None:
    made = cloud.kms.generate_data_key(KeyId=key, KeySpec="AES_256", EncryptionContext=CONTEXT)

    opened = cloud.kms.decrypt(CiphertextBlob=made["CiphertextBlob"], EncryptionContext=CONTEXT)["Plaintext"]

    assert (opened, len(opened)) == (made["Plaintext"], 32)
