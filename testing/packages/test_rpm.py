"""The rpm: installed, upgraded and erased by rpm itself. The root is Debian's, whose rpm has no packages to depend on."""

from conftest import HERE, artifact, until

CONFIGURATION = "/etc/stadium/stadium.toml"


def package():
    return "/dist/" + artifact(f"stadium-*.{HERE}.rpm").name


def test_an_rpm_is_installed_upgraded_and_erased(machine, older):
    machine.run("rpm", "--install", "--nodeps", older("rpm"))
    assert machine.unit("ActiveState") == ("inactive",), "an rpm starts nothing"
    machine.run("systemctl", "enable", "--now", "stadium")
    until("readiness", machine.is_ready)
    machine.run("sh", "-c", f"echo '# ours' >> {CONFIGURATION}")
    before = machine.unit("MainPID")

    machine.run("rpm", "--upgrade", "--nodeps", package())
    until("readiness", machine.is_ready)
    assert machine.unit("MainPID") != before
    assert machine.read(CONFIGURATION).endswith("# ours\n")
    machine.run("rpm", "--verify", "--nodeps", "--nomtime", "--noconfig", "stadium")

    machine.run("rpm", "--erase", "stadium")
    assert machine.ask("systemctl", "is-active", "stadium").stdout.strip() != "active"
    assert not machine.exists("/usr/bin/stadium")
    assert machine.exists(CONFIGURATION + ".rpmsave") and machine.exists("/var/lib/stadium/admin.key")


def test_its_dependencies_and_its_configuration_are_declared(machine):
    assert "ca-certificates" in machine.run("rpm", "--query", "--package", "--requires", package())
    assert machine.run("rpm", "--query", "--package", "--configfiles", package()).split() == [CONFIGURATION]
