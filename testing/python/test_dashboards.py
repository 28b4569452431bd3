"""The dashboards that the binary prints are dashboards of Grafana: its own types read each and lose nothing.

Grafana itself is under the AGPL and in no registry of packages, so that it is not started here. Its types are, for
Python and under Apache-2.0. That each query has data is tested with a real Prometheus, in testing/tests.
"""

import json
import subprocess

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

import server as servers

register_default_plugins()

NAMES = ["overview", "devices", "pushes", "queues-and-wallets", "rpc", "shards-and-journal", "cluster"]


def printed(name):
    done = subprocess.run([servers.binary(), "metrics", "dashboard", name], capture_output=True, check=True)
    return json.loads(done.stdout)


def lost(before, after, path="$"):
    """What `before` says and `after` does not; null and what is empty say nothing."""
    if isinstance(before, dict):
        return [each for key, value in before.items() for each in lost(value, after.get(key), f"{path}.{key}")]
    if isinstance(before, list):
        if len(before) != len(after or []):
            return [path]
        pairs = enumerate(zip(before, after or [], strict=True))
        return [each for index, pair in pairs for each in lost(*pair, f"{path}[{index}]")]
    return [] if before == after or before in (None, "") and not after else [f"{path}: {before} and {after}"]


def through_the_types(dashboard):
    read = Dashboard.from_json(dashboard)
    return read, json.loads(JSONEncoder(sort_keys=True).encode(read))


@pytest.mark.parametrize("name", NAMES)
def test_grafanas_own_types_read_a_dashboard_and_lose_nothing(name):
    dashboard = printed(name)
    read, written = through_the_types(dashboard)
    assert lost(dashboard, written) == []
    assert read.uid == f"stadium-{name}" and len(read.panels) > 10
    assert all(panel.targets for panel in read.panels if isinstance(panel, Panel))


def test_what_is_no_part_of_a_dashboard_is_lost():
    dashboard = printed("overview")
    dashboard["panels"][1]["targets"][0]["expression"] = "up"
    dashboard["panles"] = 7
    found = lost(dashboard, through_the_types(dashboard)[1])
    assert found == ["$.panels[1].targets[0].expression: up and None", "$.panles: 7 and None"]


@pytest.mark.parametrize("name", NAMES)
def test_panels_of_a_dashboard_do_not_overlap(name):
    taken = set()
    ids = set()
    for panel in printed(name)["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert panel["id"] not in ids, panel["title"]
        taken |= cells
        ids.add(panel["id"])
