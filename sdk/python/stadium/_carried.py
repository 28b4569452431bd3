"""What each call of a client carries beside its request: the API key and the trace."""

from __future__ import annotations

from typing import Any, Dict, Optional, Union

from . import _tracing
from ._key import ApiKey, key_of


class Carried:
    """The metadata of a client's calls, and the settings with which another client is like it."""

    def __init__(self, api_key: Union[ApiKey, str, None], settings: Dict[str, Any]) -> None:
        if api_key is not None and settings.get("bearer") is not None:
            raise ValueError("api_key and bearer are both given; a call shows one")
        self.api_key = key_of(api_key)
        self.settings = dict(settings)

    def metadata(self, given: Optional[bytes]) -> Optional[bytes]:
        """Composite metadata of a call: the key, the trace, and what the caller gave."""
        trace = _tracing.current()
        if self.api_key is not None:
            return self.api_key.entry() + trace + (given or b"")
        return trace + (given or b"") if trace else given
