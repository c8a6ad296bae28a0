"""Service models from a folder that holds just what we use, put beside this file when the functions are staged."""

from pathlib import Path
from typing import Final

from botocore.loaders import Loader

FOLDER: Final = Path(__file__).with_name("service-models")


class OwnModels(Loader):
    """Knows the services of our folder alone; what the folder lacks of one is read from botocore's own data.

    It is for our clients only. Those that an agent makes for itself see all that botocore has.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(extra_search_paths=[str(folder)])
        self._services = sorted(found.name for found in folder.iterdir() if found.is_dir())

    def list_available_services(self, type_name: str) -> list[str]:
        """The services, without a look into the four hundred folders of botocore."""
        del type_name
        return self._services
