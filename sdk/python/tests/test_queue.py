"""Queues over RPC on a real server, from asyncio and from threads."""

import asyncio
import datetime
import functools
import time

import pytest

import stadium
from conftest import until
from stadium.queue import Limit, NewJob, Queue, QueueSettings, Status


@pytest.fixture
def client(node):
    with stadium.Client(node.rpc, api_key=stadium.ApiKey.from_file(node.admin_key)) as client:
        yield client


@pytest.fixture
def queue(client, request):
    return Queue(client, request.node.name)


def test_a_job_goes_through_its_life(queue):
    put = queue.put(b"one", key="user-1", priority=9, attempts_max=3)
    job = queue.reserve(lease=30, worker="test")[0]
    assert (job.id, job.payload, job.key, job.priority, job.attempt) == (put.job, b"one", "user-1", 9, 1)
    now = datetime.datetime.now(datetime.timezone.utc)
    assert abs((job.lease_until - now).total_seconds() - 30) < 5
    assert abs((job.put_at - now).total_seconds()) < 5 and job.due_at >= job.put_at
    assert queue.extend(job, lease=60)[0].status is Status.DONE
    assert queue.release(job, after=0, error="not now")[0].check().status is Status.DONE
    job = queue.reserve()[0]
    assert job.attempt == 2
    assert queue.bury(job, reason="look at it")[0].status is Status.DONE
    assert [each.reason for each in queue.peek("buried")] == ["look at it"]
    assert queue.kick(put.job) == 1
    job = queue.reserve()[0]
    assert queue.release(job, not_tried=True)[0].status is Status.DONE
    again = queue.reserve()[0]
    assert again.attempt == job.attempt
    assert [each.status for each in queue.settle(again)] == [Status.DONE]
    assert [each.status for each in queue.settle(again)] == [Status.ALREADY]
    lost = queue.extend(again, lease=5)[0]
    assert lost.status is Status.REJECTED and isinstance(lost.error, stadium.Rejected)
    with pytest.raises(stadium.Rejected) as rejected:
        lost.check()
    assert rejected.value.code.startswith("QUE-")
    assert queue.reserve() == []
    assert len(queue.history(put.job)) >= 8


def test_many_jobs_are_put_at_once_and_each_only_once(queue):
    jobs = [NewJob(b"%d" % nth, dedup_id=f"id-{nth % 600}", dedup_window=60) for nth in range(600)]
    first = queue.put_many(jobs)
    second = queue.put_many([*jobs[:2], b"more"])
    assert not any(put.duplicate for put in first)
    assert [put.duplicate for put in second] == [True, True, False]
    assert [put.job for put in second[:2]] == [put.job for put in first[:2]]
    with pytest.raises(stadium.Rejected) as rejected:
        queue.put(b"other", dedup_id="id-1", dedup_window=60)
    assert rejected.value.code == "QUE-024"
    assert queue.stats().due == 601
    assert queue.purge("due") == 601


def test_jobs_are_due_in_time_and_go_in_time(queue):
    in_an_hour = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    later = queue.put(b"later", run_at=in_an_hour).job
    queue.put(b"gone", ttl=0.05)
    soon = queue.put(b"soon", delay=0.1).job
    assert queue.find(later).due_ms == int(in_an_hour.timestamp() * 1000 + 0.5)
    time.sleep(0.1)
    assert [job.id for job in queue.reserve(10, wait=5)] == [soon]
    queue.edit(later, delay=0, payload=b"now", priority=1)
    assert [job.payload for job in queue.reserve(wait=5)] == [b"now"]
    assert [outcome.status for outcome in queue.delete(later, soon)] == [Status.DONE] * 2
    with pytest.raises(stadium.Rejected):
        queue.find(later)


def test_a_job_is_forwarded(client, queue):
    queue.put(b"raw", key="k")
    job = queue.reserve()[0]
    there = Queue(client, f"{queue.name}-next")
    assert not queue.forward(job, there.name, NewJob(b"", priority=7)).duplicate
    assert [(each.payload, each.priority) for each in there.peek()] == [(b"raw", 7)]
    assert queue.stats().settled == 1


