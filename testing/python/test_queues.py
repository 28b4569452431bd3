"""Queues over HTTP, on the built binary: what another language sees, and what a restart keeps."""

import concurrent.futures
import signal
import time

import pytest

from device import unique
from server import PEER, until

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the queues of stadium")


def ask(server, method, path, body=None, status=200, headers=()):
    given, answer = server.call(method, path, body, headers=headers)
    assert given == status, f"{method} {path}: {given} {answer}"
    return answer


def put(server, queue, **job):
    return ask(server, "POST", f"/api/queues/{queue}/jobs", job, status=201)["id"]


def reserve(server, queue, **wants):
    return ask(server, "POST", f"/api/queues/{queue}/reserve", wants)["jobs"]


def settle(server, lease):
    return ask(server, "POST", f"/api/leases/{lease}/settle")["outcome"]


def test_a_job_is_worked_on_once(server):
    queue = unique("mails")
    id = put(server, queue, payload={"to": "seat-0042", "row": 12})
    [job] = reserve(server, queue, worker="mailer-1")
    assert (job["id"], job["payload"], job["attempt"]) == (id, '{"to": "seat-0042", "row": 12}', 1)
    assert reserve(server, queue) == []
    assert settle(server, job["lease"]) == "done"
    assert settle(server, job["lease"]) == "already"
    history = ask(server, "GET", f"/api/jobs/{id}/history")["events"]
    assert [event["event"] for event in history] == ["settled", "reserved", "put"]


def test_jobs_of_one_key_run_one_after_another(server):
    queue = unique("order")
    for n in range(3):
        put(server, queue, payload=str(n), key="a")
    put(server, queue, payload="other", key="b")
    [first, other] = reserve(server, queue, max=10)
    assert {first["payload"], other["payload"]} == {"0", "other"}
    lease = next(job["lease"] for job in (first, other) if job["key"] == "a")
    settle(server, lease)
    assert [job["payload"] for job in reserve(server, queue, max=10)] == ["1"]


def test_twenty_workers_that_wait_share_two_hundred_jobs(server):
    queue = unique("share")

    def work(worker):
        done = []
        while jobs := reserve(server, queue, max=3, wait_ms=1_000, worker=f"w{worker}"):
            done += [job["payload"] for job in jobs]
            leases = [job["lease"] for job in jobs]
            results = ask(server, "POST", "/api/leases/settle", {"leases": leases})["results"]
            assert all(result["outcome"] == "done" for result in results), results
        return done

    ask(server, "PUT", f"/api/queues/{queue}", {"spread": "all_shards"})
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        workers = [pool.submit(work, n) for n in range(20)]
        for start in range(0, 200, 50):
            jobs = [{"payload": str(n)} for n in range(start, start + 50)]
            ask(server, "POST", f"/api/queues/{queue}/jobs", {"jobs": jobs}, status=201)
        done = [payload for worker in workers for payload in worker.result()]
    assert sorted(done, key=int) == [str(n) for n in range(200)]


def test_a_lease_that_runs_out_brings_the_job_back(server):
    queue = unique("lost")
    ask(server, "PUT", f"/api/queues/{queue}", {"backoff": {"first_ms": 1, "jitter": 0}})
    id = put(server, queue, payload="x")
    [job] = reserve(server, queue, lease_ms=1_000)
    [again] = reserve(server, queue, wait_ms=20_000)
    assert (again["id"], again["attempt"]) == (id, 2)
    problem = ask(server, "POST", f"/api/leases/{job['lease']}/settle", status=409)
    assert problem["code"] == "QUE-022"
    assert settle(server, again["lease"]) == "done"


def test_answered_requests_are_there_after_a_restart(start):
    server = start()
    key = {"Idempotency-Key": "order-17"}
    jobs = {"jobs": [{"payload": str(n), "key": "k"} for n in range(5)]}
    placed = ask(server, "POST", "/api/queues/kept/jobs", jobs, status=201, headers=key)
    later = put(server, "kept", payload="later", delay_ms=3_600_000)
    [job] = reserve(server, "kept", lease_ms=600_000, worker="before")
    ask(server, "PUT", "/api/queues/kept/schedules/nightly", {"cron": "0 3 * * *", "job": {"payload": "x"}}, status=204)
    ask(server, "POST", "/api/queues/other/jobs", {"payload": "x"}, status=201)
    ask(server, "POST", "/api/queues/other/pause", status=204)

    server.restart()

    report = ask(server, "GET", "/api/queues/kept")
    assert report["jobs"] == {"total": 6, "delayed": 1, "due": 4, "reserved": 1, "buried": 0, "dead": 0}
    assert ask(server, "GET", "/api/queues/other")["paused"] is True
    assert ask(server, "GET", f"/api/jobs/{later}")["state"] == "delayed"
    assert ask(server, "POST", "/api/queues/kept/jobs", jobs, headers=key) == {
        "jobs": [{"id": each["id"], "duplicate": True} for each in placed["jobs"]]
    }
    assert [each["name"] for each in ask(server, "GET", "/api/queues/kept/schedules")["schedules"]] == ["nightly"]
    assert settle(server, job["lease"]) == "done", "a lease outlives the server"
    history = ask(server, "GET", f"/api/jobs/{job['id']}/history")["events"]
    assert [event.get("worker") for event in history] == [None, "before", None]
    assert reserve(server, "kept")[0]["payload"] == "1"


def test_a_server_that_stops_lets_nobody_wait(start):
    server = start()
    ask(server, "PUT", "/api/queues/stop", {})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waits = pool.submit(reserve, server, "stop", wait_ms=60_000)
        until("it waits", lambda: server.call("GET", "/api/queues/stop")[1].get("waiting") == 1)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert waits.result() == []
        server.process.wait(20)
    assert time.monotonic() - began < 15
    assert server.process.returncode == 0


def test_a_schedule_puts_its_job_again_and_again(server):
    queue = unique("tick")
    ask(server, "PUT", f"/api/queues/{queue}/schedules/each", {"cron": "* * * * * *", "job": {"payload": "tick"}}, status=204)
    for _ in range(2):
        [job] = reserve(server, queue, wait_ms=20_000)
        assert job["payload"] == "tick"
        settle(server, job["lease"])
    ask(server, "DELETE", f"/api/queues/{queue}/schedules/each", status=204)
