"""A shell that does what a reader of a page does: one command after the other, in a folder of its own.

Rewritten are only the place of the programs, ports, and folders below /tmp; in the examples' scenarios also how long phases last,
and thresholds of time, which are for release builds on quiet machines. Commands that a page runs in another window (a
server, a subscriber) run in the background until the end, and the next one waits until they are ready.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import server as servers
from pages import ROOT

# What stands on pages, and where it listens here.
PORTS = (1883, 8883, 8080, 7800, 7801, 7900, 7901, 7910, 7943)
# Commands that stay, and when they are ready: a condition for this shell.
STAYING = [
    (r"^stadium serve\b(?!.*&$)", None),
    (r"\bgeo-service\b(?!.*&$)", None),
    (r"^mosquitto_sub\b.*-i (?P<id>\S+)", 'stadium device show {id} --data "$DATA" | grep -q "connected"'),
    (r"device\.py (?P<id>\S+)$", 'stadium device show {id} --data "$DATA" | grep -q "connected"'),
    (r"^curl -N\b", None),
]
PROGRAMS = {"stadium", "geo-service", "geo-client", "voting"}
# Libraries of the SDKs, which the build of the workspace makes.
LIBRARIES = {"lib_stadium.so", "libstadium_c.so"}
PRELUDE = """
shopt -s expand_aliases
set -m
DATA=stadium-data
cargo() {
  case "$*" in
    "build --release"|"build --release -p stadium-ffi") return 0 ;;
    "run --release -- "*) shift 3; stadium "$@" ;;
    "run "*"stadium-example-geo --bin "*) while [ "$1" != --bin ]; do shift; done; program=$2; shift 2; [ "${1-}" = -- ] && shift; "$program" "$@" ;;
    "run "*"stadium-example-voting -- "*) while [ "$1" != -- ]; do shift; done; shift; voting "$@" ;;
    *) echo "cargo $*: not one of the built programs" >&2; return 97 ;;
  esac
}
# SDKs that cargo and npm have built, where a reader builds them.
pip() {
  [ "$*" = "install ./sdk/python" ] || { echo "pip $*: not the SDK" >&2; return 97; }
  mkdir -p packages/stadium && ln -s "$PWD"/sdk/python/stadium/* packages/stadium/ \
    && ln -s "$PWD/target/release/lib_stadium.so" packages/stadium/_stadium.abi3.so && export PYTHONPATH=$PWD/packages
}
npm() {
  [ "$*" = "install ./sdk/js" ] || { echo "npm $*: not the SDK" >&2; return 97; }
  mkdir -p node_modules/@stadium && ln -s "$PWD/sdk/js" node_modules/@stadium/client
}
# Ports that programs take where a command names none.
by_default() {
  local program=$1 flag=$2 value=$3; shift 3
  case " $* " in *" $flag "*) command "$program" "$@" ;; *) command "$program" "$@" "$flag" "$value" ;; esac
}
mosquitto_sub() { by_default mosquitto_sub -p 1883 "$@"; }
mosquitto_pub() { by_default mosquitto_pub -p 1883 "$@"; }
mosquitto_rr() { by_default mosquitto_rr -p 1883 "$@"; }
geo-service() { by_default geo-service --listen 127.0.0.1:7801 "$@"; }
geo-client() { by_default geo-client --address 127.0.0.1:7801 "$@"; }
stadium() {
  case "$1 ${2-}" in
    "service call") by_default stadium --instance 127.0.0.1:7800 "$@" ;;
    *) command stadium "$@" ;;
  esac
}
voting() { if [ "$1" = serve ]; then by_default voting --listen 127.0.0.1:7900 "$@"; else command voting "$@"; fi; }
# A page's curl shows what it gets; here a refusal is a failure.
curl() { command curl --fail-with-body --silent --show-error --max-time 60 "$@"; }
"""


class Shell:
    def __init__(self, seconds=None):
        """`seconds`: phases of the examples' scenarios last so long at most."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stadium-pages-"))
        self.ports = {port: servers.free_port() for port in PORTS}
        self.count = 0
        (self.folder / "tmp").mkdir()
        (self.folder / "bin").mkdir()
        built = servers.binary().resolve().parent
        for name in PROGRAMS:
            place = servers.binary().resolve() if name == "stadium" else built / name
            assert place.is_file(), f"{place} is not there: build stadium-cli, stadium-example-geo and stadium-example-voting"
            (self.folder / "bin" / name).symlink_to(place)
        for name in LIBRARIES:
            (self.folder / "bin" / name).symlink_to(built / name)
        (self.folder / "sdk").symlink_to(ROOT / "sdk")
        (self.folder / "target").mkdir()
        (self.folder / "target/release").symlink_to(self.folder / "bin")
        shutil.copytree(ROOT / "examples", self.folder / "examples", ignore=shutil.ignore_patterns("target", "src", "node_modules"))
        for path in self.folder.glob("examples/**/*"):
            if path.suffix in {".toml", ".sh", ".py", ".csv"}:
                text = self.here(path.read_text())
                if path.suffix == ".toml":
                    text = re.sub(r"(p99 < )\d+ms", r"\g<1>30s", text)
                if seconds and path.suffix == ".toml":
                    text = re.sub(r'^duration = "\d+s"', f'duration = "{seconds}s"', text, flags=re.M)
                path.write_text(text)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STADIUM_")}
        environment |= servers.SMALL_JOURNAL | {
            # `python3` is the one that has the suites' packages.
            "PATH": f"{self.folder}/bin:{pathlib.Path(sys.executable).parent}:{environment['PATH']}",
            # The defaults of `stadium serve`, and where commands look for it.
            "STADIUM_MQTT__LISTEN": f"127.0.0.1:{self.ports[1883]}",
            "STADIUM_HTTP__LISTEN": f"127.0.0.1:{self.ports[8080]}",
            "STADIUM_RPC__LISTEN": f"127.0.0.1:{self.ports[7800]}",
            "STADIUM_SHARDS__COUNT": "2",
            # Profiles of this shell's own.
            "XDG_CONFIG_HOME": f"{self.folder}/config",
        }
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.folder,
            env=environment,
            start_new_session=True,
        )
        self.run(self.here(PRELUDE))

    def here(self, text):
        """The text with this shell's ports and folders."""
        text = text.replace("/tmp/", f"{self.folder}/tmp/")
        return re.sub(r"\b\d{4}\b", lambda found: str(self.ports.get(int(found[0]), found[0])), text)

    def run(self, text, within_s=90):
        """Runs it; gives its exit code, what it printed, and what it complained of."""
        self.count += 1
        base = self.folder / f"command-{self.count}"
        base.with_suffix(".sh").write_text(text + "\n")
        name = base.name
        self.process.stdin.write(f". ./{name}.sh </dev/null >{name}.out 2>{name}.err; echo $? >{name}.part; mv {name}.part {name}.code\n")
        self.process.stdin.flush()
        code = base.with_suffix(".code")
        servers.until(f"the end of: {text}", lambda: code.exists() or self.process.poll() is not None, within_s)
        assert code.exists(), f"the shell ended: {text}"
        read = lambda suffix: base.with_suffix(suffix).read_text(errors="replace")
        return int(read(".code")), read(".out"), read(".err")

    def printed(self, number):
        """The output of a command so far, on both streams, as a terminal shows it."""
        base = self.folder / f"command-{number}"
        return "".join(base.with_suffix(suffix).read_text(errors="replace") for suffix in (".out", ".err"))

    def do(self, command, code=0, within_s=90):
        """Does what a reader does: runs it, or starts it where it stays. Gives its number, for `printed`."""
        text = self.here(command.text)
        data = re.search(r"--data (\S+)", text)
        if data and re.search(r"^stadium serve|^voting", text):
            self.run(f"DATA={data[1]}")
        for pattern, ready in STAYING:
            found = re.search(pattern, command.text)
            if found:
                ended, _, err = self.run(f"{{ {text}\n}} &")
                number = self.count
                assert ended == 0, f"{command}\n{err}"
                self.wait(command, text, ready.format(**found.groupdict()) if ready else None)
                return number
        ended, out, err = self.run(text, within_s)
        number = self.count
        assert ended == code, f"{command}\nexit code {ended}\n{out[-3000:]}\n{err[-3000:]}"
        if text.rstrip().endswith("&"):
            self.wait(command, text, None)
        return number

    def wait(self, command, text, ready):
        """Waits until something that was started is ready."""
        if "geo-service" in text and ready is None:
            port = re.search(r"--listen \S+:(\d+)", text)
            ready = f"exec 3<>/dev/tcp/127.0.0.1/{port[1] if port else self.ports[7801]} && exec 3>&-"
        elif "stadium serve" in text:
            data = re.search(r"--data (\S+)", text)
            ready = f"test -f {data[1] if data else 'stadium-data'}/running.json"
        elif ready is None and (port := re.search(r"127\.0\.0\.1:(\d+)", text)) and "curl" not in text:
            ready = f"exec 3<>/dev/tcp/127.0.0.1/{port[1]} && exec 3>&-"
        elif ready is None and "voting serve" in text:
            ready = f"exec 3<>/dev/tcp/127.0.0.1/{self.ports[7900]} && exec 3>&-"
        if ready:
            servers.until(f"{command} to be ready", lambda: self.run(f"( {ready} ) 2>/dev/null")[0] == 0, 60)

    def stop(self):
        """Ends all that was started here."""
        try:
            self.run("for job in $(jobs -p); do kill -TERM -- -$job; done 2>/dev/null; wait", within_s=40)
        except AssertionError:
            pass
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
        # Jobs have process groups of their own; one that is left holds files of this folder.
        for link in pathlib.Path("/proc").glob("[0-9]*/cwd"):
            try:
                if link.resolve() == self.folder:
                    os.kill(int(link.parent.name), signal.SIGKILL)
            except OSError:
                continue
        shutil.rmtree(self.folder, ignore_errors=True)


