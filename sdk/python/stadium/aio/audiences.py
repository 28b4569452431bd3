"""The devices of an app, and the audiences that selectors make of them. docs/audiences.md has the fields."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from .. import _routes as routes
from .._jobs import IN_ONE_REQUEST
from .._pushes import Change, DeviceChanged, Selector, change_message, changed
from ..v1 import push_pb2 as pb
from ._client import Client

__all__ = ["Change", "DeviceChanged", "Devices", "Selector"]


class Devices:
    """The registered devices of an app."""

    def __init__(self, client: Client, app: str = "default") -> None:
        self.app = app
        self._client = client

    async def change(self, device: str, change: Optional[Change] = None) -> bool:
        """Changes what is known of a device, and registers one that is new. Returns whether it is new.

        Only the fields in `change` change; None clears one:
        `{"language": "de", "named_user": None, "tags": {"add": ["vip"]}}`.
        """
        return (await self.change_many([(device, change)]))[0].check().registered

    async def change_many(
        self, changes: Union[Mapping[str, Optional[Change]], Iterable[Tuple[str, Optional[Change]]]]
    ) -> List[DeviceChanged]:
        """Changes any number of devices, each with a result in its order.

        Requests of 1,000 devices follow one another. Where one fails, its error is raised and those before
        it have happened; all of it may be sent again. A change that cannot be read fails its request.
        """
        pairs = changes.items() if isinstance(changes, Mapping) else changes
        messages = [change_message(device, change) for device, change in pairs]
        results: List[DeviceChanged] = []
        for at in range(0, len(messages), IN_ONE_REQUEST):
            part = messages[at : at + IN_ONE_REQUEST]
            request = pb.ChangeDevicesRequest(app=self.app, devices=part)
            results += changed(part, await self._client.call(routes.PUSH_CHANGE_DEVICES, request))
        return results

    async def remove(self, *devices: str) -> int:
        """Forgets any number of devices, with what they are owed, and cuts their connections.

        Returns how many there were. Takes an admin's key.
        """
        removed = 0
        for at in range(0, len(devices), IN_ONE_REQUEST):
            request = pb.DevicesNamed(app=self.app, devices=devices[at : at + IN_ONE_REQUEST])
            removed += (await self._client.call(routes.PUSH_REMOVE_DEVICES, request)).devices
        return removed

    async def find(self, device: str) -> pb.DeviceReport:
        """One device, its connection, what it is owed and its newest pushes."""
        request = pb.DeviceNamed(app=self.app, device=device)
        return await self._client.call(routes.PUSH_FIND_DEVICE, request)

    async def fields(self, device: str) -> Dict[str, Any]:
        """What is registered of a device: the fields of docs/audiences.md."""
        found: Dict[str, Any] = json.loads((await self.find(device)).device)
        return found

    async def admit(self, device: str, secret: Optional[str] = None) -> str:
        """Gives a device the secret with which it connects from now on, and returns it.

        Without a secret one of 256 random bits is made. The server keeps only its SHA-256. Takes an
        admin's key, as the methods below.
        """
        secret = secrets.token_urlsafe(32) if secret is None else secret
        digest = hashlib.sha256(secret.encode()).digest()
        request = pb.AdmitRequest(app=self.app, device=device, secret_sha256=digest)
        await self._client.call(routes.PUSH_ADMIT, request)
        return secret

    async def take_credential(self, device: str) -> None:
        """Takes a device's credential away."""
        request = pb.AdmitRequest(app=self.app, device=device, no_credential=True)
        await self._client.call(routes.PUSH_ADMIT, request)

    async def revoke(self, device: str) -> None:
        """Keeps a device out, and cuts its connection."""
        request = pb.AdmitRequest(app=self.app, device=device, revoked=True)
        await self._client.call(routes.PUSH_ADMIT, request)

    async def restore(self, device: str) -> None:
        """Lets a device in again."""
        request = pb.AdmitRequest(app=self.app, device=device, revoked=False)
        await self._client.call(routes.PUSH_ADMIT, request)

    async def preview(self, selector: Selector, *, sample: int = 0) -> pb.AudiencePreview:
        """How many devices a selector reaches, who is kept out by what, and up to 100 ids as a sample."""
        request = pb.PreviewRequest(app=self.app, selector=json.dumps(selector), sample_max=sample)
        return await self._client.call(routes.PUSH_PREVIEW, request)
