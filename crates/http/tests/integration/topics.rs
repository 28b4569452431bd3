//! Topics over HTTP: what is taken, what is refused, and that a repeated request publishes nothing;
//! streams, tickets, and pages of other origins.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use stadium_http::fleet::{Refusal, StreamItem};

use crate::support::{Answer, Fixture, eventually};

fn key(fixture: &Fixture, grants: &[&str]) -> String {
    let made = fixture.post("/api/keys", &json!({"name": "web", "roles": [], "grants": grants}).to_string());
    made.json()["secret"].as_str().expect("a key").to_owned()
}

fn post_as(fixture: &Fixture, path: &str, content_type: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {}", fixture.admin);
    let headers = [("authorization", bearer.as_str()), ("content-type", content_type)];
    fixture.ask("POST", path, &headers, Some(body))
}

fn ask_as(fixture: &Fixture, key: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    fixture.ask("POST", path, &headers, Some(&body.to_string()))
}

fn publish(fixture: &Fixture, body: &Value) -> Answer {
    fixture.post("/api/publish", &body.to_string())
}

#[test]
fn a_message_is_published_with_its_properties() {
    let fixture = Fixture::begin();
    let answer = publish(
        &fixture,
        &json!({"topic": "chat/lobby", "payload": {"text": "hi"}, "qos": 0, "retain": true, "expiry_s": 9,
                "response_topic": "answers/1", "correlation_data_base64": "AQI=",
                "user_properties": [{"name": "a", "value": "b"}]}),
    );
    assert_eq!(answer.status, 200, "{}", answer.text);
    let expected = json!({"topic": "chat/lobby", "status": "accepted", "matched": false, "retained": true});
    assert_eq!(answer.json(), expected);
    let one = fixture.fleet.published().pop().expect("it was published");
    assert_eq!((&one.payload[..], one.qos.number(), one.retain), (&br#"{"text":"hi"}"#[..], 0, true));
    assert_eq!((one.content_type.as_deref(), one.is_text), (Some("application/json"), true));
    assert_eq!((one.expiry_s, one.response_topic.as_deref()), (Some(9), Some("answers/1")));
    assert_eq!(one.correlation_data.as_deref(), Some(&[1, 2][..]));
    assert_eq!(one.user_properties, [("a".into(), "b".into())]);
}

#[test]
fn a_body_is_published_as_it_is() {
    let fixture = Fixture::begin();
    let path = "/api/publish/raw?topic=a%2Fb&qos=0&retain=true&expiry_s=7";
    let answer = post_as(&fixture, path, "text/plain", "as it is");
    assert_eq!(answer.status, 200, "{}", answer.text);
    let one = fixture.fleet.published().pop().expect("it was published");
    assert_eq!((one.topic.as_str(), &one.payload[..]), ("a/b", &b"as it is"[..]));
    assert_eq!((one.qos.number(), one.retain, one.expiry_s), (0, true, Some(7)));
    assert_eq!(one.content_type.as_deref(), Some("text/plain"));
    post_as(&fixture, "/api/publish/raw?topic=a", "application/x-www-form-urlencoded", "curl");
    assert_eq!(fixture.fleet.published().pop().expect("it was published").content_type, None);
    for wrong in ["", "?topic=a&qos=2", "?topic=a&retain=yes", "?topic=a&expiry_s=0", "?topic=a&ttl=1"] {
        post_as(&fixture, &format!("/api/publish/raw{wrong}"), "text/plain", "x").problem(400, "HTTP-017");
    }
}

#[test]
fn mistakes_are_refused_with_their_path_and_nothing_is_published() {
    let fixture = Fixture::begin();
    for (body, code, path) in [
        (json!({"payload": "x"}), "HTTP-005", None),
        (json!({"topic": "", "payload": "x"}), "HTTP-005", Some("topic")),
        (json!({"topic": "a/+", "payload": "x"}), "TOPIC-001", Some("topic")),
        (json!({"topic": "a", "qos": 2}), "HTTP-005", Some("qos")),
        (json!({"topic": "a", "payload": "x", "payload_base64": "eA=="}), "HTTP-005", Some("payload_base64")),
        (json!({"topic": "a", "payload_base64": "?"}), "HTTP-005", Some("payload_base64")),
        (json!({"topic": "a", "response_topic": "b/#"}), "HTTP-005", Some("response_topic")),
        (json!({"topic": "a", "retained": true}), "HTTP-005", Some("retained")),
    ] {
        let problem = publish(&fixture, &body).problem(422, code);
        if let Some(path) = path {
            assert_eq!(problem["path"], path, "{problem}");
        }
    }
    let batch = json!({"messages": [{"topic": "a"}, {"topic": "b/#"}]}).to_string();
    let problem = fixture.post("/api/publish/batch", &batch).problem(422, "TOPIC-001");
    assert_eq!(problem["path"], "messages[1].topic");
    let many = json!({"messages": vec![json!({"topic": "a"}); 101]}).to_string();
    fixture.post("/api/publish/batch", &many).problem(422, "HTTP-005");
    fixture.post("/api/publish/batch", r#"{"messages": []}"#).problem(422, "HTTP-005");
    assert!(fixture.fleet.published().is_empty());
}

#[test]
fn a_batch_has_a_result_for_each_message() {
    let fixture = Fixture::begin();
    let batch = json!({"messages": [{"topic": "a", "payload": "1"}, {"topic": "b", "payload": "2"}]});
    let answer = fixture.post("/api/publish/batch", &batch.to_string()).json();
    assert_eq!(answer["accepted"], 2);
    assert_eq!(answer["results"][1]["topic"], "b");
    let published = fixture.fleet.published();
    assert_eq!(published.iter().map(|one| one.topic.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_key_publishes_where_its_grants_let_it() {
    let fixture = Fixture::begin();
    let web = key(&fixture, &["stream.publish:chat/*"]);
    let ask = |topic: &str, retain: bool| {
        let body = json!({"topic": topic, "payload": "x", "retain": retain});
        ask_as(&fixture, &web, "/api/publish", &body)
    };
    assert_eq!(ask("chat/lobby", false).status, 200);
    let problem = ask("chat/lobby", true).problem(403, "HTTP-003");
    assert!(problem["detail"].as_str().is_some_and(|text| text.contains("stream.retain:chat/lobby")));
    ask("other", false).problem(403, "HTTP-003");
    let batch = json!({"messages": [{"topic": "chat/a"}, {"topic": "other"}]});
    ask_as(&fixture, &web, "/api/publish/batch", &batch).problem(403, "HTTP-003");
    assert_eq!(fixture.fleet.published().len(), 1, "all of a batch or nothing");
}

#[test]
fn a_repeated_request_publishes_nothing_and_a_refused_one_is_free_again() {
    let fixture = Fixture::begin();
    let body = json!({"topic": "a", "payload": "x"}).to_string();
    let busy = Refusal::Busy { retry_after: Duration::from_secs(2), reason: "full".to_owned() };
    fixture.fleet.refuse_pushes(Some(busy));
    let refused = fixture.post_with("/api/publish", &body, &[("idempotency-key", "order-1")]);
    refused.problem(503, "HTTP-013");
    assert_eq!(refused.header("retry-after"), Some("2"));
    fixture.fleet.refuse_pushes(None);
    let first = fixture.post_with("/api/publish", &body, &[("idempotency-key", "order-1")]);
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, None));
    let again = fixture.post_with("/api/publish", &body, &[("idempotency-key", "order-1")]);
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(again.json().get("matched"), None);
    let other = json!({"topic": "a", "payload": "y"}).to_string();
    fixture.post_with("/api/publish", &other, &[("idempotency-key", "order-1")]).problem(422, "HTTP-015");
    assert_eq!(fixture.fleet.published().len(), 1);
}

/// A stream that is read line by line.
struct Reader(BufReader<TcpStream>);

impl Reader {
    /// Opens it; returns the status too.
    fn open(fixture: &Fixture, query: &str, headers: &str) -> (u16, Self) {
        let mut stream = TcpStream::connect(fixture.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it is open");
        write!(stream, "GET /api/topics/stream?{query} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
            .expect("it is open");
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).expect("an answer");
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).expect("headers");
        }
        (status, Self(reader))
    }

    /// The fields of the next event, in order; comments left out. None at the end.
    fn event(&mut self) -> Option<Vec<String>> {
        let mut fields = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("an event within the time") == 0 {
                return None;
            }
            let line = line.trim_end();
            // The last chunk is empty; the sizes of the others are hexadecimal digits alone too.
            if line == "0" {
                return None;
            }
            if line.starts_with(':') || (!line.is_empty() && !line.contains(": ")) {
                continue;
            }
            match line.is_empty() {
                true if fields.is_empty() => {}
                true => return Some(fields),
                false => fields.push(line.to_owned()),
            }
        }
    }
}

fn bearer(key: &str) -> String {
    format!("Authorization: Bearer {key}\r\n")
}

#[test]
fn a_stream_begins_with_a_place_and_gives_messages_gaps_and_its_end() {
    let fixture = Fixture::begin();
    let query = "topic=a/%2B&topic=b/%23&retained=false";
    let (status, mut reader) =
        Reader::open(&fixture, query, &format!("{}Last-Event-ID: 7-9\r\n", bearer(&fixture.admin)));
    assert_eq!(status, 200);
    let first = reader.event().expect("it begins");
    assert!(first[0].starts_with("retry: "), "{first:?}");
    assert_eq!(first[1..], ["id: 1-0", "event: subscribed", r#"data: {"resumed":true}"#]);
    let asked = fixture.fleet.streams().pop().expect("one was asked for");
    assert_eq!(asked.filters, ["a/+", "b/#"]);
    assert_eq!((asked.from.as_deref(), asked.retained), (Some("7-9"), false));
    let message = "id: 1-1\ndata: {\"topic\":\"a/b\"}\n\n";
    fixture.fleet.show(&StreamItem::Message(message.into()));
    assert_eq!(reader.event(), Some(vec!["id: 1-1".to_owned(), r#"data: {"topic":"a/b"}"#.to_owned()]));
    fixture.fleet.show(&StreamItem::Gap("expired"));
    assert_eq!(reader.event().expect("a gap"), ["event: gap", r#"data: {"reason":"expired"}"#]);
    fixture.fleet.show(&StreamItem::End("slow"));
    assert_eq!(reader.event().expect("an end")[1..], ["event: end", r#"data: {"reason":"slow"}"#]);
    let metrics = fixture.get("/metrics").text;
    assert!(metrics.contains(r#"stadium_topic_stream_ends_total{reason="slow"} 1"#), "{metrics}");
}

#[test]
fn a_stream_ends_when_the_server_stops() {
    let mut fixture = Fixture::begin();
    let (_, mut reader) = Reader::open(&fixture, "topic=a", &bearer(&fixture.admin));
    reader.event().expect("it begins");
    assert!(fixture.stop(), "it stops in time");
    assert_eq!(reader.event().expect("an end")[1..], ["event: end", r#"data: {"reason":"draining"}"#]);
}

#[test]
fn a_stream_shows_that_it_lives_and_ends_with_its_key() {
    let fixture = Fixture::with(|config| config.stream_heartbeat = Duration::from_millis(20), None);
    let made =
        fixture.post("/api/keys", r#"{"name": "web", "roles": [], "grants": ["stream.subscribe:a"]}"#).json();
    let secret = made["secret"].as_str().expect("a secret");
    let (_, mut reader) = Reader::open(&fixture, "topic=a", &bearer(secret));
    reader.event().expect("it begins");
    fixture.fleet.show(&StreamItem::Message("id: 1-1\ndata: {}\n\n".into()));
    assert_eq!(reader.event().expect("a message"), ["id: 1-1", "data: {}"]);
    for _ in 0..2 {
        assert_eq!(reader.event().expect("a heartbeat"), ["id: 1-1"], "a quiet stream keeps its place");
    }
    let id = made["key"]["id"].as_str().expect("an id");
    assert_eq!(fixture.delete(&format!("/api/keys/{id}")).status, 204);
    let end = loop {
        let event = reader.event().expect("an end");
        if event.len() > 1 {
            break event;
        }
    };
    assert_eq!(end, ["id: 1-1", "event: end", r#"data: {"reason":"revoked"}"#]);
    assert_eq!(reader.event(), None);
}

#[test]
fn streams_are_bounded_and_their_mistakes_named() {
    let fixture = Fixture::begin();
    let get = |query: &str| fixture.get(&format!("/api/topics/stream{query}"));
    for wrong in ["", "?topic=a&retained=perhaps", "?topic=a&since=1"] {
        get(wrong).problem(400, "HTTP-017");
    }
    get("?topic=%23/a").problem(422, "TOPIC-001");
    fixture.ask("GET", "/api/topics/stream?topic=a", &[], None).problem(401, "HTTP-001");
    let open = |_| Reader::open(&fixture, "topic=a", &bearer(&fixture.admin)).1;
    let readers: Vec<Reader> = (0..4).map(open).collect();
    let full = get("?topic=a");
    full.problem(503, "TOPIC-003");
    assert_eq!(full.header("retry-after"), Some("10"));
    drop(readers);
    let message = StreamItem::Message(": x\n\n".into());
    eventually("places are free again", || fixture.fleet.show(&message) == 0);
    assert_eq!(Reader::open(&fixture, "topic=a", &bearer(&fixture.admin)).0, 200);
}

#[test]
fn a_ticket_opens_streams_of_its_filters_and_nothing_else() {
    let fixture = Fixture::begin();
    let made =
        fixture.post("/api/keys", r#"{"name": "web", "roles": [], "grants": ["stream.subscribe:chat/*"]}"#);
    let (id, web) = (made.json()["key"]["id"].clone(), made.json()["secret"].clone());
    let (id, web) = (id.as_str().expect("an id"), web.as_str().expect("a secret"));
    let ticket = |filters: Value| ask_as(&fixture, web, "/api/topics/tickets", &json!({"filters": filters}));
    ticket(json!(["other"])).problem(403, "HTTP-003");
    ticket(json!([])).problem(422, "HTTP-005");
    let made = ticket(json!(["chat/+", "chat/log"]));
    assert_eq!(made.status, 201, "{}", made.text);
    let url = made.json()["url"].as_str().expect("a url").to_owned();
    let query = url.split_once('?').expect("it has a query").1;
    let (status, mut reader) = Reader::open(&fixture, query, "");
    assert_eq!(status, 200);
    reader.event().expect("it begins");
    assert_eq!(fixture.fleet.streams()[0].filters, ["chat/+", "chat/log"]);
    assert_eq!(Reader::open(&fixture, &format!("{query}&topic=chat/log"), "").0, 200);
    assert_eq!(Reader::open(&fixture, &format!("{query}&topic=chat/%23"), "").0, 401);
    assert_eq!(Reader::open(&fixture, "topic=chat/log&ticket=tt_x", "").0, 401);
    let bearer = format!("Bearer {}", made.json()["ticket"].as_str().expect("a ticket"));
    let headers = [("authorization", bearer.as_str())];
    fixture.ask("GET", "/api/devices", &headers, None).problem(401, "HTTP-002");
    // It is void when its key is.
    assert_eq!(fixture.delete(&format!("/api/keys/{id}")).status, 204);
    assert_eq!(Reader::open(&fixture, query, "").0, 401);
}

#[test]
fn pages_of_named_origins_may_use_the_api_and_others_may_not() {
    let fixture =
        Fixture::with(|config| config.cors_origins = vec!["https://app.example.org".to_owned()], None);
    let preflight = |origin: &str| {
        let asked = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type"),
        ];
        fixture.ask("OPTIONS", "/api/publish", &asked, None)
    };
    let allowed = preflight("https://app.example.org");
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example.org"));
    assert!(allowed.header("access-control-allow-methods").is_some_and(|methods| methods.contains("POST")));
    let headers = allowed.header("access-control-allow-headers").expect("headers are allowed");
    assert!(headers.contains("authorization") && headers.contains("last-event-id"), "{headers}");
    assert_eq!(allowed.header("access-control-allow-credentials"), None, "cookies stay at home");
    for other in ["https://evil.example", "http://app.example.org", "https://app.example.org:8443", "null"] {
        assert_eq!(preflight(other).header("access-control-allow-origin"), None, "{other}");
        let answer = fixture.ask("GET", "/healthz", &[("origin", other)], None);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, None));
    }
    let refused = fixture.ask("GET", "/api/devices", &[("origin", "https://app.example.org")], None);
    refused.problem(401, "HTTP-001");
    assert_eq!(refused.header("access-control-allow-origin"), Some("https://app.example.org"));
    let off = Fixture::begin();
    let answer = off.ask("GET", "/healthz", &[("origin", "https://app.example.org")], None);
    assert_eq!(answer.header("access-control-allow-origin"), None, "off by default");
}