def test_a_queue_is_declared_paused_scheduled_and_dropped(client, queue):
    settings = QueueSettings(
        lease=12, attempts_max=2, backoff_first=0.01, backoff_factor=1.5, dead_letter_discard=True,
        dead_ttl=60, dedup_window=5, jobs_max=3, limit=Limit(100, 10), key_limit=Limit(5),
    )
    queue.declare(settings)
    seen = queue.stats().settings
    assert (seen.lease_ms, seen.attempts_max, seen.jobs_max, seen.limit.burst) == (12_000, 2, 3, 10)
    assert seen.dead_letter_discard and seen.key_limit.rate == 5
    queue.put_many([b"a", b"b", b"c"])
    with pytest.raises(stadium.Busy):
        queue.put(b"d")
    queue.pause()
    assert queue.reserve() == [] and queue.stats().paused
    queue.resume()
    assert len(queue.reserve(3)) == 3
    queue.schedule("nightly", "0 3 * * *", NewJob(b"clean", key="house"), time_zone="Europe/Berlin", missed="skip")
    (schedule,) = queue.schedules()
    assert (schedule.name, schedule.cron.time_zone, schedule.cron.missed) == ("nightly", "Europe/Berlin", 1)
    queue.unschedule("nightly")
    assert queue.schedules() == []
    assert queue.name in [stats.queue for stats in stadium.queue.list_queues(client)]
    queue.delete(*(job.job for job in queue.peek()))
    queue.drop()
    until("it is gone", lambda: queue.name not in [each.queue for each in stadium.queue.list_queues(client)])


def test_dead_jobs_are_redriven(queue):
    queue.declare(QueueSettings(attempts_max=1))
    queue.put(b"x")
    assert queue.release(*queue.reserve())[0].status is Status.DEAD
    assert queue.redrive(oldest=5) == 1
    assert queue.reserve()[0].attempt == 1


def test_it_is_the_same_for_asyncio(node):
    async def story():
        async with stadium.aio.Client(node.rpc, api_key=node.admin_key.read_text()) as client:
            queue = stadium.aio.queue.Queue(client, "asyncio")
            await asyncio.gather(*(queue.put(b"%d" % nth) for nth in range(50)))
            jobs = await queue.reserve(50)
            assert {job.payload for job in jobs} == {b"%d" % nth for nth in range(50)}
            assert {each.status for each in await queue.settle(*jobs)} == {Status.DONE}
            waits = asyncio.ensure_future(queue.reserve(wait=10))
            await asyncio.sleep(0.05)
            await queue.put(b"late")
            assert [job.payload for job in await waits] == [b"late"]
            assert "asyncio" in [stats.queue async for stats in stadium.aio.queue.list_queues(client)]

    asyncio.run(asyncio.wait_for(story(), 30))


def test_wrong_use_is_an_error_before_anything_is_sent(queue):
    wrong = functools.partial(pytest.raises, ValueError)
    with wrong(match="not both"):
        queue.put(b"x", delay=1, run_at=5)
    with wrong(match="no time zone"):
        queue.put(b"x", run_at=datetime.datetime(2030, 1, 1))
    with wrong(match="delay is -1"):
        queue.put(b"x", delay=-1)
    with wrong(match="0 jobs"):
        queue.put_many([])
    with wrong(match="1001 jobs"):
        queue.put_many([b"x"] * 1001)
    with wrong(match="no state"):
        queue.peek("lost")
    with wrong(match="missed"):
        queue.schedule("s", "@daily", b"x", missed="never")
    with wrong(match="not both"):
        queue.declare(QueueSettings(dead_letter_queue="q", dead_letter_discard=True))
    with pytest.raises(stadium.Rejected) as rejected:
        Queue(queue._client, "no good").put(b"x")
    assert rejected.value.code == "NODE-010"
