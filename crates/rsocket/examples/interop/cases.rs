//! The cases of the interoperability suites: each opens a connection of its own to a server of another implementation.
//!
//! testing/README.md lists the routes that they ask for.

use std::net::TcpStream;
use std::process::Command;

use stadium_rsocket::connection::RequestError;
use stadium_rsocket::frame::{Completes, Interaction};
use stadium_rsocket::metadata::authentication::{self, Authentication};
use stadium_rsocket::metadata::{Mime, write_entry};
use stadium_rsocket::{ErrorCode, StreamId};

use crate::client::{Client, Happening, PATIENCE_MS, Plan, check, equal, unique};
use crate::link::{Link, now_ms};
use crate::metadata::{note, padded, route, text};
use crate::{Options, Result};

/// Runs the cases, and returns whether all held.
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
        Client::connect(self.address, self.options, plan)
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
        let mut client = self.connect_with(&Plan { keepalive: Some((100, 3_000)), ..Plan::default() })?;
        client.fence()?;
        signal("STOP", pid)?;
        let since = now_ms();
        let noticed = closed(&mut client);
        signal("CONT", pid)?;
        let why = noticed?;
        let took = now_ms() - since;
        check(why.contains("KeepAlive"), || format!("closed with {why}"))?;
        check((2_000..15_000).contains(&took), || {
            format!("noticed after {took} ms; the lifetime is 3,000 ms")
        })
    }

    /// The server grants three requests at a time; where there is no lease left the client is
    /// refused at once.
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
