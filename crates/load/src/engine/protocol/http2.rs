//! HTTP/2: many users' requests on one connection, each a stream.
//!
//! A server that goes away (GOAWAY) is given no new streams; those of which it vouches that it did nothing are sent again
//! on another connection, and this one is closed when the last that it will answer is done.

use stadium_http_client::{Event, H2, H2Settings, Processed, StreamId};
use stadium_scenario::program::Action;

use super::http1::{Exchange, malformed};
use super::request::{Draft, with_request};
use super::talk::{Ask, Begun, Done, Output, Talk};
use crate::engine::reply::Failure;

/// The server does not take this stream, and did nothing: RFC 9113, 7.
const REFUSED_STREAM: u32 = 7;

/// A connection that speaks HTTP/2.
#[derive(Debug, Default)]
pub(crate) struct Http2 {
    /// There once the connection stands.
    codec: Option<H2>,
    /// Requests under way by stream, in the order of their ids.
    exchanges: Vec<(StreamId, Exchange)>,
}

impl Talk for Http2 {
    fn has_room(&self) -> bool {
        self.codec.as_ref().is_some_and(H2::can_open)
    }

    fn takes_more(&self) -> bool {
        self.codec.as_ref().is_none_or(H2::is_reusable)
    }

    fn waiting(&self, into: &mut Vec<u32>) {
        into.extend(self.exchanges.iter().map(|(_, exchange)| exchange.user));
    }

    fn connected(&mut self, output: &mut Output<'_>) {
        self.codec = Some(H2::new(H2Settings::default(), output.bytes));
    }

    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let (Action::Http(request), Some(codec)) = (&ask.step.action, &mut self.codec) else {
            return Err("a step of another protocol".into());
        };
        let draft = Draft::of(request, ask);
        let stream = with_request(&draft, &mut ask.scope, |request| codec.request(request, output.bytes))?
            .map_err(|reason| format!("not sent: {reason}"))?;
        // Ids only grow.
        self.exchanges.push((stream, Exchange::of(ask, output)));
        Ok(Begun::Waiting)
    }

    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let Http2 { codec: Some(codec), exchanges } = self else { return Ok(bytes.len()) };
        let Output { bytes: out, done, spare, .. } = output;
        let mut sink = |stream: StreamId, event: Event<'_>| hear(exchanges, stream, &event, done, spare);
        let used = codec.received(bytes, out, &mut sink).map_err(malformed)?;
        if !codec.is_reusable() && exchanges.is_empty() {
            match done.last_mut() {
                // The driver closes it with this one.
                Some(last) => last.reusable = false,
                None => return Err("goaway".into()),
            }
        }
        Ok(used)
    }

    fn ended(&mut self, output: &mut Output<'_>) {
        let Http2 { codec: Some(codec), exchanges } = self else { return };
        let Output { done, spare, .. } = output;
        codec.ended(&mut |stream, event| hear(exchanges, stream, &event, done, spare));
    }

    fn abandon(&mut self, user: u32, output: &mut Output<'_>) -> bool {
        let at = self.exchanges.iter().position(|(_, exchange)| exchange.user == user);
        if let (Some(at), Some(codec)) = (at, &mut self.codec) {
            let (stream, exchange) = self.exchanges.remove(at);
            codec.reset(stream, output.bytes);
            output.put_back(Some(exchange.reply));
        }
        self.takes_more() || !self.exchanges.is_empty()
    }
}

/// Hands an event of a stream to the exchange on it.
fn hear(
    exchanges: &mut Vec<(StreamId, Exchange)>,
    stream: StreamId,
    event: &Event<'_>,
    done: &mut Vec<Done>,
    spare: &mut Vec<crate::engine::reply::Reply>,
) {
    // One that was given up, or the connection itself.
    let Ok(at) = exchanges.binary_search_by_key(&stream, |(stream, _)| *stream) else { return };
    let again = matches!(event, Event::Reset { processed: Processed::No, .. });
    let failure = match event {
        Event::Reset { code, processed: Processed::No } if *code != REFUSED_STREAM => Failure::from("goaway"),
        Event::Reset { code, .. } => format!("reset: {}", stadium_http_client::h2::code_name(*code)).into(),
        Event::Malformed(reason) => malformed(*reason),
        Event::Body(bytes) => {
            let (_, exchange) = &mut exchanges[at];
            exchange.reply.bytes_in += bytes.len() as u64;
            exchange.hear(event);
            return;
        }
        Event::Head(head) => {
            let (_, exchange) = &mut exchanges[at];
            let lines = head.headers.iter().map(|header| (header.name.len() + header.value.len()) as u64);
            exchange.reply.bytes_in += lines.sum::<u64>();
            exchange.hear(event);
            return;
        }
        event => {
            if exchanges[at].1.hear(event).is_some() {
                let (_, exchange) = exchanges.remove(at);
                done.push(Done::of(exchange.user, exchange.result(), true));
            }
            return;
        }
    };
    let (_, mut exchange) = exchanges.remove(at);
    done.push(Done { again, ..Done::of(exchange.user, Err(failure), true) });
    exchange.reply.clear();
    spare.push(exchange.reply);
}
