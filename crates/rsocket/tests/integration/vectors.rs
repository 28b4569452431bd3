//! The vectors of proto/vectors, which SDKs in other languages read too.
//!
//! They were not written by this crate: both directions are compared with them byte by byte.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use stadium_rsocket::connection::{
    Closed, Lease, RequestError, ResumeConfig, SendError, SetupOptions, Suspended,
};
use stadium_rsocket::frame::{
    self, Completes, ErrorCode, Frame, Interaction, More, Next, Payload, Respond, Resume, Setup, StreamId,
    Version, WantsLease,
};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::mime_type::mimes;
use stadium_rsocket::metadata::tracing::{self, Sampling, TraceId};
use stadium_rsocket::metadata::{Mime, entries, routes, write_entry};
use stadium_rsocket::{Config, Connection, Event, Tag};

fn vectors(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/vectors").join(file);
    serde_json::from_str(&fs::read_to_string(path).expect("a vector file")).expect("JSON")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let list = value[key].as_array().unwrap_or_else(|| panic!("no list {key}"));
    assert!(!list.is_empty());
    list
}

fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("hexadecimal");
    assert_eq!(text.len() % 2, 0);
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("a byte")).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

fn small(value: &Value) -> u32 {
    number(value).try_into().expect("32 bits")
}

fn is(value: &Value) -> bool {
    value.as_bool().expect("true or false")
}

fn completes(value: &Value) -> Completes {
    if is(value) { Completes::Yes } else { Completes::No }
}

/// The bytes that a frame's fields point to.
struct Fields<'a> {
    fields: &'a Value,
    metadata: Option<Vec<u8>>,
    data: Vec<u8>,
    other: [Vec<u8>; 3],
}

impl<'a> Fields<'a> {
    fn new(fields: &'a Value) -> Self {
        let optional = |key: &str| fields.get(key).filter(|value| value.is_string()).map(hex);
        let text =
            |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().as_bytes().to_vec();
        let token = optional("resume_token").or_else(|| optional("token")).or_else(|| optional("body"));
        Self {
            fields,
            metadata: optional("metadata"),
            data: optional("data").unwrap_or_default(),
            other: [token.unwrap_or_default(), text("metadata_mime"), text("data_mime")],
        }
    }

    fn frame(&self) -> Frame<'_> {
        let f = self.fields;
        let stream = StreamId(f.get("stream").map_or(0, small));
        let payload = Payload { metadata: self.metadata.as_deref(), data: &self.data };
        let more = match f.get("follows").map(is) {
            Some(true) => More::Follows,
            _ => More::Whole,
        };
        let version = || Version { major: small(&f["major"]) as u16, minor: small(&f["minor"]) as u16 };
        match f["type"].as_str().expect("a type") {
            "SETUP" => Frame::Setup(Setup {
                version: version(),
                keepalive_interval_ms: small(&f["keepalive_ms"]),
                lifetime_ms: small(&f["lifetime_ms"]),
                lease: if is(&f["lease"]) { WantsLease::Yes } else { WantsLease::No },
                resume_token: f["resume_token"].is_string().then_some(&self.other[0]),
                metadata_mime: &self.other[1],
                data_mime: &self.other[2],
                payload,
            }),
            "LEASE" => Frame::Lease {
                ttl_ms: small(&f["ttl_ms"]),
                requests: small(&f["requests"]),
                metadata: payload.metadata,
            },
            "KEEPALIVE" => Frame::KeepAlive {
                respond: if is(&f["respond"]) { Respond::Yes } else { Respond::No },
                last_received_position: number(&f["position"]),
                data: payload.data,
            },
            "REQUEST_RESPONSE" => Frame::RequestResponse { stream, more, payload },
            "REQUEST_FNF" => Frame::RequestFireAndForget { stream, more, payload },
            "REQUEST_STREAM" => {
                Frame::RequestStream { stream, more, initial: small(&f["initial_n"]), payload }
            }
            "REQUEST_CHANNEL" => Frame::RequestChannel {
                stream,
                more,
                completes: completes(&f["complete"]),
                initial: small(&f["initial_n"]),
                payload,
            },
            "REQUEST_N" => Frame::RequestN { stream, n: small(&f["n"]) },
            "CANCEL" => Frame::Cancel { stream },
            "PAYLOAD" => Frame::Payload {
                stream,
                more,
                completes: completes(&f["complete"]),
                next: if is(&f["next"]) { Next::Value } else { Next::Nothing },
                payload,
            },
            "ERROR" => Frame::Error {
                stream,
                code: ErrorCode(small(&f["code"])),
                data: f["text"].as_str().expect("a text").as_bytes(),
            },
            "METADATA_PUSH" => Frame::MetadataPush { metadata: payload.metadata.expect("metadata") },
            "RESUME" => Frame::Resume(Resume {
                version: version(),
                token: &self.other[0],
                last_received_server_position: number(&f["last_received_server_position"]),
                first_available_client_position: number(&f["first_available_client_position"]),
            }),
            "RESUME_OK" => {
                let last_received_client_position = number(&f["last_received_client_position"]);
                Frame::ResumeOk { last_received_client_position }
            }
            "EXT" => Frame::Extension {
                stream,
                flags: small(&f["flags"]) as u16,
                extended_type: small(&f["extended_type"]),
                body: &self.other[0],
            },
            other => panic!("type {other}"),
        }
    }
}

