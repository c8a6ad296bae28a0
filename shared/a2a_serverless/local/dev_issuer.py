"""The development issuer: its tokens are trusted by stacks that this clone serves with AUTH=dev, and by nothing else.

Its key lives in the clone's own runtime folder, readable by its owner alone, and is made when it is first needed.
"""

import json
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

ISSUER: Final = "https://issuer.invalid/development"
AUDIENCE: Final = "a2a-serverless-local"
KEY_ID: Final = "development"


@dataclass(frozen=True, slots=True)
class DevIssuer:
    """An issuer with a key in a file."""

    key_file: Path

    @classmethod
    def of(cls, clone: Path) -> "DevIssuer":
        """The issuer of a clone of the repository."""
        return cls(clone / ".local" / "development-issuer.pem")

    def token(
        self,
        subject: str,
        *,
        tenant: str = "",
        scopes: tuple[str, ...] = (),
        actors: tuple[str, ...] = (),
        lifetime: timedelta = timedelta(hours=12),
        now: datetime,
    ) -> str:
        """A bearer token for `subject`; `actors` are the agents it comes through, outermost first (RFC 8693)."""
        import jwt  # late: only this and the public key need it

        claims: dict[str, Any] = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": int(now.timestamp()),
            "exp": int((now + lifetime).timestamp()),
        }
        if tenant:
            claims["tenant"] = tenant
        if scopes:
            claims["scope"] = " ".join(scopes)
        act: dict[str, Any] = {}
        for actor in reversed(actors):
            act = {"sub": actor, **({"act": act} if act else {})}
        if act:
            claims["act"] = act
        return jwt.encode(claims, self._private_key(), algorithm="ES256", headers={"kid": KEY_ID})

    def trusted(self) -> list[dict[str, Any]]:
        """What the stack's parameter `Issuers` says about this issuer: its public key travels inline."""
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
        from jwt.algorithms import ECAlgorithm

        public = load_pem_private_key(self._private_key().encode(), password=None).public_key()
        jwk = json.loads(ECAlgorithm.to_jwk(public))  # type: ignore[arg-type]  # the key above is on P-256
        jwk |= {"kid": KEY_ID, "use": "sig", "alg": "ES256"}
        return [{"issuer": ISSUER, "audience": AUDIENCE, "jwks": {"keys": [jwk]}}]

    def _private_key(self) -> str:
        if not self.key_file.exists():
            self._make_key()
        return self.key_file.read_text(encoding="ascii")

    def _make_key(self) -> None:
        """Two processes may come here at once: the first one's key stays."""
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.key_file.parent.mkdir(parents=True, exist_ok=True)
        own = self.key_file.with_suffix(f".{os.getpid()}")
        own.touch(mode=0o600)
        own.write_bytes(pem)
        try:
            os.link(own, self.key_file)
        except FileExistsError:
            pass
        finally:
            own.unlink()
