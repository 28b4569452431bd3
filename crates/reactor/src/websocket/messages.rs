//! Messages with boundaries: one binary WebSocket message for each of the handler's, which on its
//! side stands behind three bytes of length, as it would on TCP.
//!
//! A message in one frame goes on to the handler as it arrives, because its header states its
//! length. One in fragments is reassembled until its last, and that is all that is ever held. What
//! the handler writes is cut at its lengths; a message of which a turn has only a part leaves as a
//! fragment, so that nothing waits for its rest and a pong may come between.

use super::{Masks, Role, apply_mask, close_code, opcode, write_header};

/// The largest length that three bytes can hold.
pub(super) const LENGTH_MAX: u64 = 0xff_ffff;
const PREFIX: usize = 3;

/// The state of both directions.
#[derive(Default)]
pub(super) struct Messages {
    /// The message whose fragments are coming.
    pub(super) reassembled: Vec<u8>,
    outgoing: Outgoing,
}

/// Where the handler's bytes stand.
#[derive(Default)]
struct Outgoing {
    /// The next message's length as far as it was written, three bytes at most.
    prefix: [u8; PREFIX],
    prefix_length: usize,
    /// Bytes of the current message that are still to be written.
    left: usize,
    /// A fragment of the current message has left.
    begun: bool,
}

impl Messages {
    /// A data frame begins. Puts the prefix of a whole message, and refuses what would be too long.
    pub(super) fn frame_begins(
        &mut self,
        whole: bool,
        length: u64,
        longest: Longest,
        out: &mut Vec<u8>,
    ) -> Result<(), u16> {
        let message = if whole { length } else { self.reassembled.len() as u64 + length };
        if message > longest.message.min(LENGTH_MAX) || (!whole && message > longest.reassembled) {
            return Err(close_code::TOO_BIG);
        }
        if whole {
            out.extend_from_slice(&prefix_of(length as usize));
        }
        Ok(())
    }

    /// Payload of a data frame.
    pub(super) fn receive(&mut self, whole: bool, bytes: &[u8], out: &mut Vec<u8>) {
        if whole {
            out.extend_from_slice(bytes);
        } else {
            self.reassembled.extend_from_slice(bytes);
        }
    }

    /// A message's last frame has ended.
    pub(super) fn message_ends(&mut self, whole: bool, out: &mut Vec<u8>) {
        if !whole {
            let reassembled = std::mem::take(&mut self.reassembled);
            out.extend_from_slice(&prefix_of(reassembled.len()));
            out.extend_from_slice(&reassembled);
        }
    }

    /// Starts to write `available` bytes of the handler, all of which are then given to the writer.
    pub(super) fn writer<'a>(
        &'a mut self,
        role: Role,
        available: usize,
        out: &'a mut Vec<u8>,
        masks: &'a mut Masks,
    ) -> MessageWriter<'a> {
        MessageWriter {
            outgoing: &mut self.outgoing,
            role,
            available,
            out,
            masks,
            frame_left: 0,
            frame_start: 0,
            mask: None,
        }
    }
}

/// What a message may be, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Longest {
    pub(super) message: u64,
    /// Of one in fragments.
    pub(super) reassembled: u64,
}

fn prefix_of(length: usize) -> [u8; PREFIX] {
    // Checked against LENGTH_MAX when its frame began, so the highest bytes are zero.
    let [.., high, middle, low] = (length as u64).to_be_bytes();
    [high, middle, low]
}

/// Cuts what one turn has for a connection into frames.
pub(super) struct MessageWriter<'a> {
    outgoing: &'a mut Outgoing,
    role: Role,
    /// Bytes of this turn that are not written yet.
    available: usize,
    out: &'a mut Vec<u8>,
    masks: &'a mut Masks,
    /// Bytes that the current frame still lacks; zero between frames.
    frame_left: usize,
    frame_start: usize,
    mask: Option<[u8; 4]>,
}

impl MessageWriter<'_> {
    /// The next bytes, cut anywhere.
    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let used = if self.frame_left > 0 {
                self.write_payload(bytes)
            } else if self.outgoing.left > 0 {
                self.begin_frame();
                0
            } else {
                self.read_prefix(bytes)
            };
            bytes = &bytes[used..];
            self.available -= used;
        }
    }

    fn read_prefix(&mut self, bytes: &[u8]) -> usize {
        let outgoing = &mut *self.outgoing;
        let have = outgoing.prefix_length;
        let count = bytes.len().min(PREFIX - have);
        outgoing.prefix[have..have + count].copy_from_slice(&bytes[..count]);
        outgoing.prefix_length += count;
        if outgoing.prefix_length == PREFIX {
            let [high, middle, low] = outgoing.prefix;
            *outgoing =
                Outgoing { left: u32::from_be_bytes([0, high, middle, low]) as usize, ..Outgoing::default() };
            if outgoing.left == 0 {
                write_header(self.role, 0x80 | opcode::BINARY, 0, self.out, self.masks);
            }
        }
        count
    }

    /// Some of the message is there: a frame of as much of it as this turn has.
    fn begin_frame(&mut self) {
        let outgoing = &mut *self.outgoing;
        self.frame_left = outgoing.left.min(self.available);
        outgoing.left -= self.frame_left;
        let kind = if outgoing.begun { opcode::CONTINUATION } else { opcode::BINARY };
        let last = if outgoing.left == 0 { 0x80 } else { 0 };
        outgoing.begun = outgoing.left > 0;
        self.mask = write_header(self.role, last | kind, self.frame_left, self.out, self.masks);
        self.frame_start = self.out.len();
    }

    fn write_payload(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.frame_left);
        self.out.extend_from_slice(&bytes[..count]);
        self.frame_left -= count;
        if self.frame_left == 0
            && let Some(mask) = self.mask
        {
            apply_mask(mask, 0, &mut self.out[self.frame_start..]);
        }
        count
    }
}

#[cfg(test)]
mod tests;
