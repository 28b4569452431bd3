"""The deb: installed, used, upgraded, removed and purged in a Debian that systemd has booted."""

import os
import re
import subprocess

from conftest import ARCH, artifact, run, until

CONFIGURATION = "/etc/stadium/stadium.toml"


def package():
    return "/dist/" + artifact(f"stadium_*_{ARCH}.deb").name


def install(machine, file):
    machine.run("apt-get", "install", "--yes", "--no-install-recommends", file)


def test_install_starts_a_server_that_serves(machine):
    install(machine, package())
    until("readiness", machine.is_ready)
    assert machine.unit("ActiveState", "SubState", "Type", "StatusText", "UnitFileState") == (
        "active", "running", "notify", "Serving", "enabled")
    # Commands of root find server and key by themselves.
    machine.run("stadium", "queue", "put", "mail", "letter")
    assert "letter" in machine.run("stadium", "queue", "work", "mail", "--drain", "--", "cat")
    # Files that a shell and man(1) look for.
    completed = ". /usr/share/bash-completion/completions/stadium && complete -p stadium"
    assert "_stadium" in machine.run("bash", "-c", completed)
    for page, part in (("stadium", "COMMANDS"), ("stadium-queue-put", "--delay"), ("stadium-serve", "--config")):
        assert part in machine.run("sh", "-c", f"man {page}"), page
    (process,) = machine.unit("MainPID")
    assert machine.run("stat", "--format=%U", f"/proc/{process}").strip() == "stadium"

    assert machine.run("stat", "--format=%U:%G %a", "/etc/stadium", "/var/lib/stadium", "/var/lib/stadium/admin.key").split("\n")[:3] == [
        "root:stadium 2755", "stadium:stadium 700", "stadium:stadium 600"]

    # The journal has its own time, and knows a warning from news.
    lines = machine.run("journalctl", "--unit=stadium", "--output=cat", "_COMM=stadium")
    assert re.search(r"^ *INFO Node runs pid=\d+", lines, re.M), lines
    assert not re.search(r"\d\dT\d\d:|\x1b|^<\d>", lines, re.M), lines
    warnings = machine.run("journalctl", "--unit=stadium", "--output=cat", "--priority=warning", "_COMM=stadium")
    assert "INFO" not in warnings
    assert "Serving" in machine.run("systemctl", "status", "stadium")

    machine.run("systemctl", "reload", "stadium")
    until("the state after the reload", lambda: machine.unit("StatusText") == ("Serving",))
    machine.run("systemctl", "stop", "stadium")
    assert machine.unit("Result", "ExecMainStatus") == ("success", "0")
    assert "Drained" in machine.journal()
    # Its ports are free now.
    machine.run("stadium", "config", "check", "--config", CONFIGURATION)


def test_upgrade_keeps_configuration_and_data_and_restarts(machine, older):
    install(machine, older("deb"))
    until("readiness", machine.is_ready)
    machine.run("sh", "-c", f"echo '# ours' >> {CONFIGURATION}")
    machine.run("stadium", "queue", "put", "mail", "letter")
    before = machine.unit("MainPID")
    install(machine, package())
    until("readiness", machine.is_ready)
    assert machine.unit("MainPID") != before
    assert machine.read(CONFIGURATION).endswith("# ours\n")
    assert "letter" in machine.run("stadium", "queue", "work", "mail", "--drain", "--", "cat")
    assert "0.0.1" not in machine.run("dpkg-query", "--show", "stadium")


def test_a_disabled_unit_stays_disabled_after_an_upgrade(machine, older):
    install(machine, older("deb"))
    machine.run("systemctl", "disable", "--now", "stadium")
    install(machine, package())
    assert machine.unit("UnitFileState") == ("disabled",)


def test_remove_keeps_what_purge_deletes(machine):
    install(machine, package())
    until("readiness", machine.is_ready)
    machine.run("apt-get", "remove", "--yes", "stadium")
    assert not machine.exists("/usr/bin/stadium") and not machine.exists("/lib/systemd/system/stadium.service")
    assert machine.ask("systemctl", "is-active", "stadium").stdout.strip() != "active"
    assert machine.exists(CONFIGURATION) and machine.exists("/var/lib/stadium/admin.key")
    machine.run("apt-get", "purge", "--yes", "stadium")
    for path in ("/etc/stadium", "/var/lib/stadium"):
        assert not machine.exists(path), path
    assert machine.ask("dpkg-query", "--show", "stadium").returncode != 0


def test_credentials_of_systemd_carry_the_private_key(machine, shared):
    """HTTPS with a key that only root can read, as deploy/README.md has it."""
    install(machine, package())
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", shared / "key.pem", "-out", shared / "certificate.pem")
    os.chmod(shared / "key.pem", 0o600)
    machine.run("sh", "-c", f"""
        mkdir -p /root/tls /etc/systemd/system/stadium.service.d && cp /shared/*.pem /root/tls/ && chmod 700 /root/tls
        printf '[Service]\\nLoadCredential=certificate.pem:/root/tls/certificate.pem\\nLoadCredential=key.pem:/root/tls/key.pem\\n' \
            > /etc/systemd/system/stadium.service.d/tls.conf
        printf '[http]\\ncertificate = "/run/credentials/stadium.service/certificate.pem"\\n' > {CONFIGURATION}
        printf 'key = "/run/credentials/stadium.service/key.pem"\\n' >> {CONFIGURATION}
        systemctl daemon-reload && systemctl restart stadium
    """)
    net = ["nsenter", "--target", machine.leader, "--net"]
    health = run(*net, "curl", "--silent", "--show-error", "--fail", "--cacert", shared / "certificate.pem", "https://localhost:8080/readyz")
    assert "ready" in health
    plain = subprocess.run([*net, "curl", "--silent", "http://localhost:8080/readyz"], capture_output=True)
    assert b"ready" not in plain.stdout
