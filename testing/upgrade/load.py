"""Clients that work while the program of their server changes, and the account of what they were promised.

Each repeats what was not answered, with the same id, until it is. So what an answer or an acknowledgement has promised must be there
at the end, and nothing else may happen twice.
"""

import collections
import threading
import time
import uuid
from dataclasses import dataclass

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from program import SESSION_S
from server import until

ASSET = "COIN"
WALLETS = [f"w{n}" for n in range(8)]
AWAY = [f"away-{n}" for n in range(4)]
ISSUED = 10_000


class Phone:
    """A device with a session that paho connects again by itself."""

    def __init__(self, server, name, *filters):
        self.server, self.name, self.filters = server, name, filters
        self.got = []
        self.sent = []
        self.numbers = set()
        self.refused = 0
        self.connects = 0
        self.subscribed = threading.Event()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=name, protocol=paho.MQTTv5)
        self.client.reconnect_delay_set(1, 1)
        self.client.max_inflight_messages_set(20)
        self.client.on_connect = self._connected
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        self.client.on_message = lambda _c, _d, message: self.got.append((message.topic, message.payload.decode()))
        self.client.on_publish = lambda _c, _d, mid, reason, _p: self._published(mid, reason)

    def start(self):
        kept = Properties(PacketTypes.CONNECT)
        kept.SessionExpiryInterval = SESSION_S
        self.client.connect("127.0.0.1", self.server.tcp, 30, clean_start=False, properties=kept)
        self.client.loop_start()
        if self.filters:
            assert self.subscribed.wait(20), self.name
        return self

    def _connected(self, client, _data, _flags, reason, _properties):
        assert not reason.is_failure, reason
        self.connects += 1
        if self.filters and self.connects == 1:
            client.subscribe([(each, paho.SubscribeOptions(qos=1)) for each in self.filters])

    def _published(self, mid, reason):
        self.refused += reason.is_failure
        self.numbers.add(mid)

    def publish(self, topic, payload, retain=False):
        """Publishes with QoS 1; what was not acknowledged before a connection ended is sent again."""
        self.sent.append((self.client.publish(topic, payload, qos=1, retain=retain).mid, topic, payload))
        assert len(self.sent) < 65_535, "packet ids repeat"

    @property
    def acknowledged(self):
        assert not self.refused
        numbers = set(self.numbers)
        return [(topic, payload) for mid, topic, payload in list(self.sent) if mid in numbers]

    def stop(self):
        """Leaves without giving the session up."""
        self.client.disconnect()
        self.client.loop_stop()


@dataclass
class Promised:
    """Promises of one moment, for a server that goes back to it."""

    jobs: set
    settled: set
    transfers: set
    pushes: dict

    def are_there(self, server):
        found = set()

        def look():
            jobs = server.ask("POST", "/api/queues/upgrade/reserve", {"max": 100, "lease_ms": 60_000})["jobs"]
            found.update(job["payload"] for job in jobs)
            # Two workers held five jobs each; whether they were settled is not known.
            return len(self.jobs - self.settled - found) <= 10 and not jobs

        until("the jobs that were not settled", look, within_s=60)
        assert not found & self.settled, "a settled job is back"
        for name in self.transfers:
            assert server.ask("GET", f"/api/transfers/{name}")["state"] == "posted"
        for name, wanted in self.pushes.items():
            phone = Phone(server, name, f"inbox/{name}").start()
            until(f"{name} has its pushes", lambda: set(wanted) <= {payload for _, payload in phone.got}, within_s=60)
            phone.stop()


