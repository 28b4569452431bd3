"""The view of a person: the screen that is left after the demo's progress bars, by a terminal of the suite's own."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from server import PEER, SMALL_JOURNAL, binary

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="a command of stadium")

COLUMNS, PATIENCE_S = 160, 120
# Sequences of ECMA-48: parameters, then what to do.
CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def screen_of(text):
    """The lines of a screen without end after all of this was written to it."""
    lines, row, column, at = [""], 0, 0, 0
    while at < len(text):
        if control := CONTROL.match(text, at):
            at = control.end()
            count = int(control[1]) if control[1].isdigit() else 1
            match control[2]:
                case "A":
                    row = max(0, row - count)
                case "B":
                    row += count
                case "G":
                    column = count - 1
                case "K":
                    lines[row] = "" if control[1] == "2" else lines[row][:column]
                case "J":
                    lines[row:] = [lines[row][:column]]
            continue
        sign, at = text[at], at + 1
        if sign == "\r":
            column = 0
        elif sign == "\n":
            row += 1
        elif sign >= " ":
            lines[row] = lines[row][:column].ljust(column) + sign + lines[row][column + 1 :]
            column += 1
        lines += [""] * (row + 1 - len(lines))
    return lines


def test_a_screen_shows_the_text_that_was_written_to_it():
    assert screen_of("a\r\nbar 10%\r\x1b[2Kb\r\nc\x1b[1A\r\x1b[2Kd\r\n") == ["a", "d", "c"]


def shown(*arguments):
    """All that a command writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = os.environ | SMALL_JOURNAL | {"TERM": "xterm", "NO_COLOR": "1"}
    running = subprocess.Popen([binary(), *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    text, deadline = b"", time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    more = os.read(ours, 65_536)
                except OSError:  # The last one who held the other end has closed it.
                    more = b""
                if not more:
                    return running.wait(PATIENCE_S), text.decode()
                text += more
        raise AssertionError(f"it did not end within {PATIENCE_S} s:\n{text.decode()}")
    finally:
        if running.poll() is None:
            running.kill()
        running.wait()
        os.close(ours)


def test_no_progress_bar_of_the_demo_stays_on_the_screen():
    code, text = shown("demo", "--once", "--devices", "300", "--pushes", "2")
    screen = "\n".join(screen_of(text))
    assert code == 0, screen
    assert "voting" in text and "Voting page" in screen and "the books balance" in screen, text
    bars = [line for line in screen.splitlines() if re.match(r" +(connecting|lighting up|voting) ", line)]
    assert not bars, screen
