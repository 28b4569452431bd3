"""Every command of README, of the documentation and of the examples' head comments runs as it is written.

Each page is one scenario, in its order. A command must exit with 0 and print the output on the page. A block that cannot run here is marked
on the page, `<!-- not run: REASON -->`, with one of the reasons below.
"""

import re

import pytest

import pages
from pages import ROOT, blocks, matches
from server import until
from shell import Shell

# Why a block may be for reading only.
REASONS = {
    "it runs all suites, this one among them",
    "its addresses are those of other machines",
    "its values are those of a browser",
    "it takes minutes",
    "testing/packages runs it",
    "it needs a cluster",
    "it needs Kubernetes",
    "it needs a device that got the push",
    "its programs and files are the reader's own",
}

# What the text of a page takes for granted, as commands before its first.
BEFORE = {
    # A server that has run and stopped.
    "docs/archive.md": [
        "stadium serve --trial --data data &",
        "kill -TERM -- -$!; while kill -0 -- -$! 2>/dev/null; do sleep 0.1; done",
    ],
    "docs/apply.md": ["stadium serve --trial --data /tmp/stadium &"],
    "docs/cli.md": ["stadium serve --trial --data /tmp/stadium &", "stadium app set shop --data /tmp/stadium"],
    # Likewise.
    "docs/backup.md": [
        "stadium serve --trial --data data &",
        "kill -TERM -- -$!; while kill -0 -- -$! 2>/dev/null; do sleep 0.1; done",
    ],
    "docs/upgrading.md": [
        "stadium config sample > stadium.toml",
        "stadium serve --trial --data data &",
        "kill -TERM -- -$!; while kill -0 -- -$! 2>/dev/null; do sleep 0.1; done",
    ],
    "docs/erasure.md": ["stadium serve --trial --data data &"],
    "docs/authentication.md": [
        "stadium serve --trial --data /tmp/stadium &",
        "export STADIUM_KEY=$(cat /tmp/stadium/admin.key)",
        "stadium device set phone-7 --data /tmp/stadium",
    ],
    "docs/device-authentication.md": [
        "stadium serve --trial --data /tmp/stadium &",
        "KEY=$(cat /tmp/stadium/admin.key)",
        "stadium device set phone-7 --data /tmp/stadium",
    ],
    "docs/push-rpc.md": [
        "stadium serve --trial --data data &",
        "cp data/admin.key admin.key",
        "stadium device set phone-7 --tag vip --data data",
    ],
    "docs/memcache-commands.md": [
        "memcached -u root -s /tmp/memcached.sock &",
        "until stadium memcache stats --servers /tmp/memcached.sock; do sleep 0.1; done",
    ],
    "docs/devices-own-rights.md": ["stadium serve --trial --data data &", "stadium device set phone-7 --data data"],
    "docs/load.md": "examples/load/voting-night.toml",
    "docs/push-api.md": ["stadium serve --trial --data data &", "printf 'device,tags\\nfan-1,fan\\nfan-2,fan\\n' > fans.csv"],
    "docs/webhooks.md": [
        "stadium serve --trial --data /tmp/stadium &",
        'STADIUM=http://127.0.0.1:8080 ADMIN=$(cat /tmp/stadium/admin.key)',
    ],
    "examples/push.sh": ["stadium serve --trial --data /tmp/stadium &"],
    "examples/device.py": ["stadium serve --trial --data /tmp/stadium &"],
}

# What a page shows being refused, with its exit code.
REFUSED = {"geo-client --device phone-1 --lat 95 --lon 0": 1}

# A command that has ended has printed all it will; one in the background may take as long.
PRINTS_WITHIN_S = 5

# Phases of the examples' scenarios, in seconds: their own lengths are for people. README's runs as it is.
PHASE_S = 2
# Fleets take as long to connect, and their messages come when all have.
OTHER_PHASE_S = {"README.md": None, "docs/load.md": 1} | {
    f"examples/load/{name}.toml": 4 for name in ("broadcast", "carrier-weather", "reconnect-storm")
}


def documents():
    names = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md"))]
    names += sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/**/README.md"))
    names += sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/load/*.toml"))
    names += ["examples/device.py", "examples/push.sh"]
    return [name for name in names if blocks(name)]


@pytest.fixture
def shell(request):
    made = Shell(seconds=OTHER_PHASE_S.get(request.node.callspec.params["page"], PHASE_S))
    yield made
    made.stop()


def before(page):
    """The commands of `BEFORE`; those of an example are all but its last, which is what the page shows."""
    wanted = BEFORE.get(page, [])
    if isinstance(wanted, str):
        return blocks(wanted)[0].commands[:-1]
    return [pages.Command(page, 0, text) for text in wanted]


@pytest.mark.parametrize("page", documents())
def test_commands_of_a_page_run_as_they_are_written(page, shell):
    for command in before(page):
        shell.do(command)
    for block in blocks(page):
        if block.reason:
            continue
        for command in block.commands:
            number = shell.do(command, REFUSED.get(command.text, 0))
            for line in command.prints:
                # What runs in the background prints when it likes.
                try:
                    until("it", lambda: matches(shell.here(line), shell.printed(number)), PRINTS_WITHIN_S)
                except AssertionError:
                    pytest.fail(f"{command}\ndoes not print\n{line}\nbut\n{shell.printed(number)[-3000:]}")


def test_a_block_that_is_not_run_has_a_known_reason():
    given = {block.reason for page in documents() for block in blocks(page) if block.reason}
    assert given <= REASONS, given - REASONS
    assert REASONS <= given, f"no page needs {REASONS - given}"
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/README.md")]:
        marked = path.read_text().count("<!-- not run")
        found = sum(1 for block in blocks(path.relative_to(ROOT).as_posix()) if block.reason)
        assert marked == found, f"{path}: a marker that stands above no block"


def test_commands_stand_in_blocks_that_say_so():
    """Otherwise nobody would run them."""
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/README.md")]:
        for fence in pages.FENCE.finditer(path.read_text()):
            commands = re.findall(r"^(?:\$ )?(?:stadium|curl|cargo|mosquitto_\w+|voting|geo-client) .*", fence["text"], re.M)
            assert not commands or fence["kind"] in pages.SHELL, f"{path}: make the block `sh` or `console`: {commands[0]}"


def test_pages_are_taken_apart():
    text = '```console\n$ b\n```\n```python title="a.py"\nprint(1)\n```\n```python\nno()\n```\n'
    found = [fence["title"] for fence in pages.FENCE.finditer(text)]
    assert found == [None, "a.py", None]
    commands = pages.session("p", 1, "$ echo a \\\n    b\nout\n$ cat <<X\n$ no\nX\n$ seq 2\n1\n2\n")
    assert [(command.line, command.text, command.prints) for command in commands][0] == (1, "echo a \\\n    b", ["out"])
    assert commands[-1].prints == ["1", "2"]
    commands = pages.script("p", 5, "A=1\n# words\ncurl -d '{\n \"a\": 1}'\n\nb &\n")
    assert [(command.line, command.text) for command in commands] == [(5, "A=1"), (7, "curl -d '{\n \"a\": 1}'"), (10, "b &")]
    assert matches('{"id":"…","n":1795342800000}', 'x {"id":"abc","n":1795342800001} y')
    assert not matches('{"id":"…","n":1}', '{"id":"abc","n":2}')
