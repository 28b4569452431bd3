//! The cases of the interoperability suites: each opens a connection of its own to a server of another implementation.
//!
//! What the peer sends is kept as it comes; a case waits for what it needs, at most [`PATIENCE_MS`].

use std::collections::VecDeque;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use stadium_rsocket::connection::{Closed, Config, Lease, RequestError, ResumeConfig};
use stadium_rsocket::frame::{Completes, Interaction, Next, Payload};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{Mime, write_entry};
use stadium_rsocket::{Connection, ErrorCode, Event, SetupOptions, StreamId, Tag};

use crate::link::{Link, Turn, now_ms};
use crate::metadata::{note, note_of, padded, route, route_of, text};
use crate::{Options, Result, number};

/// How long a case waits for something that should come at once.
const PATIENCE_MS: u64 = 20_000;

/// Runs the cases, and says whether all held.
pub fn run(address: &str, cases: &str, options: &Options) -> bool {
    let mut all = true;
    for case in cases.split(',') {
        let suite = Cases { address, options };
        match suite.run(case) {
            Ok(()) => println!("ok {case}"),
            Err(error) => {
                all = false;
                println!("FAILED {case}: {error}");
            }
        }
    }
    all
}

/// What came from the peer.
#[derive(Debug)]
enum Happening {
    Payload { stream: StreamId, data: Option<Vec<u8>>, completes: Completes },
    Credit { stream: StreamId },
    Failed { stream: StreamId, code: ErrorCode, text: String },
    Pushed(String),
    Closed(String),
}

struct Client {
    connection: Connection,
    link: Link,
    happened: VecDeque<Happening>,
    closed: bool,
}

/// What a connection is opened with, where it is not the default.
#[derive(Default)]
struct Plan {
    data: &'static str,
    keepalive: Option<(u32, u32)>,
    lease: bool,
    resume: bool,
}

impl Client {
    fn request(
        &mut self,
        interaction: Interaction,
        name: &str,
        data: &[u8],
        credit: u32,
        completes: Completes,
    ) -> Result<StreamId, RequestError> {
        self.request_with(interaction, &route(name), data, credit, completes)
    }

    fn request_with(
        &mut self,
        interaction: Interaction,
        metadata: &[u8],
        data: &[u8],
        credit: u32,
        completes: Completes,
    ) -> Result<StreamId, RequestError> {
        self.connection.request(
            interaction,
            credit,
            completes,
            Tag(0),
            Some(metadata),
            |out| out.extend_from_slice(data),
            &mut self.link.out,
        )
    }

    fn stream(&mut self, name: &str, data: &str, credit: u32) -> Result<StreamId> {
        Ok(self.request(Interaction::RequestStream, name, data.as_bytes(), credit, Completes::Yes)?)
    }

    /// Lets the connection work once.
    fn turn(&mut self, until_ms: u64) -> Result<()> {
        let Self { connection, link, happened, closed } = self;
        let turn = link.turn(connection, until_ms, |connection, event, out| {
            match event {
                Event::Request { stream, payload, .. } => {
                    let metadata = payload.metadata.as_deref().unwrap_or_default();
                    if route_of(metadata) == "echo" {
                        connection.payload(
                            stream,
                            Completes::Yes,
                            None,
                            |out| out.extend_from_slice(&payload.data),
                            out,
                        )?;
                    } else {
                        connection.error(stream, ErrorCode::INVALID, "no such route", out)?;
                    }
                }
                Event::Payload { stream, next, completes, payload, .. } => {
                    let data = (next == Next::Value).then(|| payload.data.into_owned());
                    happened.push_back(Happening::Payload { stream, data, completes });
                }
                Event::Credit { stream, .. } => happened.push_back(Happening::Credit { stream }),
                Event::Failed { stream, code, text: why, .. } => {
                    happened.push_back(Happening::Failed { stream, code, text: text(why) });
                }
                Event::MetadataPush(metadata) => happened.push_back(Happening::Pushed(note_of(metadata))),
                Event::Closed(why) => {
                    *closed = true;
                    happened.push_back(Happening::Closed(match why {
                        Closed::Peer { code, text: why } => format!("{} {}", code.0, text(why)),
                        other => format!("{other:?}"),
                    }));
                }
                _ => {}
            }
            Ok(())
        })?;
        if turn == Turn::Ended && !self.closed {
            self.closed = true;
            self.happened.push_back(Happening::Closed("the socket ended".to_owned()));
        }
        Ok(())
    }

