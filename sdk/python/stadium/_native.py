"""Kinds of events and tags, for asyncio clients, blocking clients and servers."""

from __future__ import annotations

import itertools

#: Kinds of events.
ANSWER, ITEM, END, WRITABLE, REQUEST, REQUEST_ITEM, REQUEST_END, REQUEST_CANCELLED = range(8)

#: Events that are taken at a time.
BATCH = 512

#: Messages of a stream that may come before they are read.
CREDIT = 64

#: Numbers of calls and streams; none is used twice in a process.
next_tag = itertools.count(1).__next__
