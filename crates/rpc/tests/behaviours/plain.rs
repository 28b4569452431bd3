//! A plain RSocket client, which knows nothing of Stadium's metadata: `stadium-rsocket` on a blocking socket.
//!
//! [`Plain`] serves other modules too, where a test needs a client that reads slowly or falls silent.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use prost::Message;
use stadium_rpc::{ApplicationCode, Server};
use stadium_rsocket::connection::{Config, Connection, Event, SetupOptions, Tag};
use stadium_rsocket::frame::{self, Completes, ErrorCode, Interaction, StreamId};
use stadium_rsocket::metadata;

use crate::fixture::*;

/// The client.
pub struct Plain {
    socket: TcpStream,
    connection: Connection,
    buffer: Vec<u8>,
    started: Instant,
}

/// An answer that it received.
#[derive(Debug, PartialEq)]
pub enum Got {
    Message { stream: StreamId, data: Vec<u8>, completes: Completes },
    Completed(StreamId),
    Failed { stream: StreamId, code: ErrorCode, text: String },
    Closing,
    Closed,
    Other(String),
}

impl Plain {
    pub fn dial(server: &Server) -> Self {
        Self::dial_with(server.bound()[0], Config::default(), &SetupOptions::default())
    }

    pub fn dial_with(address: SocketAddr, config: Config, setup: &SetupOptions<'_>) -> Self {
        let mut socket = TcpStream::connect(address).expect("the server listens");
        socket.set_read_timeout(Some(SOON)).expect("a socket takes a time-out");
        let mut out = Vec::new();
        let connection = Connection::client(Arc::new(config), setup, 0, &mut out);
        socket.write_all(&out).expect("the server reads");
        Self { socket, connection, buffer: Vec::new(), started: Instant::now() }
    }

    /// Sends a request whose metadata names a route.
    pub fn ask(&mut self, route: &str, initial: u32, request: &Word) -> StreamId {
        let mut metadata = Vec::new();
        metadata::write_route(&mut metadata, route);
        let interaction = match initial {
            0 => Interaction::RequestResponse,
            _ => Interaction::RequestStream,
        };
        self.ask_with(interaction, initial, Some(&metadata), &request.encode_to_vec())
    }

    pub fn ask_with(
        &mut self,
        interaction: Interaction,
        initial: u32,
        metadata: Option<&[u8]>,
        data: &[u8],
    ) -> StreamId {
        let mut out = Vec::new();
        let encode = |out: &mut Vec<u8>| out.extend_from_slice(data);
        let stream = self
            .connection
            .request(interaction, initial.max(1), Completes::Yes, Tag(0), metadata, encode, &mut out)
            .expect("a request may be sent");
        self.socket.write_all(&out).expect("the server reads");
        stream
    }