class Load:
    """Devices, producers, workers, payers and pushers, until they are stopped."""

    def __init__(self, server):
        self.server = server
        self.stopping = threading.Event()
        self.failures = []
        self.jobs, self.settled, self.seen = set(), set(), collections.Counter()
        self.transfers, self.pushes = set(), {name: [] for name in AWAY}
        server.ask("PUT", f"/api/assets/{ASSET}", {"scale": 0})
        for wallet in WALLETS:
            server.ask("POST", "/api/wallets", {"wallet": wallet, "asset": ASSET})
            first = {"debit": "@bank", "credit": wallet, "asset": ASSET, "amount": ISSUED, "id": str(uuid.uuid4())}
            server.ask("POST", "/api/transfers", first)
        for name in AWAY:
            phone = Phone(server, name, f"inbox/{name}").start()
            until(f"{name} is registered", lambda: server.call("GET", f"/api/apps/default/devices/{name}")[0] == 200)
            phone.stop()
        self.readers = [Phone(server, f"reader-{n}", "load/#").start() for n in range(2)]
        self.writers = [Phone(server, f"writer-{n}").start() for n in range(2)]
        work = [self._put, self._put, self._work, self._work, self._pay, self._pay, self._push]
        work += [lambda writer=writer: self._publish(writer) for writer in self.writers]
        self.threads = [threading.Thread(target=self._run, args=(each,), daemon=True) for each in work]
        for thread in self.threads:
            thread.start()

    def _run(self, work):
        try:
            work()
        except Exception as error:
            self.failures.append(error)

    def _answered(self, method, path, body):
        """Repeats a request until it is answered; the server may be gone for a while."""
        while True:
            try:
                status, answer = self.server.call(method, path, body)
            except OSError:
                status, answer = 503, "no connection"
            if status < 429 or status == 501:
                return status, answer
            if self.stopping.is_set():
                return None, answer
            time.sleep(0.02)

    def _put(self):
        while not self.stopping.is_set():
            name = str(uuid.uuid4())
            status, answer = self._answered("POST", "/api/queues/upgrade/jobs", {"payload": name, "dedup_id": name, "attempts_max": 100})
            if status is not None:
                assert status in (200, 201), (status, answer)
                self.jobs.add(name)
            time.sleep(0.005)

    def _work(self):
        while not self.stopping.is_set():
            self.work_once()

    def work_once(self):
        """Takes some jobs and settles them. Returns how many there were."""
        status, answer = self._answered("POST", "/api/queues/upgrade/reserve", {"max": 5, "lease_ms": 2_000, "wait_ms": 50})
        if status is None:
            return 0
        assert status == 200, (status, answer)
        for job in answer["jobs"]:
            name = job["payload"]
            assert name not in self.settled, f"{name} is back, and was settled"
            self.seen[name] += 1
            status, answer_to_it = self._answered("POST", f"/api/leases/{job['lease']}/settle", None)
            # A lease that ran out while the server was away is refused, and the job comes again.
            if status == 200:
                self.settled.add(name)
            else:
                assert status in (None, 404, 409, 410), (status, answer_to_it)
        return len(answer["jobs"])

    def _pay(self):
        number = 0
        while not self.stopping.is_set():
            number += 1
            debit, credit = WALLETS[number % 8], WALLETS[(number * 3 + 1) % 8]
            if debit == credit:
                continue
            name = str(uuid.uuid4())
            body = {"debit": debit, "credit": credit, "asset": ASSET, "amount": 1 + number % 7, "id": name}
            status, answer = self._answered("POST", "/api/transfers", body)
            if status is not None:
                assert status in (200, 201), (status, answer)
                self.transfers.add(answer["id"])
            time.sleep(0.005)

    def _push(self):
        number = 0
        while not self.stopping.is_set():
            number += 1
            name = AWAY[number % len(AWAY)]
            text = f"push {number}"
            body = {"id": str(uuid.uuid4()), "audience": {"device": name}, "message": text}
            status, answer = self._answered("POST", "/api/apps/default/pushes", body)
            if status is not None:
                assert status == 202, (status, answer)
                self.pushes[name].append(text)
            time.sleep(0.05)

    def _publish(self, writer):
        number = 0
        while not self.stopping.is_set():
            number += 1
            writer.publish(f"load/{writer.name}", f"{number}")
            if number % 10 == 0:
                writer.publish(f"state/{writer.name}", f"{number}", retain=True)
            time.sleep(0.005)

    def counts(self):
        """Counts of the promises so far, by kind."""
        published = sum(len(writer.acknowledged) for writer in self.writers)
        pushed = sum(len(texts) for texts in self.pushes.values())
        return {
            "published": published,
            "put": len(self.jobs),
            "settled": len(self.settled),
            "transfers": len(self.transfers),
            "pushes": pushed,
        }

    def promised(self):
        """The promises so far, while the server is away: nothing is answered meanwhile."""
        return Promised(set(self.jobs), set(self.settled), set(self.transfers), {name: list(texts) for name, texts in self.pushes.items()})

    def goes_on(self, more=20):
        """Waits until each kind of work was done so many times more."""
        before = self.counts()

        def look():
            assert not self.failures, self.failures
            now = self.counts()
            return all(now[kind] >= before[kind] + more for kind in now)

        until(f"{more} more than {before}", look, within_s=90)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive(), thread
        assert not self.failures, self.failures

    def everything_promised_is_there(self):
        """Looks at each promise, once no work is under way."""
        server = self.server
        published = [message for writer in self.writers for message in writer.acknowledged]
        messages = {(topic, payload) for topic, payload in published if topic.startswith("load/")}
        for reader in self.readers:
            until(f"{reader.name} has all messages", lambda: messages <= set(reader.got), within_s=60)
        late = Phone(server, "late", "state/#").start()
        for writer in self.writers:
            states = [int(payload) for topic, payload in writer.acknowledged if topic.startswith("state/")]
            at_least = max(states)

            def newest():
                got = [int(payload) for topic, payload in late.got if topic == f"state/{writer.name}"]
                return got and got[-1] >= at_least

            until(f"the retained message of {writer.name} is not older than {at_least}", newest)
        late.stop()
        # A lease of a worker that was stopped runs out after two seconds.
        until("all jobs are settled", lambda: self.work_once() == 0 and self.jobs <= self.settled, within_s=60)
        for name in self.transfers:
            assert server.ask("GET", f"/api/transfers/{name}")["state"] == "posted"
        balances = [server.ask("GET", f"/api/wallets/{wallet}/{ASSET}") for wallet in WALLETS]
        assert sum(each["posted"] for each in balances) == ISSUED * len(WALLETS)
        assert all(each["held"] == 0 for each in balances), balances
        for name in AWAY:
            phone = Phone(server, name, f"inbox/{name}").start()
            wanted = self.pushes[name]
            got = lambda: [payload for _, payload in phone.got]
            until(f"{name} has its {len(wanted)} pushes", lambda: set(wanted) <= set(got()), within_s=60)
            phone.stop()

    def close(self):
        self.stopping.set()
        for phone in self.readers + self.writers:
            phone.stop()
