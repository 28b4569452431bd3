"""Pebble, Let's Encrypt's ACME server for tests, with its DNS server: real challenges, real signatures.

Both are built from the Go module proxy into target/pebble. Every name leads to 127.0.0.1.
"""

import json
import os
import pathlib
import socket
import ssl
import subprocess
import urllib.request

from server import ROOT, free_port, openssl, until

VERSION = "v2.8.0"
PROGRAMS = ROOT / "target/pebble"
MODULE = "github.com/letsencrypt/pebble/v2/cmd/"


def program(name):
    path = PROGRAMS / name
    if not path.exists():
        made = subprocess.run(
            ["go", "install", f"{MODULE}{name}@{VERSION}"], env=os.environ | {"GOBIN": str(PROGRAMS)}, check=False,
            capture_output=True, text=True,
        )
        assert made.returncode == 0, f"Pebble cannot be built; install the Debian package golang-go: {made.stderr}"
    return path


class Pebble:
    """An ACME server. `directory` is its URL, `authority` the file that its own certificate leads to."""

    def __init__(self, folder: pathlib.Path, life_s=3_600, blocked=(), challenge_port=None, begin=True):
        folder.mkdir()
        self.folder = folder
        self.port, self.management, self.dns = free_port(), free_port(), free_port()
        # Where it asks for challenges, as port 80 of each name.
        self.challenge_port = challenge_port or free_port()
        self.directory = f"https://localhost:{self.port}/dir"
        self.authority = folder / "ca.pem"
        self.processes = []
        self._certificates()
        config = {
            "listenAddress": f"127.0.0.1:{self.port}",
            "managementListenAddress": f"127.0.0.1:{self.management}",
            "certificate": "server.pem",
            "privateKey": "server.key",
            "httpPort": self.challenge_port,
            "tlsPort": free_port(),
            "domainBlocklist": list(blocked),
            "retryAfter": {"authz": 1, "order": 1},
            "keyAlgorithm": "ecdsa",
            "profiles": {"default": {"description": "for tests", "validityPeriod": life_s}},
        }
        (folder / "config.json").write_text(json.dumps({"pebble": config}))
        if begin:
            self.begin()

    def _certificates(self):
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl(
            "req", "-x509", *curve, "-days", "2", "-subj", "/CN=Pebble's own", "-keyout", "ca.key", "-out", "ca.pem",
            cwd=self.folder,
        )
        openssl("req", *curve, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr", cwd=self.folder)
        (self.folder / "ext").write_text("basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl(
            "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "ext", "-out", "server.pem", cwd=self.folder,
        )

    def begin(self):
        off = [f"-{name}=" for name in ("http01", "https01", "tlsalpn01", "doh")]
        self._run(
            "pebble-challtestsrv", f"-dns01=127.0.0.1:{self.dns}", f"-management=127.0.0.1:{free_port()}",
            "-defaultIPv4=127.0.0.1", "-defaultIPv6=", *off,
        )
        self._run("pebble", "-config=config.json", f"-dnsserver=127.0.0.1:{self.dns}", "-strict=true")
        until("Pebble", self._answers, 60)

    def _run(self, name, *arguments):
        log = open(self.folder / f"{name}.log", "a")
        environment = os.environ | {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_AUTHZREUSE": "0"}
        self.processes.append(
            subprocess.Popen(
                [program(name), *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment,
            )
        )
        log.close()

    def _answers(self):
        for process in self.processes:
            assert process.poll() is None, self.output()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def root(self):
        """The file with the authority of what it signs; another one at each start."""
        context = ssl.create_default_context(cafile=self.authority)
        url = f"https://localhost:{self.management}/roots/0"
        with urllib.request.urlopen(url, timeout=20, context=context) as answer:
            path = self.folder / "root.pem"
            path.write_bytes(answer.read())
        return path

    def output(self):
        return "".join(path.read_text(errors="replace") for path in self.folder.glob("*.log"))

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []
