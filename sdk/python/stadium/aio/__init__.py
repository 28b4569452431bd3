"""Calls from asyncio: a client whose calls are futures, and queues, wallets and pushes over it."""

from . import audiences, push, queue, wallet
from ._client import Channel, Client, Stream
from .worker import Worker

__all__ = ["Channel", "Client", "Stream", "Worker", "audiences", "push", "queue", "wallet"]
