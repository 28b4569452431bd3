"""Runs the voting night of several SDKs on one server, and compares what each of them sees.

crosses.py NAME=COMMAND..

A command gets the data directory as its last argument. The server is STADIUM_BIN; the voting service, in
Rust, is beside it. Its last line is `N passed, N failed`.
"""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testing/python"))

from server import Server, binary, until  # noqa: E402

#: Seals come soon, because each night waits for a receipt. Two shards: transfers go between them.
SETTINGS = "[shards]\ncount = 2\n[wallet]\nseal_after_s = 1\n"
CANDIDATES = {"ann": "Ann and the Bees", "ben": "Ben"}
#: The longest that a program may take.
PATIENCE_S = 120
#: Rows of the table that are the same for each language.
ALIKE = {
    "voters": "20",
    "votes bought": "60",
    "votes cast": "100",
    "votes paid": "60",
    "votes refused": "40",
    "sent again": "20",
    "paid twice": "0",
    "votes left": "0",
    "receipt": "proved",
    "devices told": "20",
    "books": "balance",
}


class Voting:
    """The voting service beside a server, for anybody who has votes."""

    def __init__(self, data):
        command = [binary().resolve().parent / "voting", "serve", "--open", "--listen", "127.0.0.1:0"]
        command += ["--data", data, "--poll", "final", "--log-level", "warn"]
        for id, name in CANDIDATES.items():
            command += ["--candidate", f"{id}={name}"]
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip().removeprefix("voting listens on ")
        assert self.url.startswith("http://"), "the voting service does not start"

    def call(self, path, body=None, token=""):
        """One call: its status and its answer."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {token}"})
        request.data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def vote(self, voter):
        """Buys three votes and tries to cast four; returns how many were paid."""
        status, login = self.call("/api/login", {"voter": voter})
        assert status == 200, login
        status, bought = self.call("/api/credits", {"voter": voter, "votes": 3, "payment": voter})
        assert status == 201, bought
        votes = [{"candidate": "ben", "id": str(nth)} for nth in range(4)]
        statuses = [self.call("/api/votes", vote, login["token"])[0] for vote in votes]
        assert sorted(statuses) == [201, 201, 201, 402], statuses
        return statuses.count(201)

    def standings(self, total):
        """The standings, once the service sees so many votes in the books."""

        def look():
            status, results = self.call("/api/results")
            assert status == 200 and results["total"] <= total, results
            return results["total"] == total and results["books"]["balance"] and results

        results = until(f"{total} votes in the results", look)
        return {each["id"]: each["votes"] for each in results["candidates"]}

    def leave(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def night(command, data):
    """The output of a program, as names and values."""
    words = [*shlex.split(command), str(data)]
    environment = os.environ | {"STADIUM_BIN": str(binary().resolve())}
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert ran.returncode == 0, f"it ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return [(line[:16].rstrip(), line[16:].strip()) for line in ran.stdout.splitlines()]


def check(table, total, voting):
    """The table is right, and the voting service sees the same votes."""
    rows = dict(table)
    assert ALIKE.items() <= rows.items(), rows
    standings = voting.standings(total)
    for id, votes in standings.items():
        assert rows[f"@final:{id}"] == str(votes), (standings, rows)
    assert rows["winner"] == max(CANDIDATES, key=lambda id: standings[id]), rows
    assert len(rows) == len(table) == len(ALIKE) + len(CANDIDATES) + 1, table


def cross(programs):
    """Runs them one after the other; returns how many failed."""
    failed = 0
    server = Server(loops=1, settings=SETTINGS)
    data = server.folder / "data"
    voting = None
    try:
        voting = Voting(data)
        total = sum(voting.vote(f"rust-{nth}") for nth in range(5))
        for name, command in programs:
            before = total
            try:
                table = night(command, data)
                total += int(dict(table)["votes paid"])
                check(table, total, voting)
                # Once more, as after a crash: every vote has its id, and nothing is paid.
                assert night(command, data) == table, "the same night again differs"
                assert voting.standings(total), "it pays again"
                print(f"{name}: all held; it sees {before} votes of others", flush=True)
            except (AssertionError, KeyError, OSError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
        voting.leave()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0, server.output()
        subprocess.run([binary(), "wallet", "verify", data], check=True, stdout=subprocess.DEVNULL)
    finally:
        if voting is not None:
            voting.kill()
        server.stop()
    return failed


if __name__ == "__main__":
    given = [argument.partition("=")[::2] for argument in sys.argv[1:]]
    if not given or not all(command for _, command in given):
        sys.exit("crosses.py NAME=COMMAND..")
    # Ends the server and the service too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("crosses.py: ended by SIGTERM"))
    bad = cross(given)
    print(f"{len(given) - bad} passed, {bad} failed")
    sys.exit(bool(bad))