#[test]
fn frames_are_what_the_vectors_say() {
    let vectors = vectors("frames.json");
    let mut types = std::collections::BTreeSet::new();
    for vector in list(&vectors, "frames") {
        let name = &vector["name"];
        types.insert(vector["frame"]["type"].as_str().expect("a type"));
        let bytes = hex(&vector["hex"]);
        let fields = Fields::new(&vector["frame"]);
        let expected = fields.frame();
        assert_eq!(frame::decode(&bytes), Ok(expected), "{name}");
        let mut out = Vec::new();
        frame::encode(&expected, &mut out);
        assert_eq!(out[3..], bytes, "{name}");
        assert_eq!(frame::split(&out, 1 << 20), Ok(Some((&*bytes, out.len()))), "{name}");
    }
    assert_eq!(types.len(), 15, "every type of frame: {types:?}");
}

#[test]
fn composite_metadata_is_what_the_vectors_say() {
    let vectors = vectors("composite-metadata.json");
    for vector in list(&vectors, "composite") {
        let name = &vector["name"];
        let bytes = hex(&vector["hex"]);
        let mut read = entries(&bytes);
        let mut written = Vec::new();
        for expected in vector["entries"].as_array().expect("entries") {
            let entry = read.next().expect("an entry").expect("a whole one");
            match expected["mime"].as_u64() {
                Some(id) => assert_eq!(entry.mime, Mime::WellKnown(id as u8), "{name}"),
                None => assert_eq!(entry.mime.name(), expected["mime"].as_str(), "{name}"),
            }
            assert_eq!(entry.content, hex(&expected["content"]), "{name}");
            write_entry(&mut written, entry.mime, entry.content);
        }
        match is(&vector["malformed"]) {
            true => assert!(read.next().expect("something").is_err(), "{name}"),
            false => assert_eq!(written, bytes, "{name}"),
        }
        assert_eq!(read.next(), None, "{name}");
    }
    for vector in list(&vectors, "routing") {
        let content = hex(&vector["hex"]);
        let tags: Result<Vec<_>, _> = routes(&content).collect();
        let expected = vector["tags"].as_array();
        let expected = expected.map(|tags| tags.iter().map(|tag| tag.as_str().expect("a tag")).collect());
        assert_eq!(tags.ok(), expected, "{}", vector["name"]);
    }
    for vector in list(&vectors, "authentication") {
        let content = hex(&vector["hex"]);
        let text = |key: &str| vector[key].as_str().expect("a text");
        let expected = match vector["kind"].as_str() {
            Some("simple") => {
                Some(Authentication::Simple { username: text("username"), password: text("password") })
            }
            Some("bearer") => Some(Authentication::Bearer(text("token"))),
            other => other.map(|kind| panic!("{kind}")),
        };
        assert_eq!(authentication::read(&content).ok(), expected, "{}", vector["name"]);
    }
    for vector in list(&vectors, "tracing") {
        let read = tracing::read(&hex(&vector["hex"])).expect("well-formed");
        let sampling = match read.sampling {
            Sampling::Undecided => "undecided",
            Sampling::NotSampled => "not_sampled",
            Sampling::Sampled => "sampled",
            Sampling::Debug => "debug",
        };
        assert_eq!(Some(sampling), vector["sampling"].as_str());
        let trace = read.ids.map(|ids| match ids.trace {
            TraceId::Short(id) => format!("{id:016x}"),
            TraceId::Long(id) => format!("{id:032x}"),
        });
        assert_eq!(trace.as_deref(), vector["trace"].as_str());
        let span = read.ids.map(|ids| format!("{:016x}", ids.span));
        assert_eq!(span.as_deref(), vector["span"].as_str());
        let parent = read.ids.and_then(|ids| ids.parent).map(|id| format!("{id:016x}"));
        assert_eq!(parent.as_deref(), vector["parent"].as_str());
    }
    for vector in list(&vectors, "mime_types") {
        let content = hex(&vector["hex"]);
        let read: Result<Vec<_>, _> = mimes(&content).collect();
        let read =
            read.ok().map(|list| list.iter().map(|mime| mime.name().expect("a name")).collect::<Vec<_>>());
        let expected = vector["mimes"].as_array();
        let expected = expected.map(|list| list.iter().map(|mime| mime.as_str().expect("a name")).collect());
        assert_eq!(read, expected, "{}", vector["name"]);
    }
}

