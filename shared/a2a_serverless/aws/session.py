"""A session of botocore for the clients of one function: what they use, and nothing for all the other services.

A session as botocore makes it registers, inspects and copies a hundred and twenty handlers, nearly all for services
that no client of ours speaks to, and sets up nine places that credentials may come from. Lambda hands credentials out
in the environment. Together that is a twentieth of a cold start.
"""

from collections.abc import Callable, Container, Iterator
from typing import Any, Final

from botocore.credentials import CredentialResolver, EnvProvider
from botocore.handlers import BUILTIN_HANDLERS, REGISTER_FIRST, REGISTER_LAST
from botocore.loaders import Loader
from botocore.session import Session

_FOR_READERS: Final = ("docs.", "getattr.")
"""Events of what botocore tells people about its clients."""
_EVERY: Final = ("", "*")
"""The service in the name of an event that is about all services."""


class FunctionSession(Session):
    """It is for our clients only. Those that an agent makes for itself come of a session that has all there is."""

    def __init__(self, loader: Loader) -> None:
        super().__init__(include_builtin_handlers=False)
        self.register_component("data_loader", loader)
        self.register_component("credential_provider", CredentialResolver([EnvProvider()]))
        self._register(_EVERY)

    def create_client(self, service_name: str, *args: Any, **kwargs: Any) -> Any:
        """Make the one client of a service."""
        self._register((service_name,))
        return super().create_client(service_name, *args, **kwargs)

    def _register(self, services: Container[str]) -> None:
        events = self.get_component("event_emitter")
        by_place = {REGISTER_FIRST: events.register_first, REGISTER_LAST: events.register_last}
        for event, handler, place in _handlers_of(services):
            by_place.get(place, events.register)(event, handler)


def _handlers_of(services: Container[str]) -> Iterator[tuple[str, Callable[..., Any], object]]:
    """botocore's own handlers of what happens to clients of these services: event, handler, place among others."""
    for event, handler, *place in BUILTIN_HANDLERS:
        _, _, about = event.partition(".")
        if about.partition(".")[0] in services and not event.startswith(_FOR_READERS):
            yield event, handler, place[0] if place else None
