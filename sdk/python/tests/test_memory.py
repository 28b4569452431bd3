"""A warm call keeps nothing, and allocates no more than it did before."""

import asyncio
import gc
import sys
import tracemalloc

import stadium
from stadium.aio.queue import Queue
from words import ECHO, WIDE, Words, text

#: Blocks that may be kept after hundreds of calls: an odd cache of the interpreter's.
KEPT_MAX = 50


def kept(run, rounds=3):
    """Blocks that are kept over a round, the least of some: other threads allocate too."""
    run()
    counts = []
    for _ in range(rounds):
        gc.collect()
        before = sys.getallocatedblocks()
        run()
        gc.collect()
        counts.append(sys.getallocatedblocks() - before)
    return min(counts)


def test_calls_keep_no_memory():
    async def story():
        words = Words()
        loop = asyncio.get_running_loop()
        async with stadium.Server(words.service, listen="127.0.0.1:0", admission=WIDE) as server:
            async with stadium.aio.Client(*server.addresses, api_key="key") as client:

                async def calls(count=100):
                    for _ in range(count):
                        await client.call(ECHO, text("hello"))

                await calls()
                counts = []
                for _ in range(3):
                    gc.collect()
                    before = sys.getallocatedblocks()
                    await calls(300)
                    gc.collect()
                    counts.append(sys.getallocatedblocks() - before)
                assert min(counts) < KEPT_MAX, counts
            with stadium.Client(*server.addresses, api_key="key") as client:

                def blocking():
                    for _ in range(200):
                        client.call(ECHO, text("hello"))

                assert await loop.run_in_executor(None, kept, blocking) < KEPT_MAX

    asyncio.run(asyncio.wait_for(story(), 60))


def test_a_put_and_its_job_keep_no_memory_and_their_peak_is_flat(node):
    async def story():
        async with stadium.aio.Client(node.rpc, api_key=node.admin_key.read_text()) as client:
            queue = Queue(client, "memory")

            async def jobs(count):
                for _ in range(count):
                    await queue.put(b"x" * 100, key="k")
                    await queue.settle(*await queue.reserve())

            await jobs(30)
            tracemalloc.start()
            try:
                peaks = []
                for count in (30, 120):
                    gc.collect()
                    tracemalloc.reset_peak()
                    start = tracemalloc.get_traced_memory()[0]
                    await jobs(count)
                    _, peak = tracemalloc.get_traced_memory()
                    peaks.append(peak - start)
            finally:
                tracemalloc.stop()
            assert peaks[1] < peaks[0] + 20_000, peaks

    asyncio.run(asyncio.wait_for(story(), 60))
