"""Where webhooks may lead: one value, made once from the deployment's settings, read by every check in here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPolicy:
    """What a deployment allows beside public HTTPS addresses."""

    allow_private: bool = False
    """Plain http, any port, literal and private addresses: for local runs and test kits. Synth refuses it elsewhere."""
    allow_ipv6: bool = False
    """Dial IPv6 too. Off by default: it shuts out every trick that hides an IPv4 address in an IPv6 one."""
    own_hosts: frozenset[str] = frozenset()
    """Host names of this deployment, lower case: a nudge to ourselves is a loop or a way in."""
