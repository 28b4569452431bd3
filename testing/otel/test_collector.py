"""A collector of OpenTelemetry takes what a server exports: one trace and its metrics, over HTTP and over gRPC.

`cargo xtask test otel` builds the collector of main.go, and names it in STADIUM_COLLECTOR. It writes what it takes to
a file, a line of JSON each.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from device import V5, Device  # noqa: E402
from server import PATIENCE_S, Server, until  # noqa: E402

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SAMPLED = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}

CONFIG = """
receivers:
  otlp:
    protocols:
      http: {{endpoint: "127.0.0.1:{http}"}}
      grpc: {{endpoint: "127.0.0.1:{grpc}"}}
exporters:
  file: {{path: "{out}", flush_interval: 50ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file]}}
    metrics: {{receivers: [otlp], exporters: [file]}}
"""


def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Collector:
    def __init__(self, folder):
        self.ports = {"http/protobuf": port(), "grpc": port()}
        self.out = folder / "out.json"
        config = CONFIG.format(http=self.ports["http/protobuf"], grpc=self.ports["grpc"], out=self.out)
        (folder / "config.yaml").write_text(config)
        self.log = open(folder / "log", "w+", encoding="utf-8")
        command = [os.environ["STADIUM_COLLECTOR"], "--config", f"file:{folder}/config.yaml"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        try:
            until("the collector to listen", lambda: all(map(self.listens, self.ports.values())))
        except BaseException:
            self.stop()
            raise

    def listens(self, number):
        assert self.process.poll() is None, (self.log.seek(0), self.log.read())
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", number)) == 0

    def lines(self, kind):
        text = self.out.read_text() if self.out.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        return [resource for line in whole.splitlines() for resource in json.loads(line).get(kind, [])]

    def spans(self):
        """The spans of the trace, by name."""
        scopes = [scope for resource in self.lines("resourceSpans") for scope in resource["scopeSpans"]]
        return {span["name"]: span for scope in scopes for span in scope["spans"] if span["traceId"] == TRACE}

    def metrics(self):
        scopes = [scope for resource in self.lines("resourceMetrics") for scope in resource["scopeMetrics"]]
        return {metric["name"]: metric for scope in scopes for metric in scope["metrics"]}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


@pytest.fixture
def collector(tmp_path):
    running = Collector(tmp_path)
    yield running
    running.stop()


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"], ids=["http", "grpc"])
def test_a_collector_takes_one_trace_and_the_metrics(collector, protocol):
    settings = f"""[telemetry]
endpoint = "http://127.0.0.1:{collector.ports[protocol]}"
protocol = "{protocol}"
sample_ratio = 0
spans_interval_ms = 10
metrics_interval_s = 1
"""
    server = Server(settings=settings)
    try:
        phone = Device(server, version=V5, id="phone")
        phone.connect()
        phone.subscribe("inbox/phone", qos=1)
        until("the device to be registered", lambda: server.call("GET", "/api/apps/default/devices/phone")[0] == 200)
        body = {"audience": {"device": "phone"}, "message": "goal"}
        assert server.call("POST", "/api/apps/default/pushes", body, headers=SAMPLED)[0] == 202
        assert phone.take().payload == b"goal"
        names = {"POST /api/apps/{app}/pushes", "shard.push", "journal.commit", "publish inbox/{device}"}
        spans = until("the trace", lambda: (found := collector.spans()) and names <= set(found) and found)
        request = spans["POST /api/apps/{app}/pushes"]
        assert request["parentSpanId"] == "00f067aa0ba902b7"
        assert spans["shard.push"]["parentSpanId"] == request["spanId"]
        assert spans["journal.commit"]["parentSpanId"] == spans["shard.push"]["spanId"]
        assert spans["publish inbox/{device}"]["parentSpanId"] == request["spanId"]

        metrics = until("the metrics", collector.metrics)
        assert metrics["stadium_http_requests_total"]["sum"]["isMonotonic"]
        assert metrics["stadium_http_request_duration_seconds"]["unit"] == "s"
        assert metrics["stadium_delivery_latency_seconds"]["histogram"]["dataPoints"]
        text = server.call("GET", "/metrics")[1]
        assert "stadium_telemetry_exports_failed_total 0" in text
    finally:
        server.stop()
