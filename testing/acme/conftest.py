"""Servers, and Pebble as their ACME server. The helpers are those of testing/python."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import pytest  # noqa: E402

from pebble import Pebble  # noqa: E402
from starting import start  # noqa: E402, F401


@pytest.fixture
def pebble(tmp_path):
    """Makes ACME servers that end with the test."""
    made = []

    def make(**plan):
        made.append(Pebble(tmp_path / f"pebble-{len(made)}", **plan))
        return made[-1]

    yield make
    for each in made:
        each.stop()