/// A connection that follows a vector.
struct Subject {
    connection: Connection,
    out: Vec<u8>,
    now_ms: u64,
    /// Metadata and data of the last payload that was handed out.
    heard: (Option<Vec<u8>>, Vec<u8>),
}

fn config(of: &Value) -> Config {
    let mut config = Config::default();
    let Some(settings) = of.get("config").and_then(Value::as_object) else { return config };
    for (key, value) in settings {
        match (key.as_str(), value) {
            ("frame_bytes_max", value) => config.frame_bytes_max = number(value) as usize,
            ("payload_bytes_max", value) => config.payload_bytes_max = number(value) as usize,
            ("fragment_bytes", value) => config.fragment_bytes = number(value) as usize,
            ("streams_max", value) => config.streams_max = small(value),
            ("lease", Value::String(lease)) if lease == "honour" => config.lease = Lease::Honour,
            ("lease", Value::String(lease)) if lease == "grant" => config.lease = Lease::Grant,
            ("resume", Value::Bool(true)) => {
                config.resume = Some(ResumeConfig { store_bytes_max: 1 << 20, session_ms: 60_000 });
            }
            other => panic!("{other:?}"),
        }
    }
    config
}

impl Subject {
    fn new(vector: &Value) -> Self {
        let config = Arc::new(config(vector));
        let mut out = Vec::new();
        let connection = match vector["side"].as_str() {
            Some("client") => {
                let options = SetupOptions { resume_token: Some(b"token-1"), ..SetupOptions::default() };
                Connection::client(config, &options, 0, &mut out)
            }
            Some("server") => Connection::server(config, 0),
            other => panic!("{other:?}"),
        };
        Self { connection, out, now_ms: 0, heard: Default::default() }
    }

    /// Sets a connection up.
    fn set_up(&mut self, vector: &Value) {
        if vector["side"] == "server" {
            let mut hello = Vec::new();
            let config = Arc::new(Config::default());
            drop(Connection::client(config, &SetupOptions::default(), 0, &mut hello));
            assert_eq!(self.hear(&hello), ["setup"]);
            self.connection.accept();
        }
        self.out.clear();
    }

