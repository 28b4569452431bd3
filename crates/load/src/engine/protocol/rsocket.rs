//! RSocket 1.0 from the client's side: requests of one user, or of several where they share the connection.
//!
//! The protocol itself is [`stadium_rsocket`]'s; this keeps who asked what. A request names its route in composite
//! metadata; leases are not asked for, and nothing is served.

use std::sync::{Arc, LazyLock};

use stadium_rsocket::connection::{
    Closed, Config, Connection, Event, Payload, RequestError, SetupOptions, Tag,
};
use stadium_rsocket::frame::{Completes, ErrorCode, Interaction, Next, StreamId};
use stadium_rsocket::metadata::mime_type::write_mime_type;
use stadium_rsocket::metadata::routing::TAG_BYTES_MAX;
use stadium_rsocket::metadata::{Mime, write_route};
use stadium_scenario::program::{Action, Interaction as Asks};

use super::stamps::Stamps;
use super::talk::{Ask, Begun, Done, Output, Talk};
use crate::clock::monotonic_ns;
use crate::engine::reply::{Failure, Reply};

/// What all connections allow and offer.
static CONFIG: LazyLock<Arc<Config>> = LazyLock::new(|| {
    Arc::new(Config { payload_bytes_max: PAYLOAD_BYTES_MAX, streams_max: REQUESTS_MAX, ..Config::default() })
});
/// The largest payload that is taken, in bytes: what a connection keeps of those that are not whole.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Requests under way on a connection; users beyond wait for it.
const REQUESTS_MAX: u32 = 10_000;
/// Payloads of a stream that may be on their way. More is granted when half of them have come.
const CREDIT: u32 = 128;
/// The type of data where a step names none.
const OCTETS: &str = "application/octet-stream";

/// A connection that speaks RSocket.
#[derive(Debug)]
pub(crate) struct Rsocket {
    /// MIME type of data, as in SETUP.
    mime: String,
    /// There once it stands.
    connection: Option<Connection>,
    /// Requests under way, by the tags of their streams.
    calls: Vec<Option<Call>>,
    /// Places in `calls` that are free.
    free: Vec<u32>,
    /// How many are under way.
    open: u32,
    /// Whether it takes no request any more.
    closing: bool,
    stamps: Stamps,
    /// Bytes of frames that completed nothing yet: fragments, keep-alive.
    bytes_in: u64,
}

/// A request that is under way.
#[derive(Debug)]
struct Call {
    user: u32,
    stream: StreamId,
    /// Payloads to wait for; `u32::MAX` for all.
    left: u32,
    /// Payloads that the responder may send.
    credit: u32,
    is_stream: bool,
    keeps_body: bool,
    reply: Reply,
}

/// Where templates and metadata are written before they are put together.
#[derive(Default)]
struct Space {
    texts: Vec<u8>,
    metadata: Vec<u8>,
}

thread_local! {
    static SPACE: std::cell::RefCell<Space> = std::cell::RefCell::default();
}

impl Rsocket {
    /// A connection whose data is of this MIME type.
    pub(crate) fn new(mime: &str) -> Self {
        Rsocket {
            mime: if mime.is_empty() { OCTETS } else { mime }.to_owned(),
            connection: None,
            calls: Vec::new(),
            free: Vec::new(),
            open: 0,
            closing: false,
            stamps: Stamps::default(),
            bytes_in: 0,
        }
    }

    fn hear(&mut self, event: Event<'_>, bytes: u64, output: &mut Output<'_>) -> Result<(), Failure> {
        match event {
            Event::Payload { tag, next, completes, payload, .. } => {
                if let Some(call) = self.call(tag) {
                    call.reply.bytes_in += bytes;
                    self.payload_came(tag, next, completes, &payload, output);
                }
            }
            Event::Failed { tag, code, .. } => {
                if let Some(call) = self.call(tag) {
                    call.reply.bytes_in += bytes;
                    self.finish(tag, Err(format!("rsocket: {}", words(code)).into()), output);
                }
            }
            Event::Closing { .. } => {
                self.closing = true;
                if self.open == 0 {
                    return Err(format!("rsocket: {}", words(ErrorCode::CONNECTION_CLOSE)).into());
                }
            }
            Event::Closed(closed) => return Err(ended(closed)),
            Event::Request { stream, interaction, .. } if interaction != Interaction::FireAndForget => {
                if let Some(connection) = &mut self.connection {
                    // A stream that is gone needs no answer.
                    let _ =
                        connection.error(stream, ErrorCode::REJECTED, "nothing is served here", output.bytes);
                }
            }
            // Pieces are not asked for, nothing is sent that needs credit, and a server's figures are not ours.
            _ => {}
        }
        Ok(())
    }

