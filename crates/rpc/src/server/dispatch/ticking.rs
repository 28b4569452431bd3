//! Ticking streams: opened by a request, then written whenever they are due.
//!
//! They have no future and no place among the calls under way: [`Tickers`](crate::server::tickers::Tickers)
//! knows when each is due, and its function what it sends. A stream without credit, or whose
//! connection takes no more, waits there.

use stadium_rsocket::connection::{Connection, SendError, Tag};
use stadium_rsocket::frame::Completes;

use super::failures::{failure_text, panicked, too_large};
use super::{Core, Request};
use crate::server::tickers::Ticker;
use crate::service::{Call, Next, Outcome};

/// Set in the tag of a ticking stream.
pub(super) const TICKER: u32 = 1 << 31;

/// A ticking stream that is further behind than this skips what it missed, in milliseconds.
const STALE_MS: u64 = 10_000;

impl Core {
    pub(super) fn open_ticking(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        place: u16,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) {
        let function =
            self.ticking[usize::from(place)].as_mut().expect("each loop has its ticking functions");
        let open = std::panic::AssertUnwindSafe(|| function.open(call, request.data));
        let opened = std::panic::catch_unwind(open).unwrap_or_else(|_| {
            tracing::error!(route = call.route, "A ticking function panicked");
            Err(panicked())
        });
        match opened {
            Ok((stream_place, first)) => {
                let due_ms = request.now_ms + first.as_millis() as u64;
                let index =
                    self.tickers.open(request.connection, request.stream, place, stream_place, due_ms);
                connection.set_tag(request.stream, Tag(TICKER | index));
            }
            Err(failure) => self.decline(connection, request, place, &failure, out),
        }
    }

    /// Sends what is due on one connection's ticking streams.
    pub(crate) fn tick(&mut self, connection: &mut Connection, due: &[u32], now_ms: u64, out: &mut Vec<u8>) {
        // The streams' memory is in no cache since their last messages. Here the processor waits for all
        // of it together; from message to message it would wait for each.
        connection.prefetch(due.iter().filter_map(|&index| Some(self.tickers.at(index)?.stream)));
        let mut messages = 0;
        for index in due {
            let Some(&Ticker { stream, method, place, due_ms, .. }) = self.tickers.at(*index) else {
                continue;
            };
            let function = self.ticking[usize::from(method)].as_mut().expect("it opened the stream");
            let mut next = Next::Last;
            let encode = |out: &mut Vec<u8>| {
                next = function.tick(place);
                function.encode(out);
            };
            let start = out.len();
            let payload = || connection.payload(stream, Completes::No, None, encode, out);
            // The connection changes nothing before the message is encoded.
            let Ok(sent) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(payload)) else {
                tracing::error!(stream = stream.0, "A ticking function panicked");
                out.truncate(start);
                let (code, text) = failure_text(&panicked());
                let _ = connection.error(stream, code, &text, out);
                self.end_ticker(*index, Outcome::Failed);
                continue;
            };
            match sent {
                Ok(()) => {
                    messages += 1;
                    if let Next::After(after) = next {
                        // Those that fell behind by more than their period go on from now.
                        let next_ms = due_ms + (after.as_millis() as u64).max(1);
                        self.tickers
                            .again(*index, if next_ms + STALE_MS < now_ms { now_ms } else { next_ms });
                    } else {
                        let _ = connection.complete(stream, out);
                        self.end_ticker(*index, Outcome::Ok);
                    }
                }
                Err(SendError::NoCredit) => self.tickers.wait(*index),
                Err(_) => {
                    let (code, text) = failure_text(&too_large());
                    let _ = connection.error(stream, code, &text, out);
                    self.end_ticker(*index, Outcome::Failed);
                }
            }
        }
        self.counts.messages.add(messages);
    }

    /// What is due there must wait for a slow reader.
    pub(crate) fn hold(&mut self, due: &[u32]) {
        due.iter().for_each(|&index| self.tickers.wait(index));
    }

    pub(super) fn end_ticker(&mut self, index: u32, outcome: Outcome) {
        if let Some((method, place)) = self.tickers.close(index) {
            if let Some(function) = &mut self.ticking[usize::from(method)] {
                function.close(place);
            }
            self.count(method, outcome);
        }
    }
}
