"""Measures what streams of topics cost: 1,000 of them read 100 messages a second, and MQTT beside them.

    target/python/bin/python testing/python/measure_streams.py [STREAMS] [SECONDS]

One process publishes over MQTT and reads the same topic over MQTT; another reads all streams. Three
rounds: without streams, with streams of other topics, with streams of this one.
"""

import multiprocessing
import pathlib
import resource
import select
import socket
import struct
import sys
import time

import server as servers

RATE = 100
TOPIC = "measured/topic"
# Streams of which each event is looked at; of the others bytes are counted.
SAMPLED = 50


def main():
    streams, seconds = (int(word) for word in (sys.argv[1:] + ["1000", "10"][len(sys.argv) - 1 :])[:2])
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    settings = (
        f"[http]\ntopic_streams_max = {streams}\nconnections_max = {streams + 100}\n"
        f"connections_per_address_max = {streams + 100}\nkeyless_requests_per_second_max = 0\n"
    )
    server = servers.Server(settings=settings)
    try:
        for name, topic in (("no streams", None), (f"{streams} streams of other topics", "other/{}"), (f"{streams} streams", TOPIC)):
            round_of(server, name, topic, streams, seconds)
    finally:
        server.stop()


def round_of(server, name, topic, streams, seconds):
    before = cpu_s(server.process.pid)
    context = multiprocessing.get_context("spawn")
    reader = None
    if topic:
        ready, wanted = context.Event(), context.Pipe()
        reader = context.Process(target=read_streams, args=(server.ws, topic, streams, seconds, ready, wanted[1]))
        reader.start()
        assert ready.wait(120), "the streams did not open"
        before = cpu_s(server.process.pid)
    began = time.monotonic()
    latencies = publish(server.tcp, seconds)
    busy = (cpu_s(server.process.pid) - before) / (time.monotonic() - began)
    line = f"{name:32} mqtt {shown(latencies)}  server {busy:4.0%} of a core"
    if reader:
        assert wanted[0].poll(60), "the streams gave nothing"
        events, seen = wanted[0].recv()
        reader.join()
        if topic == TOPIC:
            line += f"  streams {shown(seen)}  {events} of {streams * RATE * seconds} events"
    print(line, flush=True)


def shown(latencies_ns):
    ordered = sorted(latencies_ns)
    at = lambda part: ordered[min(len(ordered) - 1, int(len(ordered) * part))] / 1e6
    return f"p50 {at(0.5):6.2f} ms  p99 {at(0.99):6.2f} ms"


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def mqtt(port, name):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body = b"\x00\x04MQTT\x04\x02\x00\x3c" + struct.pack(">H", len(name)) + name
    connection.sendall(bytes([0x10, len(body)]) + body)
    assert connection.recv(4) == b"\x20\x02\x00\x00"
    return connection


def publish(port, seconds):
    """Publishes at the rate, and reads what it published; the latencies."""
    reader, writer = mqtt(port, b"reader"), mqtt(port, b"writer")
    topic = struct.pack(">H", len(TOPIC)) + TOPIC.encode()
    body = b"\x00\x01" + topic + b"\x00"
    reader.sendall(bytes([0x82, len(body)]) + body)
    assert reader.recv(5)[0] == 0x90
    latencies = []
    start = time.monotonic_ns()
    for number in range(RATE * seconds):
        while time.monotonic_ns() < start + number * 1_000_000_000 // RATE:
            time.sleep(0.0002)
        packet = topic + b"%020d" % time.monotonic_ns()
        writer.sendall(bytes([0x30, len(packet)]) + packet)
        got = b""
        while len(got) < len(packet) + 2:
            got += reader.recv(4_096)
        latencies.append(time.monotonic_ns() - int(got[-20:]))
    return latencies


def read_streams(port, topic, streams, seconds, ready, answer):
    key_less = "GET /api/topics/stream?topic={} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    poll, open_ones, waiting = select.epoll(), {}, set()
    for number in range(streams):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(key_less.format(topic.format(number)).encode())
        open_ones[connection.fileno()] = [connection, number < SAMPLED, b""]
        waiting.add(connection.fileno())
        poll.register(connection, select.EPOLLIN)
        connection.setblocking(False)
    events, latencies, end = 0, [], None
    while end is None or time.monotonic() < end:
        for fd, _ in poll.poll(0.1):
            entry = open_ones[fd]
            text = entry[0].recv(1 << 16)
            assert text, "a stream ended"
            if b"event: subscribed" in text and fd in waiting:
                waiting.discard(fd)
                if not waiting:
                    ready.set()
                    end = time.monotonic() + seconds + 3
                continue
            now = time.monotonic_ns()
            # A chunk of its own for each event: none is cut by what is counted here.
            events += text.count(b'"payload":"')
            if entry[1]:
                for part in text.split(b'"payload":"')[1:]:
                    latencies.append(now - int(part[:20]))
    answer.send((events, latencies))


if __name__ == "__main__":
    main()