    fn payload_came(
        &mut self,
        tag: Tag,
        next: Next,
        completes: Completes,
        payload: &Payload<'_>,
        output: &mut Output<'_>,
    ) {
        let Rsocket { calls, connection, stamps, .. } = self;
        let (Some(connection), Some(Some(call))) = (connection, calls.get_mut(tag.0 as usize)) else {
            return;
        };
        if next == Next::Value {
            if call.is_stream {
                stamps.hear(&payload.data, output.messages, monotonic_ns);
            }
            if call.keeps_body {
                call.reply.body.clear();
                call.reply.body.extend_from_slice(&payload.data);
            }
            call.credit = call.credit.saturating_sub(1);
            if call.left != u32::MAX {
                call.left -= 1;
            }
        }
        let result = match (call.left, completes) {
            (0, Completes::Yes) => Ok(()),
            (0, Completes::No) => {
                // It may have completed meanwhile: then there is nothing to cancel.
                let _ = connection.cancel(call.stream, output.bytes);
                Ok(())
            }
            (left, Completes::Yes) if call.is_stream && left != u32::MAX => {
                Err(Failure::from("rsocket: completed early"))
            }
            (_, Completes::Yes) => Ok(()),
            (left, Completes::No) => {
                if call.credit <= CREDIT / 2 && left > call.credit {
                    let more = (CREDIT - call.credit).min(left - call.credit);
                    if connection.request_n(call.stream, more, output.bytes).is_ok() {
                        call.credit += more;
                    }
                }
                return;
            }
        };
        self.finish(tag, result, output);
    }

    fn call(&mut self, tag: Tag) -> Option<&mut Call> {
        self.calls.get_mut(tag.0 as usize)?.as_mut()
    }

    /// Ends a request.
    fn finish(&mut self, tag: Tag, result: Result<(), Failure>, output: &mut Output<'_>) {
        let Some(mut call) = self.forget(tag) else { return };
        let result = match result {
            Ok(()) => Ok(call.reply),
            Err(failure) => {
                call.reply.clear();
                output.spare.push(call.reply);
                Err(failure)
            }
        };
        // Where others are under way the connection stays for them.
        let reusable = !self.closing || self.open > 0;
        output.done.push(Done::of(call.user, result, reusable));
    }

    fn forget(&mut self, tag: Tag) -> Option<Call> {
        let call = self.calls.get_mut(tag.0 as usize)?.take()?;
        self.free.push(tag.0);
        self.open -= 1;
        Some(call)
    }

    /// A place for a request.
    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.calls.push(None);
            self.calls.len() as u32 - 1
        })
    }
}

impl Talk for Rsocket {
    fn has_room(&self) -> bool {
        !self.closing && self.open < REQUESTS_MAX && self.connection.as_ref().is_some_and(Connection::is_open)
    }

