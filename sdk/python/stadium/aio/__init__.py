"""Calls from asyncio: a client whose calls are futures, and the queues, wallets and pushes over it."""

from ._client import Channel, Client, Stream

__all__ = ["Channel", "Client", "Stream"]
