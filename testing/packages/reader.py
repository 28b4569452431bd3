"""A reader of a page, who runs its commands as they are written, in a shell of a clean root.

Rewritten are only the version and the architecture in the names of files, and a number of open files above this machine's. A command that stays (a server, a device) runs in the
background, and the next one waits until it is ready. The time of each command is kept.
"""

import resource
import subprocess
import sys
import time
from dataclasses import dataclass

from conftest import ARCH, HERE, ROOT, TIMES, VERSION, until

sys.path.append(str(ROOT / "testing/python"))
import pages  # noqa: E402  (of testing/python)

REASON = "testing/packages runs it"
PAGES = ["README.md", "docs/install.md", "deploy/README.md"]
# Commands that stay, and the command that succeeds once they are ready.
STAYING = {
    "stadium serve": "{stadium} health",
    "mosquitto_sub": "{stadium} device list --connected | grep phone-1",
    "docker run --read-only": "docker ps --format '{{{{.Status}}}}' | grep Up",
}
SECONDS_PER_CHARACTER = 60 / 200


@dataclass
class Did:
    command: str
    seconds: float


def sections():
    """The blocks of each page that this suite runs, by page and heading."""
    found = {}
    for page in PAGES:
        text = (ROOT / page).read_text().splitlines()
        for block in pages.blocks(page):
            if block.reason == REASON:
                above = [line for line in text[: block.line] if line.startswith("#")]
                found.setdefault((page, above[-1].lstrip("# ")), []).append(block)
    return found


def here(text):
    """The text with the names of this release and machine, and no more open files than its root may have."""
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    named = text.replace("0.1.0", VERSION).replace("x86_64", HERE).replace("amd64", ARCH)
    return named.replace("nofile=1048576", f"nofile={min(1_048_576, files_max)}")


class Reader:
    """Runs commands by `inside`, which makes the argument list of one that runs in the root."""

    def __init__(self, inside, environment, folder="/root", kept="/tmp/reader.folder", stadium="stadium"):
        """It begins in `folder`; `kept` is a file in the root, for the folder that a command leaves it in. `stadium` is the command."""
        self.inside, self.environment, self.stadium = inside, environment, stadium
        self.folder, self.kept, self.staying, self.did = folder, kept, {}, []

    def ask(self, command, within_s=300):
        """Runs it in the reader's folder, which it may leave for another."""
        script = f"cd {self.folder} && {{ {command}\n}}; code=$?; pwd >&3; exit $code"
        asked = ["bash", "-c", f"exec 3>{self.kept}; {script}"]
        done = subprocess.run(self.inside(*asked), capture_output=True, text=True, timeout=within_s, env=self.environment)
        folder = subprocess.run(self.inside("cat", self.kept), capture_output=True, text=True, env=self.environment)
        self.folder = folder.stdout.strip() or self.folder
        return done

    def do(self, command):
        text = here(command.text)
        began = time.monotonic()
        for start, ready in STAYING.items():
            if text.startswith(start):
                script = f"cd {self.folder} && exec {text}"
                self.staying[start] = subprocess.Popen(
                    self.inside("bash", "-c", script), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment)
                until(f"{text} to be ready", lambda: self.is_ready(start, ready))
                break
        else:
            done = self.ask(text)
            assert done.returncode == 0, f"{command}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
            for line in command.prints:
                assert pages.matches(here(line), done.stdout + done.stderr), f"{command}\n{done.stdout}\n{done.stderr}"
        self.did.append(Did(text, time.monotonic() - began))

    def is_ready(self, start, ready):
        process = self.staying[start]
        assert process.poll() is None, f"{start} has ended: {process.stdout.read()}"
        return self.ask(ready.format(stadium=self.stadium)).returncode == 0

    def reads(self, blocks):
        """Runs all commands of these blocks."""
        for block in blocks:
            for command in block.commands:
                self.do(command)

    def received(self, text):
        """Waits until the device prints it."""
        device = self.staying["mosquitto_sub"]
        began = time.monotonic()
        for line in device.stdout:
            if text in line:
                self.did.append(Did("(the device prints the push)", time.monotonic() - began))
                return
        raise AssertionError(f"the device has ended without {text}")

    def report(self, title):
        """The seconds of each command, and of typing all of them."""
        total = sum(did.seconds for did in self.did)
        typed = sum(len(did.command) for did in self.did) * SECONDS_PER_CHARACTER
        lines = [f"{title}: {total:.1f} s in {len(self.did)} steps; typed at 200 characters a minute {typed:.0f} s more"]
        lines += [f"  {did.seconds:6.1f} s  {' '.join(did.command.split())[:100]}" for did in self.did]
        TIMES.extend(lines)
        return total

    def stop(self):
        for process in self.staying.values():
            process.kill()
            process.wait()
