"""The samples of the README run as they are written."""

import dataclasses
import inspect
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import stadium
from conftest import SDK, SOON, until
from test_types import samples
from test_wallet import receipt_of


def ran(folder, name, sample):
    """Runs a sample, and compares what it prints."""
    (folder / name).write_text(sample)
    done = subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, timeout=2 * SOON)
    assert done.returncode == 0, done.stderr
    expected = re.findall(r"# prints: (.*)", sample)
    assert expected and done.stdout.splitlines() == expected


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_hello_is_short():
    service, caller = samples()[0], samples()[1]
    assert len(service.strip().splitlines()) < 30 and len(caller.strip().splitlines()) < 30


def test_the_samples_of_services_run(port, tmp_path):
    service, *callers = [sample.replace("7801", str(port)) for sample in samples() if "7800" not in sample][:3]
    (tmp_path / "greeter.py").write_text(service)
    server = subprocess.Popen([sys.executable, "greeter.py"], cwd=tmp_path)
    try:
        until("the service listens", lambda: listens(port))
        for nth, caller in enumerate(callers):
            ran(tmp_path, f"caller_{nth}.py", caller)
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(SOON) == 0


@pytest.fixture
def folder(node, tmp_path):
    """Where the samples run: with the admin's key."""
    shutil.copy(node.admin_key, tmp_path / "admin.key")
    return tmp_path


def of_node(node):
    """The samples that ask a node, by the heading above them."""
    text = (SDK / "README.md").read_text().replace("7800", str(node.rpc_port)).replace("1883", str(node.tcp))
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return {part.splitlines()[0]: re.findall(r"```python\n(.*?)```", part, re.DOTALL) for part in parts}


def test_the_samples_of_queues_pushes_and_devices_run(node, folder):
    found = of_node(node)
    for heading in ("Queues", "Pushes", "Devices"):
        for nth, sample in enumerate(found[heading]):
            ran(folder, f"{heading.lower()}_{nth}.py", sample)


def test_the_samples_of_wallets_and_receipts_run(node, folder):
    wallets, receipts = of_node(node)["Wallets"]
    ran(folder, "wallets.py", wallets)
    receipt = receipt_of(node, stadium.wallet.id_from("payment", "store-4711"))
    (folder / "receipt.json").write_text(receipt)
    (folder / "root.txt").write_text(re.search(r'"root": ?"(\w+)"', receipt)[1])
    ran(folder, "receipts.py", receipts)


def test_the_worker_is_a_whole_program_of_less_than_twenty_lines(node, folder):
    (sample,) = of_node(node)["Workers"]
    assert len(sample.strip().splitlines()) < 20
    (folder / "worker.py").write_text(sample)
    worker = subprocess.Popen([sys.executable, "worker.py"], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        key = stadium.ApiKey.from_file(node.admin_key)
        with stadium.Client(node.rpc, api_key=key) as client:
            queue = stadium.queue.Queue(client, "thumbnails")
            queue.put_many([b"cat.png", b""])
            until("both are worked on", lambda: (queue.stats().settled, queue.stats().buried) == (1, 1))
        worker.send_signal(signal.SIGTERM)
        assert worker.communicate(timeout=SOON)[0] == "made cat.png\n" and worker.returncode == 0
    finally:
        worker.kill()
        worker.wait()


def test_the_tables_of_settings_are_whole():
    text = (SDK / "README.md").read_text()
    for settings in (stadium.ClientSettings, stadium.ServerSettings):
        for field in dataclasses.fields(settings):
            assert f"`{field.name}`" in text, f"{settings.__name__}.{field.name} is not in the README"
    for name in list(inspect.signature(stadium.aio.Worker).parameters)[3:]:
        assert f"| `{name}` |" in text, f"the worker's {name} is not in the README"