    /// Takes bytes, cut where it hurts, and names the events.
    fn hear(&mut self, bytes: &[u8]) -> Vec<&'static str> {
        let mut names = Vec::new();
        let mut begin = 0;
        for end in 0..=bytes.len() {
            loop {
                let received = self.connection.receive(self.now_ms, &bytes[begin..end], &mut self.out);
                begin += received.used;
                match received.event {
                    Some(event) => {
                        if let Event::Request { payload, .. } | Event::Payload { payload, .. } = &event {
                            self.heard =
                                (payload.metadata.as_ref().map(|m| m.to_vec()), payload.data.to_vec());
                        }
                        names.push(name(&event));
                    }
                    None if received.used == 0 => break,
                    None => {}
                }
            }
        }
        names
    }
}

fn name(event: &Event<'_>) -> &'static str {
    match event {
        Event::Setup(_) => "setup",
        Event::Request { .. } => "request",
        Event::Payload { .. } => "payload",
        Event::Credit { .. } => "credit",
        Event::Cancelled { .. } => "cancelled",
        Event::Failed { .. } => "failed",
        Event::Lease { .. } => "lease",
        Event::Resume(_) => "resume",
        Event::Resumed => "resumed",
        Event::Closed(_) => "closed",
        other => panic!("{other:?}"),
    }
}

fn interaction(value: &Value) -> Interaction {
    match value.as_str() {
        Some("REQUEST_RESPONSE") => Interaction::RequestResponse,
        Some("REQUEST_FNF") => Interaction::FireAndForget,
        Some("REQUEST_STREAM") => Interaction::RequestStream,
        Some("REQUEST_CHANNEL") => Interaction::RequestChannel,
        other => panic!("{other:?}"),
    }
}

#[test]
fn hostile_bytes_end_as_the_vectors_say() {
    let vectors = vectors("hostile.json");
    for vector in list(&vectors, "hostile") {
        let name = &vector["name"];
        let mut subject = Subject::new(vector);
        if is(&vector["after_setup"]) {
            subject.set_up(vector);
        }
        if let Some(open) = vector.get("open") {
            let (interaction, initial) = (interaction(&open["interaction"]), small(&open["initial_n"]));
            let (connection, out) = (&mut subject.connection, &mut subject.out);
            connection.request(interaction, initial, Completes::No, Tag(1), None, |_| {}, out).expect("open");
            out.clear();
        }
        let events = subject.hear(&hex(&vector["hex"]));
        let sent = std::mem::take(&mut subject.out);
        let last = |stream: u32, code: &Value| {
            let mut frames = Vec::new();
            let mut at = 0;
            while let Some((frame, used)) = frame::split(&sent[at..], 1 << 24).expect("a frame") {
                frames.push(frame::decode(frame).expect("a frame"));
                at += used;
            }
            let found = frames.last().unwrap_or_else(|| panic!("{name}: nothing was sent, {events:?}"));
            let Frame::Error { stream: on, code: with, data } = found else { panic!("{name}: {found:?}") };
            assert_eq!((*on, with.0), (StreamId(stream), small(code)), "{name}");
            assert!(!data.is_empty(), "{name}: an ERROR says why");
        };
        let expect = vector["expect"].as_object().expect("an expectation");
        match expect.iter().next().map(|(key, value)| (key.as_str(), value)) {
            Some(("closes", code)) => {
                last(0, code);
                assert_eq!(events.last(), Some(&"closed"), "{name}");
                assert!(subject.connection.is_closed(), "{name}");
                assert!(subject.hear(&[0, 0, 6, 0, 0, 0, 9, 0x10, 0]).is_empty(), "{name}");
                assert!(subject.out.is_empty(), "{name}: nothing is sent after the end");
            }
            Some(("error", error)) => {
                last(small(&error["stream"]), &error["code"]);
                assert!(!subject.connection.is_closed(), "{name}");
            }
            Some(("ignored", Value::Bool(true))) => {
                assert!(sent.is_empty(), "{name}: {sent:02x?}");
                assert!(!subject.connection.is_closed(), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn sessions_go_as_the_vectors_say() {
    let vectors = vectors("sessions.json");
    for vector in list(&vectors, "sessions") {
        let mut subject = Subject::new(vector);
        for (nth, step) in list(vector, "steps").iter().enumerate() {
            let place = format!("{}, step {nth}: {step}", vector["name"]);
            if let Some(action) = step.get("do") {
                let refused = act(&mut subject, action.as_str().expect("an action"), step);
                assert_eq!(refused, step.get("refused").and_then(Value::as_str), "{place}");
            } else if let Some(bytes) = step.get("hear") {
                let events = subject.hear(&hex(bytes));
                let expected: Vec<_> = step.get("event").and_then(Value::as_str).into_iter().collect();
                assert_eq!(events, expected, "{place}");
                if let Some(data) = step.get("data") {
                    assert_eq!(subject.heard, (step.get("metadata").map(hex), hex(data)), "{place}");
                }
            } else if let Some(bytes) = step.get("say") {
                assert_eq!(std::mem::take(&mut subject.out), hex(bytes), "{place}");
            } else {
                subject.now_ms += number(&step["wait_ms"]);
                let event = subject.connection.advance(subject.now_ms, &mut subject.out);
                assert_eq!(event.as_ref().map(name), step.get("event").and_then(Value::as_str), "{place}");
                let is_timeout = matches!(event, None | Some(Event::Closed(Closed::KeepAliveTimeout { .. })));
                assert!(is_timeout, "{place}");
            }
        }
        assert!(subject.out.is_empty(), "{}: {:02x?} is left", vector["name"], subject.out);
    }
}

/// What a driver asks for, and why it was refused.
fn act(subject: &mut Subject, action: &str, step: &Value) -> Option<&'static str> {
    let Subject { connection, out, now_ms, .. } = subject;
    let before = out.len();
    let stream = || StreamId(small(&step["stream"]));
    let metadata = step.get("metadata").map(hex);
    let data = step.get("data").map(hex).unwrap_or_default();
    let write = |out: &mut Vec<u8>| out.extend_from_slice(&data);
    let sent = match action {
        "accept" => {
            connection.accept();
            Ok(())
        }
        "request" => {
            let (interaction, initial) = (interaction(&step["interaction"]), small(&step["initial_n"]));
            let (completes, tag) = (completes(&step["complete"]), Tag(1));
            let sent =
                connection.request(interaction, initial, completes, tag, metadata.as_deref(), write, out);
            match sent {
                Ok(_) => Ok(()),
                Err(RequestError::NoLease { .. }) => return Some("no lease"),
                Err(error) => panic!("{error}"),
            }
        }
        "payload" => {
            connection.payload(stream(), completes(&step["complete"]), metadata.as_deref(), write, out)
        }
        "complete" => connection.complete(stream(), out),
        "cancel" => connection.cancel(stream(), out),
        "error" => {
            let (code, text) = (ErrorCode(small(&step["code"])), step["text"].as_str().expect("a text"));
            connection.error(stream(), code, text, out)
        }
        "lease" => {
            connection.grant_lease(small(&step["ttl_ms"]), small(&step["requests"]), out);
            Ok(())
        }
        "suspend" => {
            assert_eq!(connection.suspend(*now_ms), Suspended::Waits);
            Ok(())
        }
        "resume" => {
            match step.get("hear").map(hex) {
                None => connection.resume_client(*now_ms, out),
                Some(bytes) => {
                    let (frame, _) = frame::split(&bytes, 1 << 20).expect("a length").expect("a frame");
                    let Ok(Frame::Resume(resume)) = frame::decode(frame) else { panic!("a RESUME") };
                    connection.resume_server(&resume, *now_ms, out).expect("it can be resumed");
                }
            }
            Ok(())
        }
        other => panic!("{other}"),
    };
    match sent {
        Ok(()) => None,
        Err(error) => {
            assert_eq!(out.len(), before, "what is refused writes nothing");
            Some(match error {
                SendError::NoCredit => "no credit",
                SendError::UnknownStream => "unknown stream",
                SendError::TooLarge => "too large",
            })
        }
    }
}
