//! HTTP/1.1: one request at a time on a connection.
//!
//! A request in which nothing changes was encoded once, with the plan, and is copied.

use stadium_http_client::{Asked, Event, H1, write_request};
use stadium_scenario::program::{Http, Target};
use stadium_scenario::scope::Scope;

use super::coding::{BODY_BYTES_MAX, Coding};
use super::request::{Draft, with_request};
use super::talk::{Ask, Begun, Done, Output, Talk};
use crate::engine::cookies::Cookies;
use crate::engine::reply::{Failure, Reply};

/// A connection that speaks HTTP/1.1.
#[derive(Debug, Default)]
pub(crate) struct Http1 {
    codec: H1,
    exchange: Option<Exchange>,
    /// Whether an answer came on this connection before.
    used: bool,
    /// Whether a byte of the answer that is under way has come.
    heard: bool,
    /// Whether the request that is under way does the same when it is carried out twice.
    idempotent: bool,
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) user: u32,
    keeps_headers: bool,
    keeps_body: bool,
    coding: Coding,
    /// The body is longer than what is kept.
    too_large: bool,
    pub(crate) reply: Reply,
}

impl Talk for Http1 {
    fn has_room(&self) -> bool {
        self.exchange.is_none()
    }

    fn waiting(&self, into: &mut Vec<u32>) {
        into.extend(self.exchange.as_ref().map(|exchange| exchange.user));
    }

    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let stadium_scenario::program::Action::Http(request) = &ask.step.action else {
            return Err("a step of another protocol".into());
        };
        let fixed = ask.planned.fixed.as_ref().filter(|_| ask.cookies.is_none_or(Cookies::is_empty));
        match fixed {
            Some(bytes) => output.bytes.extend_from_slice(bytes),
            None => {
                let draft = Draft::of(request, ask);
                with_request(&draft, &mut ask.scope, |request| write_request(output.bytes, request))?
                    .map_err(|error| format!("not sent: {error}"))?;
            }
        }
        self.codec.begin(Asked::by(&request.method));
        self.heard = false;
        self.idempotent = is_idempotent(&request.method);
        self.exchange = Some(Exchange::of(ask, output));
        Ok(Begun::Waiting)
    }

    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let Http1 { codec, exchange, heard, .. } = self;
        *heard |= !bytes.is_empty();
        let mut end = None;
        let used = codec
            .received(bytes, &mut |event| {
                if let Some(exchange) = exchange {
                    end = exchange.hear(&event).or(end);
                }
            })
            .map_err(malformed)?;
        if let Some(exchange) = exchange {
            exchange.reply.bytes_in += used as u64;
        }
        if let Some(reusable) = end {
            self.finish(reusable, output);
        }
        Ok(used)
    }

    fn ended(&mut self, output: &mut Output<'_>) {
        let again = self.may_send_again();
        let Http1 { codec, exchange, .. } = self;
        let mut ended = false;
        let whole = codec.ended(&mut |event| {
            if let Some(exchange) = exchange {
                ended |= exchange.hear(&event).is_some();
            }
        });
        match whole {
            Ok(_) if ended => self.finish(false, output),
            // The driver fails the step: the connection was lost.
            Ok(_) => {}
            Err(reason) => {
                if let Some(exchange) = self.exchange.take() {
                    let done = Done::of(exchange.user, Err(malformed(reason)), false);
                    output.done.push(Done { again, ..done });
                    output.put_back(Some(exchange.reply));
                }
            }
        }
    }

    /// A server that closes a connection which nobody used for a while meets, now and then, the next request on its way: RFC 9112,
    /// 9.3.1. Where nothing of an answer came, and to do it twice is to do it once, it is sent again.
    fn may_send_again(&self) -> bool {
        self.used && !self.heard && self.idempotent && self.exchange.is_some()
    }
}

impl Http1 {
    fn finish(&mut self, reusable: bool, output: &mut Output<'_>) {
        self.used = true;
        if let Some(exchange) = self.exchange.take() {
            output.done.push(Done::of(exchange.user, exchange.result(), reusable));
        }
    }
}

impl Exchange {
    pub(crate) fn of(ask: &Ask<'_>, output: &mut Output<'_>) -> Self {
        Exchange {
            user: ask.user,
            keeps_headers: ask.planned.keeps_headers,
            keeps_body: ask.planned.keeps_body,
            coding: Coding::Identity,
            too_large: false,
            reply: output.reply(),
        }
    }

    /// What the answer is, now that it is whole.
    pub(crate) fn result(mut self) -> Result<Reply, Failure> {
        if self.too_large {
            return Err("answer too large".into());
        }
        self.coding.expand(&mut self.reply.body)?;
        Ok(self.reply)
    }

    /// Keeps what was asked for. Returns whether the connection can be used on, once the answer has ended.
    pub(crate) fn hear(&mut self, event: &Event<'_>) -> Option<bool> {
        match event {
            Event::Head(head) | Event::Upgraded(head) => {
                self.reply.keep_head(head, self.keeps_headers);
                if self.keeps_body {
                    self.coding = Coding::of(head);
                }
                // The connection speaks something else now, which no step of HTTP asks for.
                matches!(event, Event::Upgraded(_)).then_some(false)
            }
            Event::Body(bytes) => {
                if self.keeps_body && !self.too_large {
                    self.too_large = self.reply.body.len() + bytes.len() > BODY_BYTES_MAX;
                    self.reply.body.extend_from_slice(if self.too_large { b"" } else { bytes });
                }
                None
            }
            Event::End { reusable } => Some(*reusable),
            Event::Reset { .. } => Some(false),
            // Trailers are asked for by nobody; the rest is news of HTTP/2.
            _ => None,
        }
    }
}

/// Whether a request may be carried out twice: RFC 9110, 9.2.2.
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}

/// The words for an answer that is no HTTP.
pub(crate) fn malformed(reason: stadium_http_client::Malformed) -> Failure {
    match reason {
        stadium_http_client::Malformed::NoAnswer => "closed by the target".into(),
        reason => format!("malformed: {}", reason.word()).into(),
    }
}

/// The bytes of a request in which nothing changes.
pub(crate) fn encode_fixed(request: &Http, target: &Target, authority: &str) -> Option<Vec<u8>> {
    let is_fixed = request.path.literal().is_some()
        && request.headers.iter().chain(&target.headers).all(|(_, value)| value.literal().is_some())
        && request.body.as_ref().is_none_or(|body| body.literal().is_some());
    if !is_fixed {
        return None;
    }
    let mut scope =
        Scope { variables: &mut [], random: &mut fastrand::Rng::with_seed(0), wall_ms: 0, user: 0 };
    let mut out = Vec::new();
    let draft = Draft {
        method: &request.method,
        scheme: "http",
        authority,
        base: &target.path,
        path: &request.path,
        headers: &request.headers,
        cookies: None,
        host: &target.host,
        target_headers: &target.headers,
        protocol_headers: &[],
        body: request.body.as_ref(),
    };
    // What cannot be sent fails when it is sent, and is counted.
    with_request(&draft, &mut scope, |request| write_request(&mut out, request)).ok()?.ok()?;
    Some(out)
}