    /// The first thing that happened for which `wanted` gives something; the others stay.
    fn wait<T>(&mut self, what: &str, wanted: impl Fn(&Happening) -> Option<T>) -> Result<T> {
        let deadline = now_ms() + PATIENCE_MS;
        loop {
            if let Some((at, found)) =
                self.happened.iter().enumerate().find_map(|(at, each)| Some((at, wanted(each)?)))
            {
                self.happened.remove(at);
                return Ok(found);
            }
            if self.closed || now_ms() >= deadline {
                return Err(format!("waited for {what}; there is {:?}", self.happened).into());
            }
            self.turn(deadline)?;
        }
    }

    /// The next payload of a stream: its data, and whether it is the last.
    fn next(&mut self, stream: StreamId) -> Result<(Option<Vec<u8>>, Completes)> {
        let found = self.wait("a payload", |each| match each {
            Happening::Payload { stream: of, data, completes } if *of == stream => {
                Some(Ok((data.clone(), *completes)))
            }
            Happening::Failed { stream: of, code, text } if *of == stream => {
                Some(Err(format!("{} {text}", code.0)))
            }
            _ => None,
        })?;
        Ok(found?)
    }

    /// The rest of a stream, which gets one more credit for each payload.
    fn rest(&mut self, stream: StreamId) -> Result<Vec<String>> {
        let mut all = Vec::new();
        loop {
            let (data, completes) = self.next(stream)?;
            all.extend(data.as_deref().map(text));
            if completes.is_yes() {
                return Ok(all);
            }
            self.more(stream, 1)?;
        }
    }

    /// Grants credit. A stream that has ended while its payloads wait here needs none.
    fn more(&mut self, stream: StreamId, credit: u32) -> Result<()> {
        if self.connection.tag(stream).is_none() {
            return Ok(());
        }
        Ok(self.connection.request_n(stream, credit, &mut self.link.out)?)
    }

    fn ask(&mut self, name: &str, data: &[u8]) -> Result<Vec<u8>> {
        let stream = self.request(Interaction::RequestResponse, name, data, 0, Completes::Yes)?;
        Ok(self.next(stream)?.0.unwrap_or_default())
    }

    fn ask_text(&mut self, name: &str, data: &str) -> Result<String> {
        Ok(text(&self.ask(name, data.as_bytes())?))
    }

    /// Everything that the peer sent before now has come when this returns.
    fn fence(&mut self) -> Result<()> {
        equal(&self.ask_text("echo", "fence")?, "fence")
    }

    fn until_notes(&mut self, key: &str, expected: &str) -> Result<()> {
        let deadline = now_ms() + PATIENCE_MS;
        loop {
            let there = self.ask_text("notes", key)?;
            if there == expected {
                return Ok(());
            }
            check(now_ms() < deadline, || format!("waited for the note {expected}, there is {there}"))?;
        }
    }
}

struct Cases<'a> {
    address: &'a str,
    options: &'a Options,
}

