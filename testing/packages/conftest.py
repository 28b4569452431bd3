"""Clean roots in which the packages of `cargo xtask dist` are tried.

A machine is a Debian root, made by debootstrap once and kept under target/packages, that systemd boots in namespaces of its own: a
file system over the kept one in memory, no network but its own loopback. Nothing of a test stays, and a machine ends with its test.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "target/dist-packages"
KEPT = ROOT / "target/packages"
# The system's own packages, rpm and dnf for the other format, and a device.
INCLUDED = "systemd,systemd-sysv,dbus,ca-certificates,rpm,dnf,mosquitto-clients,man-db"

HERE = os.uname().machine
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[HERE]
VERSION = re.search(r'^\[workspace\.package\].*?^version = "(.*?)"', (ROOT / "Cargo.toml").read_text(), re.M | re.S)[1]
DEADLINE_S = 60
# Lines for the end of the run: the seconds of each command of a page.
TIMES = []


def pytest_terminal_summary(terminalreporter):
    if TIMES:
        terminalreporter.section("from the file to the first push")
        terminalreporter.write_line("\n".join(TIMES))


def artifact(pattern):
    """The one file of the release with this name."""
    found = sorted(DIST.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}; `cargo xtask dist` makes it"
    return found[0]


def run(*command, within_s=300, **options):
    """Runs it to its end and returns its output; a failure shows all that it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=within_s, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def until(what, look, within_s=DEADLINE_S):
    """Looks until it finds something."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what} did not happen within {within_s} s"
        time.sleep(0.05)


def children(process):
    """The processes that it has started, as text."""
    return subprocess.run(["pgrep", "--parent", str(process)], capture_output=True, text=True).stdout.split()


def nfpm():
    """The program that `cargo xtask dist` makes packages with."""
    return next((ROOT / "target/dist-tools").glob("nfpm-*/nfpm"))


@pytest.fixture(scope="session")
def debian():
    """The Debian root."""
    root = KEPT / "debian"
    made_of = root / "made-of"
    if not made_of.exists() or made_of.read_text() != INCLUDED:
        # One that was cut off is no root.
        shutil.rmtree(root, ignore_errors=True)
        part = KEPT / "debian.part"
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", f"--include={INCLUDED}", "bookworm", part, "http://deb.debian.org/debian",
            within_s=1_800)
        # An installation of Debian has it; debootstrap does not write it.
        (part / "etc/hosts").write_text("127.0.0.1 localhost\n")
        (part / "made-of").write_text(INCLUDED)
        part.rename(root)
    return root


class Machine:
    """A booted Debian."""

    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
    }

    def __init__(self, root, shared):
        self.log = open(shared / "boot.log", "w+")
        # Its first process ends with systemd-nspawn, and that one with this process.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot",
             "--private-network", "--volatile=overlay", f"--directory={root}", f"--bind-ro={DIST}:/dist",
             f"--bind-ro={ROOT / 'deploy'}:/deploy", f"--bind={shared}:/shared", "--console=pipe"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )
        self.leader = until("the start of systemd", self.first_process)
        until("the boot", lambda: self.ask("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"))

    def first_process(self):
        """The system's process 1. An earlier child of systemd-nspawn only prepares the namespaces, and goes away."""
        assert self.process.poll() is None, Path(self.log.name).read_text()
        for child in children(self.process.pid):
            name = Path(f"/proc/{child}/comm")
            if name.exists() and name.read_text().strip() == "systemd":
                return child
        return None

    def inside(self, *command):
        return ["nsenter", "--target", self.leader, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wdns=/", *map(str, command)]

    def ask(self, *command):
        """Runs it inside; any exit code will do."""
        return subprocess.run(self.inside(*command), capture_output=True, text=True, timeout=300, env=self.environment)

    def run(self, *command):
        """Runs it inside, to a good end."""
        done = self.ask(*command)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.journal()}"
        return done.stdout

    def journal(self):
        return self.ask("journalctl", "--no-pager", "--lines=60", "--unit=stadium").stdout

    def unit(self, *names):
        """Properties of the unit."""
        shown = self.run("systemctl", "show", "stadium", "--property=" + ",".join(names))
        values = dict(line.split("=", 1) for line in shown.splitlines())
        return tuple(values[name] for name in names)

    def is_ready(self):
        return self.ask("stadium", "health", "--url", "http://127.0.0.1:8080").returncode == 0

    def exists(self, path):
        return self.ask("test", "-e", path).returncode == 0

    def read(self, path):
        return self.run("cat", path)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@pytest.fixture
def machine(debian, tmp_path):
    booted = Machine(debian, tmp_path)
    yield booted
    booted.stop()
    # Its output explains a failure.
    sys.stdout.write(booted.journal() if booted.process.poll() is None else "")


@pytest.fixture
def shared(tmp_path):
    """The folder that a machine sees as /shared."""
    return tmp_path


@pytest.fixture
def older(tmp_path):
    """A package of the same files with a lower version."""

    def make(kind):
        stage = ROOT / "target/dist-tools" / HERE / "stage"
        environment = {**os.environ, "STADIUM_VERSION": "0.0.1", "STADIUM_ARCH": ARCH}
        run(nfpm(), "package", "--config", "nfpm.yaml", "--packager", kind, "--target", tmp_path, cwd=stage, env=environment)
        return "/shared/" + next(tmp_path.glob(f"*.{kind}")).name

    return make
