//! A client that waits for what it needs: requests go out at once, what comes from the peer is kept.
//!
//! It answers the peer's own requests for `interop/echo`. The cases that are played with it are in [`crate::cases`].

use std::collections::VecDeque;
use std::net::TcpStream;
use std::sync::Arc;

use stadium_rsocket::connection::{Closed, Config, Lease, RequestError, ResumeConfig};
use stadium_rsocket::frame::{Completes, Interaction, Next, Payload};
use stadium_rsocket::{Connection, ErrorCode, Event, SetupOptions, StreamId, Tag};

use crate::link::{Link, Turn, now_ms};
use crate::metadata::{note_of, route, route_of, text};
use crate::{Options, Result, number};

/// How long a case waits for something that should come at once.
pub const PATIENCE_MS: u64 = 20_000;

/// What came from the peer.
#[derive(Debug)]
pub enum Happening {
    Payload { stream: StreamId, data: Option<Vec<u8>>, completes: Completes },
    Credit { stream: StreamId },
    Failed { stream: StreamId, code: ErrorCode, text: String },
    Pushed(String),
    Closed(String),
}

/// One connection, driven by the code that waits for something.
pub struct Client {
    pub connection: Connection,
    pub link: Link,
    /// What came and nobody waited for.
    pub happened: VecDeque<Happening>,
    pub closed: bool,
}

/// What a connection is opened with, where it is not the default.
#[derive(Default)]
pub struct Plan {
    /// SETUP's data.
    pub data: &'static str,
    /// Interval and lifetime in milliseconds.
    pub keepalive: Option<(u32, u32)>,
    pub lease: bool,
    pub resume: bool,
}

impl Client {
    /// Connects, and sends SETUP.
    pub fn connect(address: &str, options: &Options, plan: &Plan) -> Result<Self> {
        let resume = ResumeConfig { store_bytes_max: 1 << 20, session_ms: 20_000 };
        let mut config = Config {
            fragment_bytes: usize::try_from(number(options, "fragment", 0)?)?,
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
        let mut link = Link::new(TcpStream::connect(address)?)?;
        let connection = Connection::client(Arc::new(config), &setup, now_ms(), &mut link.out);
        Ok(Self { connection, link, happened: VecDeque::new(), closed: false })
    }

    pub fn request(
        &mut self,
        interaction: Interaction,
        name: &str,
        data: &[u8],
        credit: u32,
        completes: Completes,
    ) -> Result<StreamId, RequestError> {
        self.request_with(interaction, &route(name), data, credit, completes)
    }

    pub fn request_with(
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

    pub fn stream(&mut self, name: &str, data: &str, credit: u32) -> Result<StreamId> {
        Ok(self.request(Interaction::RequestStream, name, data.as_bytes(), credit, Completes::Yes)?)
    }

    /// Lets the connection work once.
    pub fn turn(&mut self, until_ms: u64) -> Result<()> {
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
    pub fn wait<T>(&mut self, what: &str, wanted: impl Fn(&Happening) -> Option<T>) -> Result<T> {
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
    pub fn next(&mut self, stream: StreamId) -> Result<(Option<Vec<u8>>, Completes)> {
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
    pub fn rest(&mut self, stream: StreamId) -> Result<Vec<String>> {
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
    pub fn more(&mut self, stream: StreamId, credit: u32) -> Result<()> {
        if self.connection.tag(stream).is_none() {
            return Ok(());
        }
        Ok(self.connection.request_n(stream, credit, &mut self.link.out)?)
    }

    pub fn ask(&mut self, name: &str, data: &[u8]) -> Result<Vec<u8>> {
        let stream = self.request(Interaction::RequestResponse, name, data, 0, Completes::Yes)?;
        Ok(self.next(stream)?.0.unwrap_or_default())
    }

    pub fn ask_text(&mut self, name: &str, data: &str) -> Result<String> {
        Ok(text(&self.ask(name, data.as_bytes())?))
    }

    /// Everything that the peer sent before now has come when this returns.
    pub fn fence(&mut self) -> Result<()> {
        equal(&self.ask_text("echo", "fence")?, "fence")
    }

    pub fn until_notes(&mut self, key: &str, expected: &str) -> Result<()> {
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

/// A key that no other case and no other process uses.
pub fn unique(name: &str) -> String {
    format!("{name}-{}-{}", std::process::id(), now_ms())
}

pub fn equal(got: &str, expected: &str) -> Result<()> {
    check(got == expected, || format!("expected {expected}, got {got}"))
}

pub fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}
