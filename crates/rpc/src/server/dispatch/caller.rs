//! The frames of a caller about a stream that it has opened, and the end of its connection.
//!
//! A stream's tag is its call's place, or a ticking stream's. A tag is only heard of while the connection holds
//! its stream, so the place is the caller's own.

use stadium_reactor::ConnectionId;
use stadium_rsocket::connection::{Payload, Tag};
use stadium_rsocket::frame::{Completes, More};

use super::Core;
use super::ticking::TICKER;
use crate::server::work::{Kind, Pieces, Work};
use crate::service::Outcome;

impl Core {
    /// The caller wants no more of a stream, or has gone.
    pub(crate) fn cancelled(&mut self, tag: Tag) {
        if tag.0 & TICKER != 0 {
            self.end_ticker(tag.0 & !TICKER, Outcome::Cancelled);
            return;
        }
        if let Some(work) = self.works.remove(tag.0) {
            if let Kind::Future(running) = &work.kind
                && let Some(outbound) = &running.outbound
            {
                outbound.disconnect();
            }
            self.ended(work, Outcome::Cancelled);
        }
    }

    /// The caller of a channel goes on sending, and wants no more itself.
    pub(crate) fn unwanted(&mut self, tag: Tag) {
        if tag.0 & TICKER == 0
            && let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(outbound) = &running.outbound
        {
            outbound.disconnect();
        }
    }

    /// The caller takes more messages.
    pub(crate) fn credit(&mut self, tag: Tag, n: u32) {
        if tag.0 & TICKER != 0 {
            self.tickers.release(tag.0 & !TICKER);
        } else if let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(outbound) = &running.outbound
        {
            outbound.add_credit(n);
        }
    }

    /// A channel's next request.
    pub(crate) fn inbound(&mut self, tag: Tag, payload: Option<&Payload<'_>>, completes: Completes) {
        if tag.0 & TICKER == 0
            && let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(inbound) = &running.inbound
        {
            if let Some(payload) = payload {
                inbound.push(payload.data.to_vec());
            }
            if completes == Completes::Yes {
                inbound.end();
            }
        }
    }

    /// A piece of an upload. Whether its function has fallen so far behind that its caller should wait.
    pub(crate) fn piece(&mut self, tag: Tag, data: &[u8], more: More) -> bool {
        if tag.0 & TICKER == 0
            && let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0)
            && let Some(Pieces::In(upload)) = &running.pieces
        {
            let falls_behind = upload.push(data);
            if more == More::Whole {
                upload.end();
            }
            return falls_behind;
        }
        false
    }

    /// The connection can be written again.
    pub(crate) fn writable(&mut self, tag: Tag) {
        if tag.0 & TICKER != 0 {
            self.tickers.release(tag.0 & !TICKER);
        } else if let Some(Work { kind: Kind::Future(running), .. }) = self.works.at(tag.0) {
            running.wake();
        }
    }

    /// Whether a stream with that tag is of that connection, where the connection itself may have gone.
    pub(crate) fn is_of(&mut self, tag: Tag, connection: ConnectionId) -> bool {
        // Nobody but its caller ends a ticking stream whose connection has gone.
        tag.0 & TICKER != 0 || self.works.at(tag.0).is_some_and(|work| work.connection == connection)
    }

    /// A session has another socket: its calls and streams go there.
    pub(crate) fn move_to(&mut self, old: ConnectionId, new: ConnectionId) {
        self.works.move_to(old, new);
        self.tickers.move_to(old, new);
    }
}
