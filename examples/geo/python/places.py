"""The last location of each device, in memory, and the watchers of changes.

Everything happens on one event loop. A watcher keeps only its position: one that is slower than the events
gets the newest event of each device, and costs no memory.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple

import stadium
from geo_pb2 import GeoEvent

#: The mean radius of the earth, in metres.
EARTH_RADIUS_M = 6_371_009


def shown(number: float) -> str:
    """A number in as few digits as give it back."""
    return str(int(number)) if number.is_integer() else repr(number)


@dataclass(frozen=True)
class Position:
    """A place on the ground. Both angles are finite and within their bounds."""

    latitude: float
    longitude: float

    def __post_init__(self) -> None:
        # Not a number is between nothing.
        if not -90 <= self.latitude <= 90:
            raise stadium.Rejected("GEO-001", f"latitude {shown(self.latitude)} is not between -90 and 90")
        if not -180 <= self.longitude <= 180:
            raise stadium.Rejected("GEO-002", f"longitude {shown(self.longitude)} is not between -180 and 180")

    def distance_m(self, other: Position) -> float:
        """Metres along the ground, by the haversine formula on a sphere; right within 0.5%."""
        north = math.sin(math.radians(other.latitude - self.latitude) / 2)
        east = math.sin(math.radians(other.longitude - self.longitude) / 2)
        latitudes = math.cos(math.radians(self.latitude)) * math.cos(math.radians(other.latitude))
        return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(north * north + latitudes * east * east))


@dataclass(frozen=True)
class Sighting:
    """Where a device was, and when by its own clock."""

    timestamp_ms: int
    position: Position
    significance: GeoEvent.Significance.ValueType

    def event(self, device: str) -> GeoEvent:
        return GeoEvent(
            device_id=device,
            timestamp_ms=self.timestamp_ms,
            latitude=self.position.latitude,
            longitude=self.position.longitude,
            significance=self.significance,
        )


class Places:
    """The devices, with the last one that changed at the end."""

    def __init__(self, devices_max: int) -> None:
        self._devices_max = devices_max
        self._devices: "OrderedDict[str, Tuple[int, Sighting]]" = OrderedDict()
        self._changed = asyncio.Event()
        self.changes = 0
        self.closed = False

    def store(self, device: str, sighting: Sighting) -> bool:
        """Keeps the sighting; false where a younger one is known. Busy where there is no room."""
        known = self._devices.get(device)
        if known is None and len(self._devices) >= self._devices_max:
            # Room comes only by an operator's hand.
            raise stadium.Busy("no room for another device", retry_after=60.0)
        if known is not None and sighting.timestamp_ms < known[1].timestamp_ms:
            return False
        if known is None or known[1] != sighting:
            self.changes += 1
            self._devices[device] = (self.changes, sighting)
            self._devices.move_to_end(device)
            self._wake()
        return True

    def last(self, device: str) -> Optional[Sighting]:
        known = self._devices.get(device)
        return None if known is None else known[1]

    def near(self, centre: Position, radius_m: float) -> List[GeoEvent]:
        """The devices in a circle."""
        within = ((device, one) for device, (_, one) in self._devices.items())
        return [one.event(device) for device, one in within if one.position.distance_m(centre) <= radius_m]

    def newer(self, than: int, at_most: int) -> Tuple[int, List[GeoEvent]]:
        """The oldest changes after one, and the number of the last of them."""
        newer = list(self._after(than))[-1 : -at_most - 1 : -1]
        events = [sighting.event(device) for device, (_, sighting) in newer]
        return (newer[-1][1][0] if newer else than, events)

    def _after(self, change: int) -> Iterator[Tuple[str, Tuple[int, Sighting]]]:
        for device, known in reversed(self._devices.items()):
            if known[0] <= change:
                return
            yield device, known

    async def change(self) -> None:
        """Waits for the next change, or until the instance leaves."""
        await self._changed.wait()

    def close(self) -> None:
        """Ends all watches, also those that begin later: the instance leaves."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        if self.closed:
            self._changed.set()