    /// The next thing that happens.
    pub fn next(&mut self) -> Got {
        let mut out = Vec::new();
        loop {
            let now_ms = self.started.elapsed().as_millis() as u64;
            let received = self.connection.receive(now_ms, &self.buffer, &mut out);
            let (used, got) = (received.used, received.event.map(got));
            self.buffer.drain(..used);
            self.socket.write_all(&out).expect("the server reads");
            out.clear();
            match got {
                Some(got) => return got,
                None if used > 0 => continue,
                None => {}
            }
            let mut bytes = vec![0; 64 * 1024];
            match self.socket.read(&mut bytes) {
                Ok(0) => return Got::Closed,
                Ok(count) => self.buffer.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Got::Closed,
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }
}

fn got(event: Event<'_>) -> Got {
    match event {
        Event::Payload { stream, next: frame::Next::Value, completes, payload, .. } => {
            Got::Message { stream, data: payload.data.to_vec(), completes }
        }
        Event::Payload { stream, .. } => Got::Completed(stream),
        Event::Failed { stream, code, text, .. } => {
            Got::Failed { stream, code, text: String::from_utf8_lossy(text).into_owned() }
        }
        Event::Closing { .. } => Got::Closing,
        Event::Closed(_) => Got::Closed,
        other => Got::Other(format!("{other:?}")),
    }
}

#[test]
fn client_without_stadiums_metadata_is_served() {
    let server = serve(echo());
    let mut plain = Plain::dial(&server);
    let stream = plain.ask("words/Echo", 0, &word("plain"));
    let data = word("plain").encode_to_vec();
    assert_eq!(plain.next(), Got::Message { stream, data, completes: Completes::Yes });
}

#[test]
fn plain_routing_instead_of_composite_metadata_is_understood() {
    let server = serve(echo());
    let setup = SetupOptions { metadata_mime: "message/x.rsocket.routing.v0", ..SetupOptions::default() };
    let mut plain = Plain::dial_with(server.bound()[0], Config::default(), &setup);
    let data = word("routed").encode_to_vec();
    let stream = plain.ask_with(Interaction::RequestResponse, 1, Some(b"\x0awords/Echo"), &data);
    assert_eq!(plain.next(), Got::Message { stream, data, completes: Completes::Yes });
}

#[test]
fn errors_have_the_codes_and_texts_that_were_agreed() {
    let server = serve(echo().inline(
        &stadium_rpc::Method::<Word, Word>::unary("words/Refuse"),
        |_: &stadium_rpc::Call<'_>, request: &Word, _: &mut Word| match request.number {
            0 => Err(stadium_rpc::Refusal::busy(std::time::Duration::from_millis(120), "queue is full")),
            2 => Err(stadium_rpc::Refusal::unknown("GEO-007", "the disk has gone")),
            3 => Err(stadium_rpc::Refusal::application(ApplicationCode::ERROR, "no such place")),
            4 => {
                let own = ApplicationCode::new(0x301).expect("it is the application's");
                Err(stadium_rpc::Refusal::application(own, "{\"place\":7}"))
            }
            _ => Err(stadium_rpc::Refusal::rejected("GEO-001", "latitude 95 is not between -90 and 90")),
        },
    ));
    let mut plain = Plain::dial(&server);
    let mut failure = |stream| match plain_next(&mut plain, stream) {
        Got::Failed { code, text, .. } => (code.0, text),
        other => panic!("no failure: {other:?}"),
    };
    assert_eq!(
        failure(("words/Refuse", number(0))),
        (0x202, "BUSY retry_after_ms=120: queue is full".into())
    );
    let rejected = (0x201, "GEO-001: latitude 95 is not between -90 and 90".into());
    assert_eq!(failure(("words/Refuse", number(1))), rejected);
    let unknown = (0x201, "UNKNOWN GEO-007: the disk has gone".into());
    assert_eq!(failure(("words/Refuse", number(2))), unknown);
    assert_eq!(failure(("words/Refuse", number(3))), (0x201, "no such place".into()));
    assert_eq!(failure(("words/Refuse", number(4))), (0x301, "{\"place\":7}".into()));
    let (code, text) = failure(("words/Nothing", number(1)));
    assert_eq!((code, &text[..9]), (0x204, "RPC-002: "));
    let stream = plain.ask_with(Interaction::RequestResponse, 1, None, &[]);
    let Got::Failed { stream: of, code, text } = plain.next() else { panic!("no failure") };
    assert_eq!((of, code, &text[..9]), (stream, ErrorCode::INVALID, "RPC-001: "));
}

fn plain_next(plain: &mut Plain, (route, request): (&str, Word)) -> Got {
    plain.ask(route, 0, &request);
    plain.next()
}

#[test]
fn client_that_shows_no_life_is_let_go() {
    let server = serve(echo());
    let config = Config { keepalive_interval_ms: 50, lifetime_ms: 200, ..Config::default() };
    let mut plain = Plain::dial_with(server.bound()[0], config, &SetupOptions::default());
    plain.ask("words/Echo", 0, &word("alive"));
    assert!(matches!(plain.next(), Got::Message { .. }));
    // From here on it sends nothing, not even a KEEPALIVE.
    assert_eq!(plain.next(), Got::Closed);
    until("the server has forgotten it", || connections(&server) == 0);
}

#[test]
fn silent_clients_are_let_go_in_the_lifetimes_of_their_own_setups() {
    let (begun, dropped) = (Tally::default(), Tally::default());
    let server = serve(never_answering(&begun, &dropped));
    let dial = |lifetime_ms| {
        let config = Config { lifetime_ms, ..Config::default() };
        let mut plain = Plain::dial_with(server.bound()[0], config, &SetupOptions::default());
        plain.ask("words/Echo", 0, &word("waits"));
        plain
    };
    // Neither sends anything after its request, and no FIN comes of either.
    let patient = dial(600_000);
    until("its call has begun", || begun.count() == 1);
    let mut hasty = dial(300);
    until("both calls have begun", || begun.count() == 2);
    until("the call of the one is dropped", || dropped.count() == 1);
    until("its connection is gone", || connections(&server) == 1);
    assert_eq!(dropped.count(), 1, "the other one is within its lifetime");
    assert_eq!(hasty.next(), Got::Closed, "it was notified with an ERROR");
    drop(patient);
    until("the other call is dropped with its connection", || dropped.count() == 2);
}