    fn connected(&mut self, output: &mut Output<'_>) {
        let setup = SetupOptions { data_mime: &self.mime, ..SetupOptions::default() };
        let now_ms = monotonic_ns() / 1_000_000;
        self.connection = Some(Connection::client(CONFIG.clone(), &setup, now_ms, output.bytes));
    }

    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let Action::Rsocket(asks) = &ask.step.action else {
            return Err("a step of another protocol".into());
        };
        let count = asks.count.max(1);
        let (interaction, left) = match asks.interaction {
            Asks::RequestResponse => (Interaction::RequestResponse, 1),
            Asks::FireAndForget => (Interaction::FireAndForget, 0),
            Asks::RequestStream => (Interaction::RequestStream, count),
        };
        let credit = left.min(CREDIT);
        let place = self.place();
        let scope = &mut ask.scope;
        let Rsocket { connection, mime, .. } = self;
        let sent: Result<StreamId, Failure> = SPACE.with_borrow_mut(|Space { texts, metadata }| {
            let connection = connection.as_mut().ok_or(Failure::from("rsocket: not connected"))?;
            texts.clear();
            asks.route.write(scope, texts);
            let route_end = texts.len();
            asks.data.write(scope, texts);
            let (route, data) = texts.split_at(route_end);
            let route =
                std::str::from_utf8(route).map_err(|_| Failure::from("not sent: the route is not text"))?;
            if route.len() > TAG_BYTES_MAX {
                return Err("not sent: the route has more than 255 bytes".into());
            }
            metadata.clear();
            if !route.is_empty() {
                write_route(metadata, route);
            }
            if !asks.mime.is_empty() && asks.mime != *mime {
                write_mime_type(metadata, Mime::of(&asks.mime));
            }
            let metadata = (!metadata.is_empty()).then_some(metadata.as_slice());
            connection
                .request(
                    interaction,
                    credit,
                    Completes::Yes,
                    Tag(place),
                    metadata,
                    |out| out.extend_from_slice(data),
                    output.bytes,
                )
                .map_err(|error| {
                    self.closing |= matches!(error, RequestError::IdsExhausted | RequestError::Closed);
                    Failure::from(format!("rsocket: {error}"))
                })
        });
        let stream = sent.inspect_err(|_| self.free.push(place))?;
        if interaction == Interaction::FireAndForget {
            self.free.push(place);
            return Ok(Begun::Done(output.reply()));
        }
        self.calls[place as usize] = Some(Call {
            user: ask.user,
            stream,
            left,
            credit,
            is_stream: interaction == Interaction::RequestStream,
            keeps_body: ask.planned.keeps_body,
            reply: output.reply(),
        });
        self.open += 1;
        Ok(Begun::Waiting)
    }

    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let now_ms = monotonic_ns() / 1_000_000;
        let mut used = 0;
        loop {
            let Some(connection) = &mut self.connection else { return Ok(bytes.len()) };
            let received = connection.receive(now_ms, &bytes[used..], output.bytes);
            used += received.used;
            self.bytes_in += received.used as u64;
            match received.event {
                Some(event) => {
                    let bytes_in = std::mem::take(&mut self.bytes_in);
                    self.hear(event, bytes_in, output)?;
                }
                None if received.used == 0 => return Ok(used),
                None => {}
            }
        }
    }

    fn abandon(&mut self, user: u32, output: &mut Output<'_>) -> bool {
        let of_user = |call: &Option<Call>| call.as_ref().is_some_and(|call| call.user == user);
        let Some(at) = self.calls.iter().position(of_user) else { return true };
        let Some(mut call) = self.forget(Tag(at as u32)) else { return true };
        if let Some(connection) = &mut self.connection {
            // It may have completed meanwhile: then there is nothing to cancel.
            let _ = connection.cancel(call.stream, output.bytes);
        }
        call.reply.clear();
        output.spare.push(call.reply);
        !self.closing || self.open > 0
    }

    fn tick(&mut self, now_ns: u64, output: &mut Output<'_>) -> Result<Option<u64>, Failure> {
        let Some(connection) = &mut self.connection else { return Ok(None) };
        match connection.advance(now_ns / 1_000_000, output.bytes) {
            Some(Event::Closed(closed)) => Err(ended(closed)),
            _ => Ok(connection.deadline_ms().map(|deadline_ms| deadline_ms * 1_000_000)),
        }
    }

    fn waiting(&self, into: &mut Vec<u32>) {
        into.extend(self.calls.iter().flatten().map(|call| call.user));
    }
}

/// The words for a connection's end.
fn ended(closed: Closed<'_>) -> Failure {
    match closed {
        Closed::Peer { code, .. } => format!("rsocket: {}", words(code)).into(),
        Closed::Violation(_) => "malformed: no RSocket".into(),
        _ => "rsocket: no keep-alive".into(),
    }
}

/// `APPLICATION_ERROR` becomes `application error`.
fn words(code: ErrorCode) -> String {
    code.to_string().to_ascii_lowercase().replace('_', " ")
}
