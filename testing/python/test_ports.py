"""Two servers on one port: the second one reports it and does not start."""

import subprocess

import pytest

import server as servers

pytestmark = pytest.mark.skipif(servers.PEER == "mosquitto", reason="mosquitto is its own matter")


def second(folder, *arguments):
    """A server that is expected to end by itself: its exit code and its output."""
    (folder / "stadium.toml").write_text("")
    command = [servers.binary(), "serve", "--trial", "--config", folder / "stadium.toml", "--data", folder / "data"]
    ended = subprocess.run(command + list(arguments), capture_output=True, timeout=servers.PATIENCE_S, text=True)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("loops", ["1", "2"])
@pytest.mark.parametrize("which", ["mqtt", "rpc"])
def test_a_port_that_is_taken_is_refused(start, tmp_path, which, loops):
    rpc = servers.free_port()
    running = start(loops=2, rpc=f"127.0.0.1:{rpc}")
    taken = {"mqtt": running.tcp, "rpc": rpc}[which]
    own = {"--mqtt": "127.0.0.1:0", "--http": "127.0.0.1:0", "--rpc": "127.0.0.1:0"} | {f"--{which}": f"127.0.0.1:{taken}"}
    code, said = second(tmp_path, "--loops", loops, *(text for pair in own.items() for text in pair))
    assert code != 0 and f"127.0.0.1:{taken}" in said, said
    assert {"mqtt": "NODE-004", "rpc": "NODE-008"}[which] in said
    assert running.process.poll() is None, running.output()
