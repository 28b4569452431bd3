"""geo-client: stores random events and prints the rate, or stores one event, asks, or watches.

Calls carry their device's id as the affinity key, so that with several instances one of them knows all about
a device. Answers go to standard output; a call that was not answered OK makes the exit code 1.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter

import stadium
from geo_pb2 import Circle, Device, GeoEvent, StorageResponse, WatchRequest
from geo_service import discovery
from geo_stadium import Geo
from places import shown

#: Seconds after which a watch is given up: the longest that a server allows.
WATCH_TIME = 600.0


def show(event: GeoEvent) -> None:
    significance = "Significant" if event.significance == GeoEvent.SIGNIFICANT else "Minor"
    place = f"{shown(event.latitude)} {shown(event.longitude)}"
    print(event.device_id, place, event.timestamp_ms, significance, flush=True)


def now_ms() -> int:
    return int(time.time() * 1000)


async def storm(client: stadium.aio.Client, flags: argparse.Namespace) -> int:
    """Stores random events, so many calls under way at once."""
    outcomes: "Counter[str]" = Counter()
    latencies = []
    why = ""
    room = asyncio.Semaphore(flags.in_flight)

    async def store() -> None:
        nonlocal why
        event = GeoEvent(
            device_id=f"device-{random.randrange(flags.devices)}",
            timestamp_ms=now_ms(),
            latitude=random.uniform(-90, 90),
            longitude=random.uniform(-180, 180),
        )
        began = time.perf_counter()
        try:
            await client.call(Geo.STORE, event, key=event.device_id.encode())
            outcomes["stored"] += 1
            latencies.append(time.perf_counter() - began)
        except stadium.Busy:
            outcomes["busy"] += 1
        except stadium.Error as error:
            outcomes["rejected" if isinstance(error, stadium.Rejected) else "failed"] += 1
            why = why or str(error)
        finally:
            room.release()

    began = time.perf_counter()
    calls = set()
    for _ in range(flags.events):
        await room.acquire()
        call = asyncio.ensure_future(store())
        calls.add(call)
        call.add_done_callback(calls.discard)
    await asyncio.gather(*calls)
    seconds = time.perf_counter() - began
    counts = ", ".join(f"{outcomes[name]} {name}" for name in ("stored", "busy", "rejected", "failed"))
    print(f"{counts} in {seconds:.2f} s")
    latencies.sort()
    if latencies:
        at = [latencies[round(part * (len(latencies) - 1))] * 1000 for part in (0.5, 0.99, 1)]
        rate = len(latencies) / seconds
        print(f"{rate:.0f} stored/s; latency p50 {at[0]:.3f} ms, p99 {at[1]:.3f} ms, max {at[2]:.3f} ms")
    if why:
        print(f"geo-client: some events were not stored, the first one: {why}", file=sys.stderr)
    return 1 if why else 0


async def run(flags: argparse.Namespace) -> int:
    settings = {"discovery": discovery(flags)} if flags.etcd or flags.zookeeper else {}
    instances = [] if settings else flags.address.split(",")
    async with stadium.aio.Client(*instances, deadline=flags.deadline / 1000, **settings) as client:
        if flags.device is not None:
            event = GeoEvent(
                device_id=flags.device,
                timestamp_ms=now_ms(),
                latitude=flags.lat,
                longitude=flags.lon,
                significance=GeoEvent.SIGNIFICANT,
            )
            answer = await client.call(Geo.STORE, event, key=flags.device.encode())
            print("Ok" if answer.code == StorageResponse.OK else "Error", answer.message)
        elif flags.last is not None:
            show(await client.call(Geo.LAST, Device(device_id=flags.last), key=flags.last.encode()))
        elif flags.near is not None:
            latitude, longitude, radius_m = map(float, flags.near.split(","))
            circle = Circle(latitude=latitude, longitude=longitude, radius_m=radius_m)
            async for event in client.stream(Geo.NEAR, circle):
                show(event)
        elif flags.watch:
            async for event in client.stream(Geo.WATCH, WatchRequest(with_last=True), deadline=WATCH_TIME):
                show(event)
        else:
            return await storm(client, flags)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="geo-client", description="Stores locations, asks for them, or watches.")
    parser.add_argument("--address", default="127.0.0.1:7801", metavar="HOST:PORT,..")
    parser.add_argument("--etcd", metavar="URL", help="finds the instances, such as http://127.0.0.1:2379")
    parser.add_argument("--zookeeper", metavar="HOST:PORT", help="the same in ZooKeeper")
    parser.add_argument("--deadline", type=int, default=1000, metavar="MS")
    parser.add_argument("--device", metavar="ID", help="stores one event; with --lat and --lon")
    parser.add_argument("--lat", type=float)
    parser.add_argument("--lon", type=float)
    parser.add_argument("--last", metavar="ID", help="where a device was last seen")
    parser.add_argument("--near", metavar="LAT,LON,METRES", help="the devices in a circle")
    parser.add_argument("--watch", action="store_true", help="prints locations as they become known")
    parser.add_argument("--events", type=int, default=100_000, metavar="N")
    parser.add_argument("--devices", type=int, default=1_000, metavar="N")
    parser.add_argument("--in-flight", type=int, default=64, metavar="N")
    flags = parser.parse_args()
    if flags.device is not None and (flags.lat is None or flags.lon is None):
        parser.error("--device needs --lat and --lon")
    if flags.near is not None and flags.near.count(",") != 2:
        parser.error("--near takes a latitude, a longitude and metres: 37.98,23.73,5000")
    try:
        return asyncio.run(run(flags))
    except stadium.Rejected as error:
        print(f"geo-client: rejected: {error}", file=sys.stderr)
    except stadium.Error as error:
        print(f"geo-client: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