impl Cases<'_> {
    fn run(&self, case: &str) -> Result<()> {
        match case {
            "echo" => equal(&self.connect()?.ask_text("echo", "hello")?, "hello"),
            "echo-large" => {
                let large: Vec<u8> = (0..100_000_u32).map(|at| (at * 31 + at / 256) as u8).collect();
                let answer = self.connect()?.ask("echo", &large)?;
                check(answer == large, || format!("100 KB came back changed: {} bytes", answer.len()))
            }
            "metadata" => self.describe(),
            "errors" => self.errors(),
            "empty" => {
                let mut client = self.connect()?;
                let stream = client.request(Interaction::RequestResponse, "empty", b"", 0, Completes::Yes)?;
                let (data, completes) = client.next(stream)?;
                check(data.is_none() && completes.is_yes(), || format!("a payload came: {data:?}"))
            }
            "note" => {
                let mut client = self.connect()?;
                let key = unique("note");
                let data = format!("{key} first");
                client.request(Interaction::FireAndForget, "note", data.as_bytes(), 0, Completes::Yes)?;
                client.until_notes(&key, "first")
            }
            "push" => {
                let mut client = self.connect()?;
                let key = unique("push");
                client.connection.metadata_push(&note(&format!("{key} pushed")), &mut client.link.out);
                client.until_notes(&key, "pushed")
            }
            "push-back" => {
                let mut client = self.connect()?;
                client.ask_text("push-me", "catch")?;
                let pushed = client.wait("a metadata push", |each| match each {
                    Happening::Pushed(text) => Some(text.clone()),
                    _ => None,
                })?;
                equal(&pushed, "catch")
            }
            "ask-me" => equal(&self.connect()?.ask_text("ask-me", "hello")?, "you said hello"),
            "range" => self.range(10, 0),
            "range-large" => self.range(5, 100_000),
            "credit-one" => self.credit_one(),
            "cancel-stream" => self.cancel_stream(),
            "cancel-response" => self.cancel_response(),
            "fail-after" => self.fail_after(),
            "channel" => self.channel("channel", &numbered("word ", 50), 3),
            "channel-large" => self.channel("channel", &numbered(&"x".repeat(50_000), 5), 1),
            "sum" => self.sum(),
            "refused" => self.refused(),
            "quiet" => self.quiet(),
            "frozen" => self.frozen(),
            "lease" => self.lease(),
            "leased" => self.leased(),
            "resume" => self.resume(),
            _ => Err("no such case".into()),
        }
    }

    fn connect(&self) -> Result<Client> {
        self.connect_with(&Plan::default())
    }

    fn connect_with(&self, plan: &Plan) -> Result<Client> {
        let resume = ResumeConfig { store_bytes_max: 1 << 20, session_ms: 20_000 };
        let mut config = Config {
            fragment_bytes: usize::try_from(number(self.options, "fragment", 0)?)?,
            lease: if plan.lease { Lease::Honour } else { Lease::Off },
            resume: plan.resume.then_some(resume),
            ..Config::default()
        };
        if let Some((interval, lifetime)) = plan.keepalive {
            config.keepalive_interval_ms = interval;
            config.lifetime_ms = lifetime;
        }
        let token = unique("a session that is resumed");
        let setup = SetupOptions {
            resume_token: plan.resume.then_some(token.as_bytes()),
            payload: Payload { metadata: None, data: plan.data.as_bytes() },
            ..SetupOptions::default()
        };
        let mut link = Link::new(TcpStream::connect(self.address)?)?;
        let connection = Connection::client(Arc::new(config), &setup, now_ms(), &mut link.out);
        Ok(Client { connection, link, happened: VecDeque::new(), closed: false })
    }

    fn describe(&self) -> Result<()> {
        let mut client = self.connect()?;
        for (credentials, custom, expected) in [
            (
                Authentication::Simple { username: "user", password: "pass:word" },
                true,
                "route interop/metadata\nsimple user:pass:word\nmessage/x.custom text",
            ),
            (Authentication::Bearer("token"), false, "route interop/metadata\nbearer token"),
        ] {
            let mut metadata = route("metadata");
            authentication::write(&mut metadata, credentials);
            if custom {
                write_entry(&mut metadata, Mime::Named(b"message/x.custom"), b"text");
            }
            let stream =
                client.request_with(Interaction::RequestResponse, &metadata, b"", 0, Completes::Yes)?;
            equal(&text(&client.next(stream)?.0.unwrap_or_default()), expected)?;
        }
        Ok(())
    }

    fn errors(&self) -> Result<()> {
        let mut client = self.connect()?;
        for code in
            [ErrorCode::APPLICATION_ERROR, ErrorCode::REJECTED, ErrorCode::CANCELED, ErrorCode::INVALID]
        {
            let expected = format!("{} GEO-001: not there", code.0);
            match client.ask_text("fail", &expected) {
                Err(error) => equal(&error.to_string(), &expected)?,
                Ok(answer) => return Err(format!("an error was promised, there is {answer}").into()),
            }
        }
        client.fence()
    }

    fn range(&self, count: u64, size: usize) -> Result<()> {
        let mut client = self.connect()?;
        let stream = client.stream("range", &format!("{count} {size}"), 1000)?;
        let expected: Vec<String> = (0..count).map(|number| padded(number, size)).collect();
        let got = client.rest(stream)?;
        check(got == expected, || format!("{} payloads, not those that were promised", got.len()))
    }

    fn credit_one(&self) -> Result<()> {
        let mut client = self.connect()?;
        let stream = client.stream("range", "5 0", 1)?;
        let mut done = false;
        for number in 0..5 {
            let (data, completes) = client.next(stream)?;
            equal(&text(&data.unwrap_or_default()), &number.to_string())?;
            client.fence()?;
            let more =
                client.happened.iter().any(|each| matches!(each, Happening::Payload { data: Some(_), .. }));
            check(!more, || "more than one payload for a credit of one".to_owned())?;
            done = completes.is_yes();
            client.more(stream, 1)?;
        }
        if !done {
            let (data, completes) = client.next(stream)?;
            check(data.is_none() && completes.is_yes(), || "a sixth payload".to_owned())?;
        }
        Ok(())
    }

    fn cancel_stream(&self) -> Result<()> {
        let mut client = self.connect()?;
        let key = unique("endless");
        let stream = client.stream("endless", &key, 3)?;
        for number in 0..3 {
            equal(&text(&client.next(stream)?.0.unwrap_or_default()), &number.to_string())?;
        }
        client.connection.cancel(stream, &mut client.link.out)?;
        client.until_notes(&key, "cancelled")
    }

    fn cancel_response(&self) -> Result<()> {
        let mut client = self.connect()?;
        let key = unique("never");
        let stream =
            client.request(Interaction::RequestResponse, "never", key.as_bytes(), 0, Completes::Yes)?;
        client.fence()?;
        client.connection.cancel(stream, &mut client.link.out)?;
        client.until_notes(&key, "cancelled")
    }

    fn fail_after(&self) -> Result<()> {
        let mut client = self.connect()?;
        let stream = client.stream("fail-after", "3 513 GEO-002: half way", 100)?;
        for number in 0..3 {
            equal(&text(&client.next(stream)?.0.unwrap_or_default()), &number.to_string())?;
        }
        match client.next(stream) {
            Err(error) => equal(&error.to_string(), "513 GEO-002: half way"),
            Ok(payload) => Err(format!("an error was promised, there is {payload:?}").into()),
        }
    }

    fn channel(&self, name: &str, words: &[String], credit: u32) -> Result<()> {
        let (mut client, stream) = self.open_channel(name, words, credit)?;
        let expected: Vec<String> = words.iter().map(|word| format!("echo {word}")).collect();
        let (mut sent, mut got) = (1, Vec::new());
        loop {
            Self::send(&mut client, stream, words, &mut sent)?;
            // Either a payload, or the credit that lets us go on.
            let more = client.wait("a payload or credit", |each| match each {
                Happening::Payload { stream: of, data, completes } if *of == stream => {
                    Some(Ok(Some((data.clone(), *completes))))
                }
                Happening::Credit { stream: of } if *of == stream => Some(Ok(None)),
                Happening::Failed { text, .. } => Some(Err(text.clone())),
                _ => None,
            })??;
            let Some((data, completes)) = more else { continue };
            got.extend(data.as_deref().map(text));
            if completes.is_yes() {
                return check(got == expected, || {
                    format!("{} echoes, not those of what was sent", got.len())
                });
            }
            client.more(stream, 1)?;
        }
    }

    fn open_channel(&self, name: &str, words: &[String], credit: u32) -> Result<(Client, StreamId)> {
        let mut client = self.connect()?;
        let first = words.first().ok_or("a channel needs a first payload")?;
        let stream =
            client.request(Interaction::RequestChannel, name, first.as_bytes(), credit, Completes::No)?;
        Ok((client, stream))
    }

    /// Sends what the responder's credit allows; the last payload completes our side.
    fn send(client: &mut Client, stream: StreamId, words: &[String], sent: &mut usize) -> Result<()> {
        while *sent < words.len() && client.connection.credit(stream) > 0 {
            let word = &words[*sent];
            *sent += 1;
            let completes = if *sent == words.len() { Completes::Yes } else { Completes::No };
            let out = &mut client.link.out;
            client.connection.payload(
                stream,
                completes,
                None,
                |out| out.extend_from_slice(word.as_bytes()),
                out,
            )?;
        }
        Ok(())
    }

    fn sum(&self) -> Result<()> {
        let numbers = (1..=100).map(|number| number.to_string()).collect::<Vec<_>>();
        let (mut client, stream) = self.open_channel("sum", &numbers, 10)?;
        let mut sent = 1;
        while sent < numbers.len() {
            Self::send(&mut client, stream, &numbers, &mut sent)?;
            if sent < numbers.len() {
                client.wait("credit", |each| match each {
                    Happening::Credit { stream: of } if *of == stream => Some(()),
                    _ => None,
                })?;
            }
        }
        equal(&client.rest(stream)?.join(","), "5050")
    }

    fn refused(&self) -> Result<()> {
        let mut client = self.connect_with(&Plan { data: "refuse me", ..Plan::default() })?;
        let why = closed(&mut client)?;
        check(why.starts_with("3 "), || format!("closed with {why}"))
    }

    /// Nobody speaks for three lifetimes: keep-alives hold the connection.
    fn quiet(&self) -> Result<()> {
        let mut client = self.connect_with(&Plan { keepalive: Some((100, 500)), ..Plan::default() })?;
        client.fence()?;
        let until = now_ms() + 1500;
        while now_ms() < until {
            client.turn(until)?;
            check(!client.closed, || format!("closed although keep-alives go: {:?}", client.happened))?;
        }
        client.fence()
    }

    /// The server's process is stopped: we notice within a lifetime and little more.
    fn frozen(&self) -> Result<()> {
        let pid = self.options.get("pid").ok_or("the server's pid is needed")?;
        let mut client = self.connect_with(&Plan { keepalive: Some((100, 600)), ..Plan::default() })?;
        client.fence()?;
        signal("STOP", pid)?;
        let since = now_ms();
        let noticed = closed(&mut client);
        signal("CONT", pid)?;
        let why = noticed?;
        let took = now_ms() - since;
        check(why.contains("KeepAlive"), || format!("closed with {why}"))?;
        check((400..5000).contains(&took), || format!("noticed after {took} ms; the lifetime is 600 ms"))
    }

    /// The server grants three requests at a time; where there is no lease left we are told so at once.
    fn lease(&self) -> Result<()> {
        let mut client = self.connect_with(&Plan { lease: true, ..Plan::default() })?;
        let (mut answered, mut refused) = (0, 0);
        let deadline = now_ms() + PATIENCE_MS;
        while answered < 7 {
            check(now_ms() < deadline, || format!("only {answered} requests were answered under leases"))?;
            match client.request(Interaction::RequestResponse, "echo", b"leased", 0, Completes::Yes) {
                Ok(stream) => {
                    equal(&text(&client.next(stream)?.0.unwrap_or_default()), "leased")?;
                    answered += 1;
                }
                Err(RequestError::NoLease { .. }) => {
                    refused += 1;
                    client.turn(now_ms() + 20)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        check(refused > 0, || "no request was refused although leases are of three".to_owned())
    }

    /// A server that decides by itself how much it grants: we ask for leases, and are served within them.
    fn leased(&self) -> Result<()> {
        let mut client = self.connect_with(&Plan { lease: true, ..Plan::default() })?;
        let deadline = now_ms() + PATIENCE_MS;
        let mut answered = 0;
        while answered < 100 {
            check(now_ms() < deadline, || format!("only {answered} requests were answered under leases"))?;
            match client.request(Interaction::RequestResponse, "echo", b"leased", 0, Completes::Yes) {
                Ok(stream) => {
                    equal(&text(&client.next(stream)?.0.unwrap_or_default()), "leased")?;
                    answered += 1;
                }
                Err(RequestError::NoLease { .. }) => client.turn(now_ms() + 20)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// We lose the socket twice in the middle of a stream; the session goes on over the next one.
    fn resume(&self) -> Result<()> {
        let mut client =
            self.connect_with(&Plan { resume: true, keepalive: Some((100, 20_000)), ..Plan::default() })?;
        let stream = client.stream("range", "100 50", 10)?;
        for number in 0..100 {
            if number == 5 || number == 50 {
                client.link.cut();
                client.connection.suspend(now_ms());
                client.link = Link::new(TcpStream::connect(self.address)?)?;
                client.connection.resume_client(now_ms(), &mut client.link.out);
            }
            let data = client.next(stream)?.0.unwrap_or_default();
            equal(&text(&data), &padded(number, 50))?;
            client.more(stream, 1)?;
        }
        client.fence()
    }
}

fn closed(client: &mut Client) -> Result<String> {
    client.wait("the close", |each| match each {
        Happening::Closed(why) => Some(why.clone()),
        _ => None,
    })
}

fn signal(name: &str, pid: &str) -> Result<()> {
    let status = Command::new("kill").args([&format!("-{name}"), pid]).status()?;
    check(status.success(), || format!("cannot signal {pid}"))
}

fn numbered(text: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{text}{number}")).collect()
}

/// A key that no other case and no other process uses.
fn unique(name: &str) -> String {
    format!("{name}-{}-{}", std::process::id(), now_ms())
}

fn equal(got: &str, expected: &str) -> Result<()> {
    check(got == expected, || format!("expected {expected}, got {got}"))
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}
