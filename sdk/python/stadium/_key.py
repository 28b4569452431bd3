"""API keys: where a client finds the key that its calls show.

A key is asked for again at most once a second, so one that is rotated is used without a restart. It is
never part of a repr, an error or a log line.
"""

from __future__ import annotations

import os
import time
from typing import Callable, Optional, Union

#: Seconds for which a key is used before its source is asked again.
_FRESH = 1.0

#: Seconds within which a refusal may be that of the key before: calls were under way with it.
_JUST_NOW = 10.0

#: `message/x.rsocket.authentication.v0`, and in it the kind "bearer".
_AUTHENTICATION, _BEARER = 0x80 | 0x7C, b"\x81"


class ApiKey:
    """An API key and where it comes from. It may change at its source while a client uses it."""

    def __init__(self, key: str) -> None:
        """A key that does not change."""
        self._source: Callable[[], str] = lambda: key
        self._name = "fixed"
        self._entry: Optional[bytes] = None
        self._asked = 0.0
        self._changed_at = float("-inf")

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"]) -> "ApiKey":
        """The text of a file, without the white space around it."""

        def read() -> str:
            with open(path, encoding="utf-8") as file:
                return file.read()

        return cls._of(read, f"file {os.fspath(path)}")

    @classmethod
    def from_env(cls, name: str = "STADIUM_KEY") -> "ApiKey":
        """The value of an environment variable of this process."""

        def read() -> str:
            found = os.environ.get(name)
            if found is None:
                raise LookupError(f"the environment variable {name} is not set")
            return found

        return cls._of(read, f"environment {name}")

    @classmethod
    def from_callable(cls, source: Callable[[], str]) -> "ApiKey":
        """What a function returns. It is called by whichever thread makes a call, and must be quick."""
        return cls._of(source, "callable")

    @classmethod
    def _of(cls, source: Callable[[], str], name: str) -> "ApiKey":
        key = cls("")
        key._source, key._name = source, name
        return key

    def __repr__(self) -> str:
        return f"<ApiKey from {self._name}>" if self._name != "fixed" else "<ApiKey>"

    def __reduce__(self) -> str:
        raise TypeError("an ApiKey is not pickled: it would take the key along")

    def entry(self) -> bytes:
        """The metadata that shows the key. Raises the error of its source where there never was a key.

        A source that fails later, such as a file that is being replaced, leaves the key as it was.
        """
        now = time.monotonic()
        if self._entry is not None and now - self._asked < _FRESH:
            return self._entry
        try:
            found = self._source().strip().encode("ascii")
            # No quotation here: it could be a part of the key.
            if not found or not all(0x21 <= byte <= 0x7E for byte in found):
                raise ValueError(f"{self!r} gave no key: it must be printable ASCII without spaces")
        except (OSError, LookupError, ValueError) as error:
            if self._entry is None:
                if isinstance(error, UnicodeError):
                    raise ValueError(f"{self!r} gave no key: it is not ASCII") from None
                raise
            found = b""
        self._asked = now
        if found or self._entry is None:
            content = _BEARER + found
            entry = bytes([_AUTHENTICATION]) + len(content).to_bytes(3, "big") + content
            if self._entry is not None and self._entry != entry:
                self._changed_at = now
            self._entry = entry
        return self._entry

    def changed(self) -> bool:
        """Asks the source now. True where the key changed within the last ten seconds.

        A call that was refused may have shown the key before.
        """
        self._asked = float("-inf")
        self.entry()
        return time.monotonic() - self._changed_at < _JUST_NOW


def key_of(api_key: Union[ApiKey, str, None]) -> Optional[ApiKey]:
    """The key of a setting."""
    return ApiKey(api_key) if isinstance(api_key, str) else api_key
