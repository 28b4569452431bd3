"""The files of deploy/: read by the programs that they are for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conftest import KEPT, ROOT, run

DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="session")
def quadlet():
    """The generator of Debian 13: podman of Debian 12 has none. It runs with its own C library."""
    folder = KEPT / "quadlet"
    generator = folder / "root/usr/libexec/podman/quadlet"
    if not generator.exists():
        for part in ("state/lists/partial", "cache/archives/partial", "packages"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (folder / "sources.list").write_text(f"deb [signed-by={keys}] http://deb.debian.org/debian trixie main\n")
        (folder / "status").write_text("")
        (folder / "apt.conf").write_text(
            f'Dir::State "{folder}/state"; Dir::Cache "{folder}/cache"; Dir::Etc::main "/dev/null"; Dir::Etc::parts "/dev/null";\n'
            f'Dir::Etc::sourcelist "{folder}/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::State::status "{folder}/status";\n'
            'APT::Sandbox::User "root"; Acquire::Languages "none";\n')
        environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
        run("apt-get", "--quiet=2", "update", env=environment)
        run("apt-get", "--quiet=2", "download", "podman", "libc6", cwd=folder / "packages", env=environment)
        for package in (folder / "packages").glob("*.deb"):
            run("dpkg-deb", "--extract", package, folder / "root")
    loader = next((folder / "root").rglob("ld-linux-*.so.*"))
    return [loader, "--library-path", loader.parent, generator]


def test_systemd_accepts_the_unit(tmp_path):
    stadium = tmp_path / "usr/bin/stadium"
    unit = (DEPLOY / "stadium.service").read_text()
    stadium.parent.mkdir(parents=True)
    stadium.write_text("#!/bin/sh\n")
    stadium.chmod(0o755)
    copy = tmp_path / "stadium.service"
    copy.write_text(unit.replace("ExecStart=stadium", f"ExecStart={stadium}"))
    run("systemd-analyze", "verify", "--man=no", copy)
    copy.write_text(copy.read_text().replace("Type=notify", "Type=nothing"))
    wrong = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
    assert "nothing" in wrong.stderr, "the check sees mistakes"


def test_the_quadlet_becomes_a_unit(quadlet, tmp_path):
    file = tmp_path / "stadium.container"
    file.write_text((DEPLOY / "stadium.container").read_text())
    environment = {**os.environ, "QUADLET_UNIT_DIRS": str(tmp_path)}
    unit = run(*quadlet, "-dryrun", env=environment)
    for part in ("Type=notify", "--read-only", "--sdnotify=container", "--cap-drop all", "--ulimit nofile=1048576:1048576"):
        assert part in unit, part


def test_compose_reads_its_file():
    shown = run(Path(sys.executable).parent / "podman-compose", "--file", DEPLOY / "compose.yaml", "config")
    service = yaml.safe_load(shown)["services"]["stadium"]
    assert service["read_only"] is True and service["image"].startswith("docker.io/library/stadium:")
