"""Calls a Java server with Stadium's Python SDK. Arguments: what to do, the address, a bearer token."""

import json
import sys
import time

import stadium

WHAT, ADDRESS = sys.argv[1], sys.argv[2]
ECHO = stadium.unary("test/Echo", bytes, bytes)
REFUSE = stadium.unary("test/Refuse", bytes, bytes)
NEVER = stadium.unary("test/Never", bytes, bytes)
SLOW = stadium.unary("test/Slow", bytes, bytes)
TELL = stadium.one_way("test/Tell", bytes)
TOLD = stadium.unary("test/Told", bytes, bytes)
COUNT = stadium.stream("test/Count", bytes, bytes)
TALK = stadium.channel("test/Talk", bytes, bytes)


def outcome(client, method, request, **options):
    try:
        return client.call(method, request, **options).decode()
    except stadium.Error as error:
        return type(error).__name__


def interactions():
    with stadium.Client(ADDRESS, attempts=1, deadline=30.0) as client:
        client.one_way(TELL, b"told")
        counted = [int(one) for one in client.stream(COUNT, b"1000", credit=7)]
        channel = client.channel(TALK, b"a")
        channel.send(b"b")
        channel.complete()
        return {
            "unary": outcome(client, ECHO, b"hello"),
            "large": len(client.call(ECHO, bytes(1 << 20))),
            "told": outcome(client, TOLD, b""),
            "counted": counted == list(range(1000)),
            "talked": [one.decode() for one in channel],
            "busy": outcome(client, REFUSE, b"busy"),
            "rejected": outcome(client, REFUSE, b"rejected"),
            "unknown": outcome(client, REFUSE, b"bug"),
            "deadline": outcome(client, NEVER, b"", deadline=0.2),
            "route": outcome(client, stadium.unary("test/Lost", bytes, bytes), b""),
            "wrong": outcome(client, stadium.unary("test/Count", bytes, bytes), b""),
        }


def cancels():
    with stadium.Client(ADDRESS, attempts=1) as client:
        future = client.submit(NEVER, b"", deadline=60.0)
        while outcome(client, TOLD, b"") != "began":
            time.sleep(0.01)
        future.cancel()
        while outcome(client, TOLD, b"") != "cancelled":
            time.sleep(0.01)
        return {"cancelled": True}


def load():
    """Calls with twenty in flight until the instance has gone. Every call has an outcome."""
    ends = {}
    with stadium.Client(ADDRESS, attempts=1, deadline=60.0, unreachable_grace=0.1) as client:
        flying = []
        gone = False
        while flying or not gone:
            while len(flying) < 20 and not gone:
                flying.append(client.submit(SLOW, b"x"))
            try:
                flying.pop(0).result()
                end = "ok"
            except stadium.Error as error:
                end = type(error).__name__
            ends[end] = ends.get(end, 0) + 1
            if ends.get("ok", 0) == 100 and end == "ok":
                print("going", flush=True)
            gone = gone or end in ("Unavailable", "Busy", "ConnectionBroken")
    return ends


print(json.dumps({"interactions": interactions, "cancels": cancels, "load": load}[WHAT]()), flush=True)
