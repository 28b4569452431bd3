"""The API follows its description, and Prometheus can read the metrics.

Schemathesis makes requests of the description: examples, every bound from both sides, missing and unknown fields, wrong types, unexpected methods,
no key, and random ones. Each answer has a status, a content type and a body that the description knows; what it allows is taken, what it forbids
is refused, nothing is a server error. schemathesis.toml lists where a schema cannot express all.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.request

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

from server import PEER

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="an API of stadium")

HERE = pathlib.Path(__file__).parent
# Random requests for each operation; bounds and mistakes are gone through one by one besides. The same ones in each run.
EXAMPLES = 4
# A run takes about a minute; one that hangs is a failure.
PATIENCE_S = 600


def key_of(server):
    return (server.folder / "data/admin.key").read_text().strip()


def test_the_server_answers_as_in_its_description(start):
    # Outside trial mode, where nothing is open to those without a key.
    server = start(trial=False)
    with urllib.request.urlopen(server.http + "/openapi.json") as answer:
        described = json.load(answer)
    operations = sum(len(methods) for methods in described["paths"].values())
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "run", server.http + "/openapi.json"]
    command += ["--header", f"Authorization: Bearer {key_of(server)}", "--phases", "examples,coverage,fuzzing"]
    command += ["--max-examples", str(EXAMPLES), "--seed", "16", "--generation-deterministic", "--checks", "all", "--no-color"]
    run = subprocess.run(
        command,
        cwd=server.folder,
        env=os.environ | {"PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    report = run.stdout + run.stderr
    assert run.returncode == 0, report
    # All of it was asked but the four streams.
    assert re.search(rf"Tested:\s+{operations - 4}\b", report), report
    assert "panicked" not in server.output(), server.output()


def scraped(server, accept=None):
    headers = {"Authorization": f"Bearer {key_of(server)}"} | ({"Accept": accept} if accept else {})
    with urllib.request.urlopen(urllib.request.Request(server.http + "/metrics", headers=headers)) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def samples(families):
    return {(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples}


def test_metrics_are_read_by_both_parsers_of_prometheus(start):
    server = start(settings="")
    assert server.call("POST", "/api/queues/mails/jobs", {"payload": "x"})[0] == 201
    kind, text = scraped(server)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    plain = list(parser.text_string_to_metric_families(text))
    kind, open_text = scraped(server, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text")
    opened = list(openmetrics.text_string_to_metric_families(open_text))
    # The same samples but for those that the two scrapes themselves have made.
    apart = {name for name, _ in samples(plain) ^ samples(opened) if not name.startswith("stadium_http_request")}
    assert not apart, apart
    untyped = [family.name for family in plain if family.type in ("unknown", "untyped") or not family.documentation]
    assert not untyped, untyped
    assert len(plain) > 60
    # Debian's prometheus has promtool, which also has opinions on names; it is asked where it is installed.
    if promtool := shutil.which("promtool"):
        checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr + checked.stdout
