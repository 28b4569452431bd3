"""The images: read by skopeo, run by runc with a read-only root as the user that they name, used and drained."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import tarfile

import pytest

from conftest import HERE, artifact, run, until

SHORT = {"x86_64": "amd64", "aarch64": "arm64"}


@pytest.fixture(params=["x86_64", "aarch64"])
def layout(request, tmp_path):
    folder = tmp_path / "layout"
    with tarfile.open(artifact(f"stadium-*-{request.param}-linux-oci.tar")) as archive:
        archive.extractall(folder, filter="data")
    return request.param, folder


def blob(folder, descriptor):
    """A blob, whose size and digest are those of its descriptor."""
    algorithm, digest = descriptor["digest"].split(":")
    data = (folder / "blobs" / algorithm / digest).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (descriptor["size"], digest)
    return data


def parts(folder):
    manifest = json.loads(blob(folder, json.loads((folder / "index.json").read_text())["manifests"][0]))
    return manifest, json.loads(blob(folder, manifest["config"]))


def test_digests_and_configuration_hold(layout):
    architecture, folder = layout
    manifest, config = parts(folder)
    assert (config["architecture"], config["os"]) == (SHORT[architecture], "linux")
    assert config["config"]["User"] == "10001:10001"
    for layer, diff_id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        assert "sha256:" + hashlib.sha256(gzip.decompress(blob(folder, layer))).hexdigest() == diff_id


def test_skopeo_reads_and_copies_it(layout, tmp_path):
    architecture, _ = layout
    source = f"oci-archive:{artifact(f'stadium-*-{architecture}-linux-oci.tar')}"
    shown = json.loads(run("skopeo", "inspect", "--override-arch", SHORT[architecture], source))
    assert (shown["Architecture"], len(shown["Layers"])) == (SHORT[architecture], 2)
    # It verifies each digest on its way.
    run("skopeo", "copy", "--override-arch", SHORT[architecture], source, f"oci:{tmp_path / 'copy'}:stadium")


def test_a_container_with_a_read_only_root_serves_and_drains(tmp_path):
    folder = tmp_path / "layout"
    with tarfile.open(artifact(f"stadium-*-{HERE}-linux-oci.tar")) as archive:
        archive.extractall(folder, filter="data")
    manifest, config = parts(folder)
    bundle = tmp_path / "bundle"
    for layer in manifest["layers"]:
        run("mkdir", "-p", bundle / "rootfs")
        file = folder / "blobs" / layer["digest"].replace(":", "/")
        run("tar", "--extract", "--gzip", "--same-owner", "--same-permissions", "--file", file, "--directory", bundle / "rootfs")
    settings = config["config"]
    user = int(settings["User"].split(":")[0])
    run("runc", "spec", cwd=bundle)
    spec = json.loads((bundle / "config.json").read_text())
    spec["root"]["readonly"] = True
    spec["process"].update(
        terminal=False, user={"uid": user, "gid": user}, cwd=settings["WorkingDir"], rlimits=[], noNewPrivileges=True,
        args=[*settings["Entrypoint"], *settings["Cmd"]], env=settings["Env"],
        capabilities={kind: [] for kind in ("bounding", "effective", "permitted")})
    data = tmp_path / "volume"
    shutil.copytree(bundle / "rootfs/var/lib/stadium", data)
    os.chown(data, user, user)
    data.chmod(0o700)
    spec["mounts"].append({"destination": "/var/lib/stadium", "type": "bind", "source": str(data), "options": ["rbind", "rw"]})
    (bundle / "config.json").write_text(json.dumps(spec))

    name = f"stadium-test-{os.getpid()}"
    runc = ["runc", "--root", str(tmp_path / "runc")]
    log = open(tmp_path / "log", "w")
    container = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *runc, "run", "--bundle", str(bundle), name], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def state():
        assert container.poll() is None, (tmp_path / "log").read_text()
        shown = subprocess.run([*runc, "state", name], capture_output=True, text=True)
        state = json.loads(shown.stdout) if shown.returncode == 0 else {}
        return state["pid"] if state.get("status") == "running" else None

    try:
        pid = until("the container's start", state)
        health = settings["Healthcheck"]["Test"][1:]
        until("health", lambda: subprocess.run([*runc, "exec", name, *health], capture_output=True).returncode == 0)
        key = (data / "admin.key").read_text().strip()
        net = ["nsenter", "--target", str(pid), "--net"]
        put = run(*net, "curl", "--silent", "--show-error", "--fail-with-body", "-H", f"Authorization: Bearer {key}",
                  "-H", "Content-Type: application/json", "-d", '{"to": {"device": "phone-1"}, "message": "x"}', "http://127.0.0.1:8080/api/push")
        assert json.loads(put)["status"] == "accepted"
        status = open(f"/proc/{pid}/status").read()
        assert f"Uid:\t{user}\t{user}" in status
        touched = subprocess.run([*runc, "exec", name, "/usr/local/bin/stadium", "man", "/usr/local/man"], capture_output=True, text=True)
        assert touched.returncode == 1 and "ead-only" in touched.stderr, touched
        run(*runc, "kill", name, "TERM")
        assert container.wait(60) == 0, (tmp_path / "log").read_text()
        assert "Drained" in (tmp_path / "log").read_text()
    finally:
        subprocess.run([*runc, "delete", "--force", name], capture_output=True)
        container.kill()
        container.wait()
