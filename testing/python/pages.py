"""Pages, and the commands that they show.

A `console` block holds commands behind `$ `, each followed by what it prints; an `sh` block is a script, taken apart into its
commands. A block with a title, such as `python title="first.py"`, is a file that the commands after it use. The head comment of
an example is a script. `<!-- not run: REASON -->` above a block marks it as for reading.
"""

import pathlib
import re
import subprocess
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
TITLE = r'(?: title="(?P<title>[\w.-]+)")?'
FENCE = re.compile(
    r"(?P<marker><!-- not run: (?P<reason>[^>]+?) -->\n+)?^```(?P<kind>\w*)" + TITLE + r"[^\n]*\n(?P<text>.*?)^```", re.S | re.M
)
SHELL = {"console", "sh", "bash", "shell"}


@dataclass
class Command:
    """A command, where it stands, and the output that the page states."""

    page: str
    line: int
    text: str
    prints: list = field(default_factory=list)

    def __str__(self):
        return f"{self.page}:{self.line}: {self.text}"


@dataclass
class Block:
    page: str
    line: int
    reason: str
    commands: list


def blocks(page):
    """All blocks of commands of a page."""
    text = (ROOT / page).read_text()
    if not page.endswith(".md"):
        return [Block(page, 1, None, script(page, 1, head_comment(page, text)))]
    found = []
    for fence in FENCE.finditer(text):
        line = text[: fence.start("text")].count("\n") + 1
        if fence["title"]:
            written = f"cat > {fence['title']} <<'END OF THE FILE'\n{fence['text']}END OF THE FILE"
            found.append(Block(page, line, fence["reason"], [Command(page, line, written)]))
        elif fence["kind"] in SHELL:
            read = session if fence["kind"] == "console" else script
            found.append(Block(page, line, fence["reason"], read(page, line, fence["text"])))
    return found


def head_comment(page, text):
    """The commands of a head comment: lines that are set in by three blanks more."""
    if page.endswith(".py"):
        lines = text.split('"""')[1].splitlines()
        return "\n".join(line[4:] for line in lines if line.startswith("    "))
    lines = [line for line in text.splitlines() if line.startswith("#   ")]
    return "\n".join(line[4:] for line in lines)


def session(page, line, text):
    """The commands of a `console` block."""
    commands = []
    for number, written in enumerate(text.splitlines(), line):
        if written.startswith("$ "):
            commands.append(Command(page, number, written[2:]))
        elif commands and not commands[-1].prints and not is_whole(commands[-1].text):
            commands[-1].text += "\n" + written
        elif commands:
            commands[-1].prints.append(written)
        else:
            raise AssertionError(f"{page}:{number}: output before a command: {written}")
    return commands


def script(page, line, text):
    """The commands of a script, one by one."""
    commands = []
    for number, written in enumerate(text.splitlines(), line):
        if commands and not is_whole(commands[-1].text):
            commands[-1].text += "\n" + written
        elif written.strip() and not written.startswith("#"):
            commands.append(Command(page, number, written))
    return commands


def is_whole(text):
    """Whether a shell would run it, rather than wait for its end."""
    if text.endswith("\\"):
        return False
    asked = subprocess.run(["bash", "-n"], input=text + "\n", text=True, capture_output=True)
    return asked.returncode == 0 and "unexpected end of file" not in asked.stderr


def matches(expected, printed):
    """Whether it was printed, where `...` and long numbers and ids stand for any."""
    parts = re.split(r"…|\.\.\.|\d{10,}|[0-9a-f]{8}-[0-9a-f-]+|\b[0-9a-f]{32}\b", expected)
    return re.search(".*?".join(re.escape(part) for part in parts), printed) is not None
