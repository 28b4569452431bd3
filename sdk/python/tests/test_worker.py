"""Workers on a real server: killed, restarted, stopped, refused."""

import asyncio
import signal
import threading
import time

import pytest

import stadium
from conftest import SOON, until
from stadium.aio.queue import Queue
from stadium.queue import QueueSettings
from words import eventually

#: The shortest lease, and retries without delay.
QUICK = QueueSettings(lease=1, backoff_first=0.01, backoff_max=0.02, attempts_max=100)

WORKER = """
import sys, time
import stadium
rpc, key, queue, effects, seconds, concurrency = sys.argv[1:]

def work(job):
    with open(effects, "a") as file:
        file.write(f"begin {job.payload.decode()}\\n")
    time.sleep(float(seconds))
    with open(effects, "a") as file:
        file.write(f"end {job.payload.decode()}\\n")

with stadium.Client(rpc, api_key=stadium.ApiKey.from_file(key)) as client:
    worker = stadium.Worker(client, queue, work, concurrency=int(concurrency), lease=1.5, drain_within=5)
    print("ready", flush=True)
    worker.run()
    print(worker.counts.settled, worker.counts.released, worker.counts.unconfirmed, flush=True)
"""


@pytest.fixture
def client(node):
    with stadium.Client(node.rpc, api_key=stadium.ApiKey.from_file(node.admin_key)) as client:
        yield client


@pytest.fixture
def queue(client, request):
    """A queue of the test's own."""
    queue = stadium.queue.Queue(client, request.node.name[:100])
    queue.declare(QUICK)
    return queue


@pytest.fixture
def effects(tmp_path):
    path = tmp_path / "effects"
    path.touch()
    return path


def ended(effects):
    return [line[4:] for line in effects.read_text().splitlines() if line.startswith("end ")]


def worked(node, queue, handler, story, **settings):
    """Runs a story beside a worker; both have a client for asyncio. Returns the counts."""

    async def inside():
        key = settings.pop("api_key", stadium.ApiKey.from_file(node.admin_key))
        async with stadium.aio.Client(node.rpc, api_key=key) as client:
            worker = stadium.aio.Worker(client, queue.name, handler, **settings)
            running = asyncio.create_task(worker.run())
            try:
                await story(worker, Queue(client, queue.name))
            finally:
                worker.stop()
                await asyncio.wait_for(running, SOON)
            return worker.counts

    return asyncio.run(asyncio.wait_for(inside(), 3 * SOON))


def test_jobs_are_settled_and_no_more_run_at_once_than_wanted(node, queue):
    queue.put_many([b"%d" % nth for nth in range(200)])
    running, most, done = 0, 0, []

    async def work(job):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        done.append(int(job.payload))

    async def story(worker, _):
        await eventually("all are done", lambda: len(done) == 200)
        await eventually("all are settled", lambda: worker.counts.settled == 200)

    worked(node, queue, work, story, concurrency=7)
    assert sorted(done) == list(range(200)) and 1 < most <= 7
    stats = queue.stats()
    assert (stats.settled, stats.retried, stats.reserved, stats.due) == (200, 0, 0, 0)


def test_plain_functions_run_on_threads_side_by_side(node, queue):
    queue.put_many([b"x"] * 4)
    together, names = threading.Barrier(4, timeout=SOON), set()

    def work(job):
        together.wait()
        names.add(threading.current_thread().name)

    async def story(worker, _):
        await eventually("all are settled", lambda: worker.counts.settled == 4)

    worked(node, queue, work, story, concurrency=4)
    assert len(names) == 4


def test_exceptions_say_what_becomes_of_a_job(node, queue):
    retried, buried, failed = queue.put_many([b"retry", b"bury", b"fail"])
    seen = []

    async def work(job):
        seen.append((job.payload, job.attempt))
        if job.attempt > 1:
            return
        if job.payload == b"retry":
            raise stadium.Retry("not yet", after=0.2)
        if job.payload == b"bury":
            raise stadium.Bury("nobody can do this")
        raise ValueError("it broke")

    async def story(worker, _):
        await eventually("two are settled", lambda: worker.counts.settled == 2)
        await eventually("one is buried", lambda: worker.counts.buried == 1)

    counts = worked(node, queue, work, story)
    assert sorted(seen) == [(b"bury", 1), (b"fail", 1), (b"fail", 2), (b"retry", 1), (b"retry", 2)]
    assert counts.released == 2
    assert queue.find(buried.job).reason == "nobody can do this"
    assert [job.job for job in queue.peek("buried")] == [buried.job]
    reasons = {entry.reason for job in (retried, failed) for entry in queue.history(job.job)}
    assert {"not yet", "ValueError: it broke"} <= reasons
    assert queue.kick(oldest=10) == 1


