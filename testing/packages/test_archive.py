"""The archives: seal, contents, the programs' needs, and a first push of each architecture."""

import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from conftest import DIST, HERE, ROOT, artifact, run

XTASK = os.environ.get("STADIUM_XTASK", ROOT / "target/debug/xtask")
ARCHITECTURES = ["x86_64", "aarch64"]
# Of glibc; the C library of every distribution has them.
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


@pytest.fixture(params=ARCHITECTURES)
def unpacked(request, tmp_path):
    with tarfile.open(artifact(f"stadium-*-{request.param}-linux.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return request.param, next(tmp_path.iterdir())


def test_minisign_and_sha256sum_accept_the_seal(tmp_path):
    copied = shutil.copytree(DIST, tmp_path / "dist")
    verify = ["minisign", "-V", "-m", "SHA256SUMS", "-p", "stadium.pub"]
    run(*verify, cwd=copied)
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=copied)
    sums = (copied / "SHA256SUMS").read_text()
    (copied / "SHA256SUMS").write_text(sums.replace("a", "b", 1))
    assert subprocess.run(verify, cwd=copied, capture_output=True).returncode != 0


def test_verify_of_xtask_accepts_the_release_and_no_other(tmp_path):
    copied = shutil.copytree(DIST, tmp_path / "dist")
    verify = [XTASK, "dist", "--verify", "--output", copied]
    assert "files are those that were signed" in run(*verify, cwd=ROOT)
    with open(copied / artifact("*.x86_64.rpm").name, "ab") as package:
        package.write(b"more")
    tampered = subprocess.run(verify, cwd=ROOT, capture_output=True, text=True)
    assert tampered.returncode != 0 and ".rpm is not the file that was signed" in tampered.stderr


def test_an_archive_has_all_that_an_installation_needs(unpacked):
    _, folder = unpacked
    for name in ("stadium", "LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY.md", "stadium.service", "stadium.sysusers", "stadium.toml.sample",
                 "completions/stadium.bash", "completions/_stadium", "completions/stadium.fish", "man/stadium.1.gz"):
        assert (folder / name).stat().st_size > 0, name
    assert "rustls" in (folder / "THIRD-PARTY.md").read_text()


def test_a_program_needs_an_old_glibc_and_nothing_else(unpacked):
    _, folder = unpacked
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "--dynamic", folder / "stadium")))
    assert needed <= LIBRARIES, needed
    symbols = run("readelf", "--version-info", "--wide", folder / "stadium")
    newest = max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", symbols))
    assert newest <= (2, 17), newest
    assert ".symtab" not in run("readelf", "--sections", "--wide", folder / "stadium"), "it is stripped"


def test_a_program_serves_a_push(unpacked, tmp_path):
    """The other architecture's under an emulator, in the root that its image has."""
    architecture, folder = unpacked
    emulator = []
    if architecture != HERE:
        emulator = [f"qemu-{architecture}-static", "-L", ROOT / "target/dist-tools" / architecture / "base/root"]
    stadium = [*map(str, emulator), str(folder / "stadium")]
    data = tmp_path / "data"
    server = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *stadium, "serve", "--trial", "--json", "--data", str(data), "--loops", "1",
         "--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rpc", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    device = None
    try:
        ready = json.loads(server.stdout.readline())
        port = next(each for each in ready["listeners"] if each["name"] == "mqtt")["address"].rsplit(":", 1)[1]
        device = subprocess.Popen(
            ["stdbuf", "--output=L", "mosquitto_sub", "-d", "-p", port, "-V", "5", "-i", "phone-1", "-q", "1",
                 "-t", "inbox/phone-1", "-C", "1", "-W", "60"],
            stdout=subprocess.PIPE, text=True)
        lines = iter(device.stdout.readline, "")
        assert any("Subscribed" in line for line in lines)
        run(*stadium, "push", "device:phone-1", "Goal!", "--data", data)
        assert any("Goal!" in line for line in lines)
        server.terminate()
        assert server.wait(60) == 0
    finally:
        for process in filter(None, (server, device)):
            process.kill()
            process.wait()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_bill_of_materials_is_valid_cyclonedx(architecture):
    text = artifact(f"stadium-*-{architecture}-linux.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    assert len(bill["components"]) > 100
    assert [each["name"] for each in bill["components"] if "licenses" not in each] == []


def test_the_same_program_makes_the_same_files(tmp_path):
    """All but the signature, whose key is thrown away."""
    run(XTASK, "dist", "--skip-build", "--target", HERE, "--output", tmp_path / "again", cwd=ROOT, within_s=900)
    again = (tmp_path / "again/SHA256SUMS").read_text().splitlines()
    assert len(again) == 5
    assert set(again) <= set((DIST / "SHA256SUMS").read_text().splitlines())
