//! Calls whose request or answer goes in pieces.
//!
//! An upload's pieces are taken from its caller as the connection takes them; a download's are kept for its caller up
//! to a bound, beyond which the connection is not read. Neither is made again: what has gone is gone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stadium_reactor::{ConnectionId, Io};
use stadium_rsocket::connection::{Connection, Piece, Tag};
use stadium_rsocket::frame::{Completes, More};

use super::client_loop::ClientLoop;
use super::completion::Completion;
use super::item::Item;
use super::slot::of_tag;
use crate::answer::CallError;
use crate::balance::Outcome;

/// Bytes that an upload puts into one turn. The next ones follow when these have left.
const TURN_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a download that its caller has not taken, beyond which the connection is not read, with all that is on
/// it. What the kernel holds comes on top.
const BEHIND_BYTES_MAX: usize = 1024 * 1024;

/// What a call transfers beside messages.
pub(crate) enum Transfer {
    /// Its request comes from here.
    Upload(Upload),
    /// Its answer goes to a receiver piece by piece. Names the connection that is not read because of it.
    Download { behind: Option<ConnectionId> },
}

/// The pieces of an upload.
pub(crate) struct Upload {
    pieces: Box<dyn Iterator<Item = Vec<u8>> + Send>,
    piece: Vec<u8>,
    sent: usize,
    pub(crate) is_over: bool,
}

/// What gives an upload's pieces panicked: the call ends, and others go on.
struct Panicked;

impl Upload {
    pub(crate) fn new(pieces: Box<dyn Iterator<Item = Vec<u8>> + Send>) -> Self {
        Self { pieces, piece: Vec::new(), sent: 0, is_over: false }
    }

    /// Sends as much as a turn takes.
    fn send(
        &mut self,
        connection: &mut Connection,
        stream: stadium_rsocket::frame::StreamId,
        out: &mut Vec<u8>,
    ) -> Result<(), Panicked> {
        let (start, most) = (out.len(), connection.piece_bytes_max());
        while !self.is_over && out.len() - start < TURN_BYTES_MAX {
            if self.sent == self.piece.len() {
                self.sent = 0;
                match catch_unwind(AssertUnwindSafe(|| self.pieces.next())) {
                    Err(_) => {
                        tracing::error!("An upload's pieces panicked");
                        self.is_over = true;
                        return Err(Panicked);
                    }
                    Ok(Some(piece)) => self.piece = piece,
                    Ok(None) => {
                        let last =
                            Piece { metadata: None, data: &[], more: More::Whole, completes: Completes::Yes };
                        // Where the stream has ended its end is on its way here.
                        let _ = connection.piece(stream, last, out);
                        self.is_over = true;
                        self.piece = Vec::new();
                        return Ok(());
                    }
                }
            }
            let end = self.piece.len().min(self.sent + most);
            let data = &self.piece[self.sent..end];
            let piece = Piece { metadata: None, data, more: More::Follows, completes: Completes::No };
            if !data.is_empty() && connection.piece(stream, piece, out).is_err() {
                self.is_over = true;
                return Ok(());
            }
            self.sent = end;
        }
        Ok(())
    }
}

impl ClientLoop {
    /// Sends on what uploads have, where their connections have taken the last of it.
    pub(super) fn send_uploads(&mut self, io: &mut Io<Item>) {
        let mut uploads = std::mem::take(&mut self.uploads);
        uploads.retain(|(place, serial)| {
            let Some(slot) = self.slots.find(*place, *serial) else { return false };
            let (Some(attempt), Some(Transfer::Upload(upload))) = (slot.first, slot.transfer_mut()) else {
                return false;
            };
            if self.links.takes_more(io, attempt.connection) {
                let sent = self.links.write(io, attempt.connection, |connection, out| {
                    upload.send(connection, attempt.stream, out)
                });
                if let Some(Err(Panicked)) = sent {
                    self.cancels.push((attempt.connection, attempt.stream));
                    self.failed.push((*place, 0, Outcome::Cancelled, CallError::Cancelled));
                }
            }
            !upload.is_over
        });
        self.uploads = uploads;
    }

    /// Whether an upload can go on at once.
    pub(super) fn has_uploads_to_send(&mut self, io: &Io<Item>) -> bool {
        let (slots, links) = (&mut self.slots, &mut self.links);
        self.uploads.iter().any(|(place, serial)| {
            let attempt = slots.find(*place, *serial).and_then(|slot| slot.first);
            attempt.is_some_and(|attempt| links.takes_more(io, attempt.connection))
        })
    }

    /// A download's next piece, or its last.
    pub(super) fn piece(&mut self, now_us: u64, tag: Tag, data: &[u8], more: More) {
        let (place, which) = of_tag(tag);
        let slot = self.slots.at(place);
        let Some(attempt) = *slot.attempt(which) else { return };
        let Some(Transfer::Download { behind }) = slot.transfer.as_deref_mut() else { return };
        if let Completion::Stream(items) = &slot.completion
            && !data.is_empty()
        {
            items.0.push(data);
            if behind.is_none() && items.0.bytes() > BEHIND_BYTES_MAX {
                *behind = Some(attempt.connection);
                if let Some(link) = self.links.at(attempt.connection) {
                    link.behind += 1;
                }
            }
        }
        if more == More::Whole {
            *slot.attempt(which) = None;
            let one = &mut self.services[usize::from(slot.service)];
            // Its duration shows how large it was, not how its instance is.
            let lasted_us = now_us.saturating_sub(attempt.sent_us);
            one.balancer.stream_ended(attempt.instance, Outcome::Ok, lasted_us, now_us);
            self.end(place, Ok(()), &[]);
        }
    }

    /// A download's receiver has taken a piece. Whether it is a download.
    pub(super) fn piece_taken(&mut self, io: &mut Io<Item>, place: u32) -> bool {
        let slot = self.slots.at(place);
        if !slot.transfers {
            return false;
        }
        let Some(Transfer::Download { behind }) = slot.transfer.as_deref_mut() else { return false };
        if let Completion::Stream(items) = &slot.completion
            && items.0.bytes() < BEHIND_BYTES_MAX / 2
            && let Some(id) = behind.take()
        {
            self.read_on(io, id);
        }
        true
    }

    /// A connection has one reason less not to be read.
    pub(super) fn read_on(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        if let Some(link) = self.links.at(id) {
            link.behind = link.behind.saturating_sub(1);
            if link.behind == 0 {
                io.resume(id);
            }
        }
    }
}
