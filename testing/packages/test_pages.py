"""Every block of README, docs/install.md and deploy/README.md that is marked `testing/packages runs it`: run here, as written.

A section is one scenario in a clean root. Those of docs/install.md are a new user's way from the file to a push that a device gets over
TLS, and have to take less than five minutes.
"""

import json
import os
import shutil
import subprocess
import tempfile

import pytest

from conftest import DIST, HERE, children, nfpm, run, until
from reader import Reader, sections

FIRST_PUSH_S = 300
SECTIONS = sections()
# podman asks for more processes and files than some machines allow; a later --ulimit wins.
DOCKER = """#!/bin/bash
store="--root {folder}/images --runroot {folder}/run --cgroup-manager cgroupfs --runtime runc"
if [ "$1" = run ]; then
    shift
    exec podman $store run --ulimit nofile=$(ulimit -Hn) --ulimit nproc=$(ulimit -Hu) "$@"
fi
exec podman $store "$@"
"""


@pytest.fixture
def reader(machine):
    """A reader in a booted Debian, among the files of the release."""
    made = Reader(machine.inside, machine.environment)
    assert made.ask("cp /dist/* .").returncode == 0
    yield made
    made.stop()


@pytest.fixture
def namespaces():
    """Namespaces of the test's own for network, processes and mounts: what runs there ends with the test."""
    holder = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", "-c", "ip link set lo up && exec sleep infinity"])
    first = until("the namespaces", lambda: children(holder.pid))[0]
    yield lambda *command: ["nsenter", "--target", first, "--net", "--mount", "--pid", *map(str, command)]
    holder.kill()
    holder.wait()


@pytest.fixture
def host(namespaces, tmp_path):
    """A reader on this machine, for whom podman is docker, with images and containers of the test's own."""
    docker = tmp_path / "bin/docker"
    docker.parent.mkdir()
    # podman refuses a path of more than 50 characters.
    store = tempfile.mkdtemp(prefix="stadium-", dir="/tmp")
    docker.write_text(DOCKER.format(folder=store))
    docker.chmod(0o755)
    shutil.copytree(DIST, tmp_path / "files")
    environment = {**os.environ, "PATH": f"{docker.parent}:{os.environ['PATH']}"}
    made = Reader(namespaces, environment, str(tmp_path / "files"), tmp_path / "folder", "docker exec stadium stadium")
    yield made
    made.ask("docker rm --all --force --time 5; docker volume rm --all --force; docker rmi --all --force")
    made.stop()
    shutil.rmtree(store, ignore_errors=True)


def test_no_block_is_left_out():
    """Each section has its test below; one without would be a block that nothing runs."""
    assert set(SECTIONS) == {
        ("README.md", "Stadium"),
        ("docs/install.md", "Verify the files"),
        ("docs/install.md", "Debian and Ubuntu"),
        ("docs/install.md", "Fedora, RHEL, SUSE"),
        ("docs/install.md", "Archive"),
        ("docs/install.md", "Container image"),
        ("deploy/README.md", "Container"),
        ("deploy/README.md", "systemd"),
    }


def test_the_files_are_verified_as_the_page_has_it(host):
    blocks = SECTIONS["docs/install.md", "Verify the files"]
    host.reads(blocks)
    assert host.ask("for file in *.deb; do echo more >> $file; done").returncode == 0
    checked = host.ask(blocks[0].commands[1].text)
    assert checked.returncode != 0 and ".deb: FAILED" in checked.stdout


def test_a_deb_pushes_within_five_minutes(reader):
    install, first_push, users = SECTIONS["docs/install.md", "Debian and Ubuntu"]
    reader.reads([install, first_push])
    reader.received("Hello")
    assert reader.report("deb, to the first push") < FIRST_PUSH_S
    assert reader.ask("useradd --create-home ada").returncode == 0
    reader.reads([users])
    # Without a key of his own he is told where the one of root is.
    refused = reader.ask("useradd --create-home bob && su bob -c 'stadium device list'")
    assert refused.returncode == 1 and "/var/lib/stadium/admin.key" in refused.stderr, refused


def test_an_rpm_is_set_up_as_the_page_has_it(reader, shared):
    """By dnf, which finds the rest of a Fedora in a package that stands for it."""
    provides(shared, "ca-certificates", "/usr/sbin/useradd")
    assert reader.ask("rpm --install /shared/*.rpm && echo assumeyes=True >> /etc/dnf/dnf.conf").returncode == 0
    reader.reads(SECTIONS["docs/install.md", "Fedora, RHEL, SUSE"])
    until("readiness", lambda: reader.ask("stadium health").returncode == 0)
    reader.report("rpm, to a server with TLS")


def test_an_archive_pushes_within_five_minutes(reader):
    reader.reads(SECTIONS["docs/install.md", "Archive"])
    reader.received("Hello")
    assert reader.report("archive, to the first push") < FIRST_PUSH_S


def test_an_archive_runs_the_demo_as_readme_has_it(reader):
    reader.reads(SECTIONS["README.md", "Stadium"])


def test_an_image_pushes_within_five_minutes(host):
    *before, last = SECTIONS["docs/install.md", "Container image"][0].commands
    for command in before:
        host.do(command)
    host.received("Hello")
    assert host.report("image, to the first push") < FIRST_PUSH_S
    host.do(last)
    ended(host, "stadium")


def test_an_image_serves_as_the_page_of_deployment_has_it(host):
    host.reads(SECTIONS["deploy/README.md", "Container"])
    (name,) = host.ask("docker ps --format '{{.Names}}'").stdout.split()
    assert host.ask(f"docker exec {name} stadium health").stdout == "ready http://127.0.0.1:8080\n"
    assert host.ask(f"docker stop {name}").returncode == 0
    ended(host, name)


def test_a_program_of_ones_own_is_a_service_as_the_page_has_it(reader):
    prepared = f"""
        mkdir -p target/dist && cp -r /deploy deploy
        tar -xzf stadium-*-{HERE}-linux.tar.gz --strip-components=1 --directory=target/dist --wildcards '*/stadium'
    """
    assert reader.ask(prepared).returncode == 0
    reader.reads(SECTIONS["deploy/README.md", "systemd"])
    assert reader.ask("stadium health").returncode == 0


def ended(host, name):
    """A container has drained and ended well."""
    shown = host.ask(f"docker inspect --format '{{{{.State.ExitCode}}}}' {name} && docker logs {name}")
    assert shown.stdout.startswith("0\n") and "Drained" in shown.stdout + shown.stderr, shown


def provides(folder, *names):
    """Makes a package of a system that has nothing but names which others depend on."""
    description = folder / "system.yaml"
    description.write_text(json.dumps(
        {"name": "system", "version": "1", "arch": "all", "maintainer": "x", "description": "x", "provides": names}))
    run(nfpm(), "package", "--config", description, "--packager", "rpm", "--target", folder)
