"""geo-service: keeps the last location of every device, until SIGTERM asks it to leave."""

import argparse
import asyncio
import signal
import time
from typing import AsyncIterator

import stadium
from geo_pb2 import Circle, Device, GeoEvent, StorageResponse, WatchRequest
from geo_stadium import Geo
from places import Places, Position, Sighting, shown

DEVICE_ID_BYTES_MAX = 128
#: How far a device's clock may be ahead, in milliseconds. An event further ahead would hide all later ones.
AHEAD_MAX_MS = 60_000
#: Events of a watch that are read at once: an event behind others was read that much earlier.
WATCHED_AT_ONCE = 64


def service(places: Places) -> stadium.Service:
    geo = stadium.Service(Geo.NAME, Geo.VERSION, descriptors=Geo.FILE_DESCRIPTOR_SET)

    @geo.on(Geo.STORE)
    async def store(event: GeoEvent, call: stadium.Call) -> StorageResponse:
        position = Position(event.latitude, event.longitude)
        length = len(event.device_id.encode())
        if not 1 <= length <= DEVICE_ID_BYTES_MAX:
            raise stadium.Rejected("GEO-003", f"device id has {length} bytes, not 1 to 128")
        if event.timestamp_ms > time.time() * 1000 + AHEAD_MAX_MS:
            raise stadium.Rejected("GEO-006", f"timestamp {event.timestamp_ms} ms is more than 60 s ahead")
        known = event.significance in GeoEvent.Significance.values()
        significance = event.significance if known else GeoEvent.MINOR
        kept = places.store(event.device_id, Sighting(event.timestamp_ms, position, significance))
        return StorageResponse(message="" if kept else "a later location is known")

    @geo.on(Geo.LAST)
    async def last(device: Device, call: stadium.Call) -> GeoEvent:
        sighting = places.last(device.device_id)
        if sighting is None:
            raise stadium.Rejected("GEO-004", f'device "{device.device_id}" was never seen here')
        return sighting.event(device.device_id)

    @geo.on(Geo.NEAR)
    async def near(circle: Circle, call: stadium.Call) -> AsyncIterator[GeoEvent]:
        centre = Position(circle.latitude, circle.longitude)
        if not 0 < circle.radius_m < float("inf"):
            raise stadium.Rejected("GEO-005", f"radius {shown(circle.radius_m)} m is not more than 0")
        for event in places.near(centre, circle.radius_m):
            yield event

    @geo.on(Geo.WATCH)
    async def watch(request: WatchRequest, call: stadium.Call) -> AsyncIterator[GeoEvent]:
        behind = 0 if request.with_last else places.changes
        while not places.closed:
            behind, events = places.newer(behind, WATCHED_AT_ONCE)
            for event in events:
                yield event
            if not events:
                await places.change()

    return geo


async def main() -> None:
    parser = argparse.ArgumentParser(prog="geo-service", description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:7801", metavar="IP:PORT")
    parser.add_argument("--devices-max", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--etcd", metavar="URL", help="registers the instance, such as http://127.0.0.1:2379")
    parser.add_argument("--zookeeper", metavar="HOST:PORT", help="the same in ZooKeeper")
    parser.add_argument("--zone", help="the zone to register")
    parser.add_argument("--grace", type=float, default=30.0, metavar="SECONDS", help="how long leaving may take")
    flags = parser.parse_args()
    places = Places(flags.devices_max)
    server = stadium.Server(service(places), listen=flags.listen, discovery=discovery(flags), zone=flags.zone)
    print(f"geo {Geo.VERSION} listens on {server.addresses[0]}", flush=True)
    stop = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    await stop.wait()
    # Watches never end by themselves.
    places.close()
    await server.shutdown(flags.grace)


def discovery(flags: argparse.Namespace) -> "stadium.Discovery | None":
    if flags.etcd is not None:
        return stadium.Discovery("etcd://" + flags.etcd.removeprefix("http://"))
    if flags.zookeeper is not None:
        return stadium.Discovery(f"zk://{flags.zookeeper}")
    return None


if __name__ == "__main__":
    asyncio.run(main())
