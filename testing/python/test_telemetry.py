"""Traces and metrics over OTLP, read with the types of OpenTelemetry: where spans come from, what a bad collector does.

The receiver here is small, so that it can be slow and wrong. A collector of OpenTelemetry reads the same exports in
testing/otel.
"""

import http.server
import json
import re
import socket
import subprocess
import threading
import time

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from device import V5, Device, unique
from server import PEER, binary, until
from test_push_platform import counts
from test_requests import ask, event, geo  # noqa: F401
from test_requests import settings as served_by

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the telemetry of stadium")

PROTOBUF = "application/x-protobuf"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
SAMPLED = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{CALLER}-00"}


class Collector:
    """Takes OTLP over HTTP. `answers` are the first answers: a status, or a function of the handler."""

    def __init__(self, answers=()):
        self.answers = list(answers)
        self.requests = []
        self.spans = []
        self.metrics = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.requests.append((self.path, dict(self.headers)))
                answer = collector.answers.pop(0) if self.path == "/v1/traces" and collector.answers else 200
                if callable(answer):
                    return answer(self)
                if answer == 200:
                    collector.take(self.path, body)
                self.reply(answer)

            def reply(self, status, kind=PROTOBUF, body=b"", headers=()):
                self.send_response(status)
                for name, value in [("content-type", kind), ("content-length", str(len(body))), *headers]:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, body):
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.spans += [(resource.resource, span) for scope in resource.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            self.metrics.append(ExportMetricsServiceRequest.FromString(body))

    def named(self, name):
        return [span for _, span in self.spans if span.name == name]

    def span(self, name):
        return until(f"a span {name}", lambda: self.named(name))[0]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collect():
    made = []

    def make(*arguments):
        made.append(Collector(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def reader():
    """Makes devices of MQTT 5 that read their inbox and are registered. Closes them afterwards."""
    made = []

    def make(server, name, expiry_s=0, **arguments):
        made.append(Device(server, version=V5, id=name, clean=not expiry_s, **arguments))
        made[-1].connect(SessionExpiryInterval=expiry_s)
        made[-1].subscribe(f"inbox/{name}", qos=1)
        until(f"{name} is registered", lambda: server.call("GET", f"/api/apps/default/devices/{name}")[0] == 200)
        return made[-1]

    yield make
    for each in made:
        each.close()


def settings(url, **more):
    """A server that samples what its callers sample, and exports at once."""
    lines = {"endpoint": url, "spans_interval_ms": 10, "sample_ratio": 0, "sample_errors": False, "sample_slow_ms": 0}
    lines |= {"metrics_interval_s": 0, **more}
    return "[telemetry]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())


def attributes(holder):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in holder.attributes}


def user_properties(message):
    return dict(getattr(message.properties, "UserProperty", []))


def figure(server, name):
    """The sum of the series of a metric."""
    text = server.call("GET", "/metrics")[1]
    found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.M)
    return sum(map(float, found))


def test_one_trace_from_the_http_call_to_the_devices_acknowledgement(collect, start, reader):
    collector = collect()
    server = start(settings=settings(collector.url, service_name="arena"))
    name = unique("phone")
    phone = reader(server, name)
    body = {"audience": {"device": name}, "message": "goal"}
    assert server.call("POST", "/api/apps/default/pushes", body, headers=SAMPLED)[0] == 202
    carried = user_properties(phone.take())["traceparent"]

    delivery = collector.span("publish inbox/{device}")
    request = collector.span("POST /api/apps/{app}/pushes")
    shard = next(span for span in collector.named("shard.push") if span.parent_span_id == request.span_id)
    commit = collector.span("journal.commit")
    spans = [request, shard, commit, delivery]
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    assert request.parent_span_id.hex() == CALLER
    assert commit.parent_span_id == shard.span_id
    assert delivery.parent_span_id == request.span_id
    assert carried == f"00-{TRACE}-{delivery.span_id.hex()}-01"
    assert [span.kind for span in spans] == [Span.SPAN_KIND_SERVER, Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_PRODUCER]
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    assert request.start_time_unix_nano <= shard.start_time_unix_nano <= commit.start_time_unix_nano <= commit.end_time_unix_nano <= shard.end_time_unix_nano

    said = attributes(request)
    assert said["http.request.method"] == "POST" and said["http.response.status_code"] == 202
    assert said["http.route"] == "/api/apps/{app}/pushes" and said["url.path"] == "/api/apps/default/pushes"
    said = attributes(delivery)
    assert said["messaging.system"] == "mqtt" and said["messaging.destination.name"] == f"inbox/{name}"
    assert [event.name for event in delivery.events] == ["sent", "acknowledged"]
    assert delivery.status.code == Status.STATUS_CODE_UNSET
    resource = attributes(collector.spans[0][0])
    assert resource["service.name"] == "arena" and resource["service.version"] and resource["service.instance.id"]


def test_a_repeated_push_is_the_same_in_another_trace(collect, start):
    server = start(settings=settings(collect().url))
    body = {"id": "0" * 31 + "7", "audience": {"device": "phone"}, "message": "goal"}
    for expected, headers in [(202, SAMPLED), (200, {}), (200, UNSAMPLED)]:
        status, answer = server.call("POST", "/api/apps/default/pushes", body, headers=headers)
        assert status == expected, answer
    # It is on disk with its trace, and read again.
    server.restart()
    assert server.call("POST", "/api/apps/default/pushes", body)[0] == 200
    body["message"] = "another"
    assert server.call("POST", "/api/apps/default/pushes", body)[0] == 422


def test_a_push_to_many_has_spans_for_a_few_devices(collect, start, reader):
    collector = collect()
    server = start(settings=settings(collector.url, devices_per_push_max=3))
    names = [unique("fan") for _ in range(8)]
    phones = [reader(server, name) for name in names]
    body = {"audience": {"devices": names}, "message": "goal"}
    status, answer = server.call("POST", "/api/apps/default/pushes", body, headers=SAMPLED)
    assert status == 202, answer
    carried = [user_properties(phone.take()).get("traceparent") for phone in phones]
    counts(server, answer["id"], delivered=8)
    assert len([each for each in carried if each]) == 3
    until("three spans", lambda: len(collector.named("publish inbox/{device}")) == 3)
    ids = {span.span_id.hex() for span in collector.named("publish inbox/{device}")}
    assert ids == {each.split("-")[2] for each in carried if each}


def test_a_live_push_is_traced_to_its_devices(collect, start, reader):
    collector = collect()
    server = start(settings=settings(collector.url))
    name = unique("phone")
    phone = reader(server, name)
    body = {"audience": {"device": name}, "message": "goal", "live": True, "options": {"qos": 1}}
    assert server.call("POST", "/api/apps/default/pushes", body, headers=SAMPLED)[0] == 202
    assert user_properties(phone.take())["traceparent"].split("-")[1] == TRACE
    assert collector.span("publish inbox/{device}").trace_id.hex() == TRACE


def test_a_request_of_a_device_to_a_service_belongs_to_its_trace(collect, start, geo, reader):
    collector = collect()
    server = start(settings=settings(collector.url) + served_by(geo()))
    phone = reader(server, unique("phone"))
    traced = {"UserProperty": [("traceparent", SAMPLED["traceparent"])]}
    assert ask(phone, "geo/Store", event(phone.id), **traced) == 0
    assert user_properties(phone.take())["status"] == "ok"
    call = collector.span("rpc/{service}/{method}")
    assert (call.trace_id.hex(), call.parent_span_id.hex(), call.kind) == (TRACE, CALLER, Span.SPAN_KIND_CLIENT)
    said = attributes(call)
    assert (said["rpc.service"], said["rpc.method"], said["messaging.client.id"]) == ("geo", "Store", phone.id)
    assert call.status.code == Status.STATUS_CODE_UNSET


def test_a_request_of_a_device_that_fails_comes_in_any_case(collect, start, geo, reader):
    collector, service = collect(), geo()
    server = start(settings=settings(collector.url, sample_errors=True) + served_by(service))
    phone = reader(server, unique("phone"))
    assert ask(phone, "geo/Store", event(phone.id)) == 0
    assert user_properties(phone.take())["status"] == "ok"
    service.pause()
    assert ask(phone, "geo/Store", event(phone.id), MessageExpiryInterval=1) == 0
    assert user_properties(phone.take())["status"] == "deadline"
    call = collector.span("rpc/{service}/{method}")
    assert call.status.code == Status.STATUS_CODE_ERROR and call.status.message == "deadline"
    assert not call.parent_span_id and len(collector.spans) == 1


@pytest.mark.parametrize("loops", [1, 2], ids=["1-loop", "2-loops"])
@pytest.mark.parametrize("expiry_s", [0, 600], ids=["clean", "durable"])
def test_a_message_of_a_device_is_traced_to_its_subscribers(collect, start, reader, loops, expiry_s):
    collector = collect()
    server = start(settings=settings(collector.url, devices_per_push_max=3), loops=loops)
    topic = unique("halls") + "/north"
    fans = [reader(server, unique("fan"), expiry_s) for _ in range(6)]
    for fan in fans:
        fan.subscribe(topic, qos=1)
    phone = reader(server, unique("phone"))
    parent = SAMPLED["traceparent"]
    assert phone.publish(topic, b"goal", qos=1, UserProperty=[("traceparent", parent)]) == 0
    # A user property is passed on as it is.
    assert [user_properties(fan.take())["traceparent"] for fan in fans] == [parent] * 6

    taken = collector.span("process {topic}")
    assert (taken.trace_id.hex(), taken.parent_span_id.hex(), taken.kind) == (TRACE, CALLER, Span.SPAN_KIND_CONSUMER)
    said = attributes(taken)
    assert (said["messaging.client.id"], said["messaging.destination.name"]) == (phone.id, topic)
    assert said["messaging.mqtt.qos"] == 1 and said["messaging.message.body.size"] == 4
    deliveries = until("three spans", lambda: (found := collector.named("publish {topic}"))[2:] and found)
    assert len(deliveries) == 3
    for delivery in deliveries:
        assert (delivery.trace_id, delivery.parent_span_id) == (taken.trace_id, taken.span_id)
        assert delivery.kind == Span.SPAN_KIND_PRODUCER and delivery.status.code == Status.STATUS_CODE_UNSET
        assert [event.name for event in delivery.events] == ["sent", "acknowledged"]
        assert attributes(delivery)["messaging.destination.name"] == topic
    assert {attributes(delivery)["messaging.client.id"] for delivery in deliveries} <= {fan.id for fan in fans}


def test_messages_of_devices_are_sampled_by_their_publisher_or_by_the_ratio(collect, start, reader):
    unsampled = [("traceparent", UNSAMPLED["traceparent"])]

    def traced(ratio, **props):
        collector = collect()
        server = start(settings=settings(collector.url, sample_ratio=ratio, sample_errors=True))
        phone, topic = reader(server, unique("phone")), unique("halls")
        phone.subscribe(topic, qos=0)
        for qos in (0, 1, 2):
            phone.publish(topic, b"goal", qos=qos, **props)
        assert phone.payloads(3) == [b"goal"] * 3
        # The last one of its spans leaves with a drain.
        server.restart()
        return len(collector.named("process {topic}")), len(collector.named("publish {topic}"))

    assert traced(1.0) == (3, 3)
    assert traced(1.0, UserProperty=unsampled) == (0, 0)
    assert traced(0.0) == (0, 0)


def test_a_device_that_goes_without_an_acknowledgement_is_an_error(collect, start, reader):
    collector = collect()
    server = start(settings=settings(collector.url))
    name = unique("phone")
    phone = reader(server, name, ack=False)
    body = {"audience": {"device": name}, "message": "goal"}
    assert server.call("POST", "/api/apps/default/pushes", body, headers=SAMPLED)[0] == 202
    phone.take()
    phone.close()
    delivery = collector.span("publish inbox/{device}")
    assert delivery.status.code == Status.STATUS_CODE_ERROR
    assert [event.name for event in delivery.events] == ["sent"]


def test_callers_decide_what_is_sampled_and_failures_and_the_slow_come_in_any_case(collect, start):
    collector = collect()
    server = start(settings=settings(collector.url, sample_errors=True))
    server.call("GET", "/api/node", headers=UNSAMPLED)
    server.call("GET", "/api/node")
    server.call("GET", "/api/nothing", headers=UNSAMPLED)
    server.call("GET", "/readyz", headers=SAMPLED)
    server.call("GET", "/api/apps", headers=SAMPLED)
    assert collector.span("GET /api/apps").trace_id.hex() == TRACE
    assert {span.name for _, span in collector.spans} <= {"GET /api/apps", "shard.push"}

    slow = collect()
    server = start(settings=settings(slow.url, sample_slow_ms=50))
    waits = {"wait_ms": 200}
    assert server.call("PUT", "/api/queues/work", {})[0] in (200, 201)
    server.call("POST", "/api/queues/work/reserve", waits, headers=UNSAMPLED)
    assert slow.span("POST /api/queues/{queue}/reserve").trace_id.hex() == TRACE


def test_lines_of_the_log_name_their_trace(collect, start):
    server = start(settings=settings(collect().url) + '[log]\nformat = "json"\nlevel = "info,stadium_http=debug"\n')
    server.call("GET", "/api/apps", headers=SAMPLED)

    def line():
        lines = [json.loads(text) for text in server.output().splitlines() if text.startswith("{")]
        return [each for each in lines if each.get("trace_id") == TRACE]

    found = until("a line of the request", line)[0]
    assert found["fields"]["route"] == "GET /api/apps" and re.fullmatch("[0-9a-f]{16}", found["span_id"])


def test_metrics_are_those_of_a_scrape(collect, start):
    collector = collect()
    server = start(settings=settings(collector.url, metrics_interval_s=1))
    for _ in range(3):
        server.call("GET", "/api/apps")
    route = {"route": "GET /api/apps", "status": "200"}

    def values(request):
        metrics = [metric for one in request.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
        return {metric.name: metric for metric in metrics}

    def counted():
        for request in collector.metrics:
            requests = values(request)["stadium_http_requests_total"]
            points = [point for point in requests.sum.data_points if attributes(point) == route]
            if points and points[0].as_double == 3:
                return requests, values(request)

    requests, metrics = until("the three requests", counted)
    assert requests.sum.is_monotonic and requests.sum.aggregation_temporality == 2
    uptime = metrics["stadium_uptime_seconds"]
    assert uptime.unit == "s" and uptime.gauge.data_points[0].as_double > 0 and uptime.description
    duration = metrics["stadium_http_request_duration_seconds"]
    point = next(one for one in duration.histogram.data_points if attributes(one) == {"route": "GET /api/apps"})
    assert point.count == 3 == sum(point.bucket_counts) and len(point.bucket_counts) == len(point.explicit_bounds) + 1
    # A family without a series is in the scrape alone.
    text = server.call("GET", "/metrics")[1]
    families = re.findall(r"^# TYPE (\S+) ", text, re.M)
    scraped = {name for name in families if re.search(rf"^{name}(_bucket)?[{{ ]", text, re.M)}
    assert scraped == set(metrics), scraped ^ set(metrics)
    assert figure(server, "stadium_telemetry_metrics_exports_total") >= 1


def busy(handler):
    handler.reply(503, headers=[("retry-after", "1")])


def garbage(handler):
    handler.reply(200, "text/html", b"<h1>welcome</h1>")


def broken(handler):
    handler.reply(200, PROTOBUF, b"\xff\xff\xff")


def silent(handler):
    # Longer than the server waits: it hangs up.
    handler.connection.settimeout(30)
    try:
        handler.connection.recv(1)
    except OSError:
        pass


def hangs_up(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("answer", "dropped"),
    [(busy, 0), (429, 0), (silent, 0), (hangs_up, 0), (garbage, 1), (broken, 1), (400, 1), (301, 1)],
    ids=["busy", "429", "silent", "hangs up", "garbage", "broken", "400", "301"],
)
def test_a_bad_collector_costs_nobody_time_and_is_seen(collect, start, answer, dropped):
    collector = collect([answer])
    server = start(settings=settings(collector.url, timeout_ms=300))
    began = time.monotonic()
    server.call("GET", "/api/apps", headers=SAMPLED)
    assert time.monotonic() - began < 5
    until("the failure", lambda: figure(server, "stadium_telemetry_exports_failed_total") >= 1)
    if dropped:
        until("the drop", lambda: figure(server, "stadium_telemetry_spans_dropped_total") >= 1)
        assert "Telemetry is not exported" in server.output()
        server.call("GET", "/api/apps", headers=SAMPLED)
    # It goes on by itself; what is kept is sent again.
    assert collector.span("GET /api/apps")
    until("the end of the failure", lambda: figure(server, "stadium_telemetry_failing") == 0)
    assert (figure(server, "stadium_telemetry_spans_dropped_total") > 0) == bool(dropped)


def test_spans_beyond_the_queue_are_dropped_while_the_collector_is_away(start):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        server = start(settings=settings(f"http://127.0.0.1:{nobody.getsockname()[1]}", queue_spans_max=512))

        def dropped():
            for _ in range(100):
                server.call("GET", "/api/apps", headers=SAMPLED)
            return figure(server, "stadium_telemetry_spans_dropped_total")

        until("a drop", dropped)
        assert figure(server, "stadium_telemetry_spans_queued") == 512
        assert figure(server, "stadium_telemetry_failing") == 1
        # A stop is not held up by it.
        began = time.monotonic()
        server.restart()
        assert time.monotonic() - began < 15


def test_the_last_spans_leave_with_a_drain(collect, start):
    collector = collect()
    server = start(settings=settings(collector.url, spans_interval_ms=60_000))
    server.call("GET", "/api/apps", headers=SAMPLED)
    server.restart()
    assert collector.named("GET /api/apps")


def test_secrets_of_headers_reach_the_collector_and_no_report(collect, start):
    collector = collect()
    server = start(settings=settings(collector.url, headers_file="@headers"), files=[("headers", "Authorization: Bearer geheim\n")])
    server.call("GET", "/api/apps", headers=SAMPLED)
    collector.span("GET /api/apps")
    assert collector.requests[0][1]["authorization"] == "Bearer geheim"
    assert "geheim" not in server.output() + json.dumps(server.call("GET", "/api/configuration")[1])


def test_the_doctor_asks_the_collector(collect, tmp_path):
    collector = collect()

    def doctor(url):
        (tmp_path / "stadium.toml").write_text(settings(url))
        command = [binary(), "doctor", "--json", "--no-disk", "--config", tmp_path / "stadium.toml", "--data", tmp_path]
        found = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
        return [check["verdict"] for check in found["checks"] if check["area"] == "otlp"]

    assert doctor(collector.url) == ["ok"]
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        assert doctor(f"http://127.0.0.1:{nobody.getsockname()[1]}") == ["problem"]
