"""The configuration in deploy/kubernetes.yaml starts a server, to which a device of the quickstart's command connects.

testing/packages validates the objects themselves.
"""

import subprocess

import pytest
import yaml

import server as servers
from server import ROOT, Server, openssl


@pytest.fixture
def pod(tmp_path):
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "60", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost", "-keyout", "tls.key", "-out", "tls.crt", cwd=tmp_path,
    )
    (settings,) = [
        each["data"]["stadium.toml"]
        for each in yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text())
        if each["kind"] == "ConfigMap"
    ]
    assert settings.count("/etc/stadium/tls/") == 2
    files = {name: (tmp_path / name).read_text() for name in ("tls.crt", "tls.key")}
    # The folder of the volume, here and there; addresses come from flags.
    started = Server(settings=settings.replace("/etc/stadium/tls/", "@"), trial=False, tls=True, files=files)
    yield started
    started.stop()


def connects(pod, secret):
    """Whether mosquitto's client logs in and subscribes to its inbox."""
    command = ["mosquitto_sub", "--cafile", pod.folder / "tls.crt", "-h", "localhost", "-p", str(pod.tls), "-V", "5", "-i", "phone-1"]
    command += ["-u", "device", "-P", secret, "-q", "1", "-t", "inbox/phone-1", "-E"]
    return subprocess.run(command, capture_output=True, timeout=servers.PATIENCE_S).returncode == 0


def test_the_configuration_serves_devices_with_a_secret(pod):
    assert pod.call("GET", "/healthz", key=None)[0] == 200 and pod.call("GET", "/readyz", key=None)[0] == 200
    made = [servers.binary(), "device", "credential", "phone-1", "--register", "--data", pod.folder / "data"]
    secret = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    assert connects(pod, secret)
    assert not connects(pod, "another secret")