def test_a_lease_is_extended_while_the_handler_runs(node, queue):
    queue.put(b"long")
    began = []

    async def work(job):
        began.append(job.attempt)
        await asyncio.sleep(2.5)

    async def story(worker, _):
        await eventually("it is settled", lambda: worker.counts.settled == 1)

    worked(node, queue, work, story, lease=1)
    assert began == [1] and queue.stats().retried == 0


def test_a_handler_whose_lease_is_lost_is_cancelled(node, queue):
    job = queue.put(b"x").job
    began, cancelled = [], []

    async def work(job):
        began.append(job.id)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(job.cancelled)
            raise

    async def story(worker, queue):
        await eventually("it has begun", lambda: began)
        (await queue.delete(job))[0].check()
        await eventually("the handler is cancelled", lambda: cancelled)

    counts = worked(node, queue, work, story, lease=1)
    assert cancelled == [True] and (counts.lost, counts.released, counts.settled) == (1, 0, 0)


def test_a_stopped_worker_finishes_what_runs_and_gives_the_rest_back(node, queue):
    queue.put_many([b"quick"] * 2 + [b"endless"] * 2)
    began = []

    async def work(job):
        began.append(job.payload)
        await asyncio.sleep(0.3 if job.payload == b"quick" else 60)

    async def story(worker, _):
        await eventually("all have begun", lambda: len(began) == 4)

    counts = worked(node, queue, work, story, concurrency=4, drain_within=1)
    assert (counts.settled, counts.released, counts.unconfirmed) == (2, 2, 0)
    stats = queue.stats()
    assert (stats.settled, stats.due + stats.delayed, stats.reserved) == (2, 2, 0)


def test_a_worker_on_a_thread_is_stopped_from_another(client, queue):
    queue.put_many([b"x"] * 5)
    worker = stadium.Worker(client, queue.name, lambda job: None, concurrency=2)
    thread = threading.Thread(target=worker.run)
    thread.start()
    until("all are settled", lambda: queue.stats().settled == 5)
    worker.stop()
    thread.join(SOON)
    assert not thread.is_alive() and worker.counts.settled == 5
    stopped = stadium.Worker(client, queue.name, lambda job: None)
    stopped.stop()
    stopped.run()


def test_a_worker_that_is_killed_in_a_job_loses_nothing(node, queue, effects, program):
    queue.put(b"one")
    arguments = (node.rpc, str(node.admin_key), queue.name, str(effects))
    first = program(WORKER, *arguments, "60", "1")
    until("the job has begun", lambda: "begin one" in effects.read_text())
    first.process.kill()
    second = program(WORKER, *arguments, "0", "1")
    until("the job is done", lambda: ended(effects) == ["one"])
    until("the job is settled", lambda: queue.stats().settled == 1)
    second.process.send_signal(signal.SIGTERM)
    assert second.line() == "ready" and second.line() == "1 0 0" and second.end() == 0
    assert queue.stats().reserved == 0


def test_sigterm_lets_what_runs_finish(node, queue, effects, program):
    queue.put_many([b"a", b"b", b"c"])
    worker = program(WORKER, node.rpc, str(node.admin_key), queue.name, str(effects), "0.7", "2")
    until("two have begun", lambda: effects.read_text().count("begin") == 2)
    worker.process.send_signal(signal.SIGTERM)
    assert worker.line() == "ready" and worker.line().startswith("2 ") and worker.end() == 0
    assert sorted(ended(effects)) == ["a", "b"]
    stats = queue.stats()
    assert (stats.settled, stats.due, stats.reserved) == (2, 1, 0)


def test_a_plain_function_that_does_not_end_does_not_hold_the_program_up(node, queue, effects, program):
    queue.put(b"endless")
    worker = program(
        WORKER.replace("drain_within=5", "drain_within=0.2"),
        node.rpc, str(node.admin_key), queue.name, str(effects), "600", "1",
    )
    until("it has begun", lambda: "begin" in effects.read_text())
    worker.process.send_signal(signal.SIGTERM)
    assert worker.line() == "ready" and worker.line() == "0 1 0" and worker.end() == 0
    assert queue.stats().reserved == 0


def test_a_key_that_is_revoked_ends_the_worker_with_its_error(node, queue):
    id, secret = node.key(grants=[f"queue.reserve:{queue.name}"])
    queue.put_many([b"x"] * 3)
    began = []

    async def work(job):
        began.append(job)
        await asyncio.sleep(60)

    async def story(worker, _):
        await eventually("they have begun", lambda: len(began) == 3)
        node.revoke(id)
        await eventually("the worker stops", lambda: worker._stop.is_set())

    start = time.monotonic()
    with pytest.raises(stadium.Rejected) as refused:
        worked(node, queue, work, story, api_key=secret, lease=1, drain_within=0.2)
    assert refused.value.code == "NODE-009" and time.monotonic() - start < SOON
    until("the jobs are due again", lambda: queue.stats().due == 3)


def test_a_key_that_is_rotated_is_used_without_a_stop(node, queue, tmp_path):
    grants = [f"queue.reserve:{queue.name}"]
    (old_id, old), (_, new) = node.key(grants=grants), node.key(grants=grants)
    file = tmp_path / "worker.key"
    file.write_text(old + "\n")
    done = []

    async def work(job):
        done.append(job.payload)

    async def story(worker, _):
        queue.put(b"before")
        await eventually("the first is settled", lambda: worker.counts.settled == 1)
        file.write_text(new + "\n")
        node.revoke(old_id)
        await asyncio.sleep(0.3)  # The time after which a revoked key is refused over RPC.
        queue.put(b"after")
        await eventually("the second is settled", lambda: worker.counts.settled == 2)

    worked(node, queue, work, story, api_key=stadium.ApiKey.from_file(file), lease=1)
    assert done == [b"before", b"after"]


def test_two_thousand_jobs_survive_kills_and_restarts(effects, program):
    from nodes import Node

    node = Node()
    try:
        with stadium.Client(node.rpc, api_key=stadium.ApiKey.from_file(node.admin_key)) as client:
            queue = stadium.queue.Queue(client, "many")
            queue.declare(QUICK)
            for start in range(0, 2_000, 1_000):
                queue.put_many([b"%d" % nth for nth in range(start, start + 1_000)])

            def worker():
                key = str(node.admin_key)
                return program(WORKER, node.rpc, key, queue.name, str(effects), "0.005", "16")

            def done(count):
                until(f"{count} are done", lambda: effects.read_text().count("end") >= count)

            first, second = worker(), worker()
            done(200)
            first.process.kill()
            third = worker()
            done(600)
            node.kill()
            node.start_again()
            done(1_000)
            second.process.send_signal(signal.SIGTERM)
            assert second.end() == 0
            done(1_400)
            node.restart()
            third.process.kill()
            last = worker()
            until("all are settled", lambda: _stats(queue).settled == 2_000)
            last.process.send_signal(signal.SIGTERM)
            assert last.end() == 0
            stats = queue.stats()
        assert {int(name) for name in ended(effects)} == set(range(2_000))
        assert (stats.put, stats.settled, stats.dead, stats.buried) == (2_000, 2_000, 0, 0)
        assert (stats.due, stats.delayed, stats.reserved) == (0, 0, 0)
    finally:
        node.stop()


def _stats(queue):
    """Figures, once the server is there again."""
    deadline = time.monotonic() + SOON
    while True:
        try:
            return queue.stats()
        except stadium.Error:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_wrong_settings_are_errors_at_once(client):
    async def inside():
        async with stadium.aio.Client("127.0.0.1:1") as other:
            for wrong in ({"concurrency": 0}, {"lease": 0.5}, {"settle_within": 2}, {"drain_within": -1}):
                with pytest.raises(ValueError, match=next(iter(wrong))):
                    stadium.aio.Worker(other, "q", print, **wrong)

    asyncio.run(inside())
    with pytest.raises(ValueError, match="after is -1"):
        stadium.Retry(after=-1)
