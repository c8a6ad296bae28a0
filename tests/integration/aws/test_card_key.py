"""The key of the cards, on the embedded AWS."""

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from jwt.algorithms import ECAlgorithm

from a2a_serverless.aws.card_key import CardKeys
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.table import Table


def test_the_key_of_cards_is_made_once_and_its_private_half_fits_what_is_published(
    clients: Clients, table: Table
) -> None:
    sealing_key = clients.kms.create_key()["KeyMetadata"]["Arn"]
    first, second = (CardKeys(table, clients.kms, sealing_key) for _ in range(2))

    key = first.key()
    private = load_der_private_key(first.unwrap(key), password=None)

    assert second.key() == key
    assert isinstance(private, EllipticCurvePrivateKey)
    jwk = ECAlgorithm.to_jwk(private.public_key(), as_dict=True)
    assert {name: jwk[name] for name in ("kty", "crv", "x", "y")} == {
        name: key.public_jwk[name] for name in ("kty", "crv", "x", "y")
    }
    assert key.public_jwk["alg"] == "ES256"
    assert "wrapped" not in repr(key)
