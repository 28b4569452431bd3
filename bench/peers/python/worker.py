"""The worker of the queue rows: puts jobs, then works on all of them; prints one line of JSON.

`worker.py --connect HOST:PORT --queue NAME --jobs N --concurrency N`, with an API key in STADIUM_KEY.
"""

import argparse
import asyncio
import json
import time

import stadium
from stadium.aio.queue import Queue
from stadium.aio.worker import Worker

#: Jobs of one put, as of `stadium queue put`.
BATCH = 1_000


async def run(arguments):
    key = stadium.ApiKey.from_env()
    async with stadium.aio.Client(arguments.connect, api_key=key) as client:
        queue = Queue(client, arguments.queue)
        began = time.perf_counter()
        for first in range(0, arguments.jobs, BATCH):
            last = min(first + BATCH, arguments.jobs)
            await queue.put_many([b"job %08d" % nth for nth in range(first, last)])
        put_s = time.perf_counter() - began

        left = arguments.jobs

        async def handler(job):
            nonlocal left
            left -= 1
            if left == 0:
                worker.stop()

        began = time.perf_counter()
        worker = Worker(client, arguments.queue, handler, concurrency=arguments.concurrency)
        await worker.run()
        work_s = time.perf_counter() - began
        return {"put_s": put_s, "work_s": work_s, "settled": worker.counts.settled}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--connect", required=True)
    parser.add_argument("--queue", required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    print(json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
