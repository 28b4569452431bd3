//! Messages that came while nobody waited, for the next step that receives.

use std::collections::VecDeque;

use crate::engine::reply::Reply;

/// Bytes of messages that are kept; beyond, the oldest are forgotten. One that is longer is kept alone.
///
/// Ten thousand users who only listen hold 640 MB at worst.
const BYTES_MAX: usize = 64 * 1024;
/// Messages that are kept.
const MESSAGES_MAX: usize = 4096;

/// Messages in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: VecDeque<u8>,
    lengths: VecDeque<usize>,
}

impl Inbox {
    pub(super) fn push(&mut self, message: &[u8]) {
        while self.lengths.len() == MESSAGES_MAX
            || (!self.lengths.is_empty() && self.bytes.len() + message.len() > BYTES_MAX)
        {
            self.forget_oldest();
        }
        self.bytes.extend(message);
        self.lengths.push_back(message.len());
    }

    /// Takes so many messages, the last of them into the reply where it `keeps_body`. Returns how many were not there.
    pub(super) fn take(&mut self, count: u32, keeps_body: bool, reply: &mut Reply) -> u32 {
        let mut missing = count;
        while missing > 0 {
            let Some(&length) = self.lengths.front() else { break };
            missing -= 1;
            reply.bytes_in += length as u64;
            if missing == 0 && keeps_body {
                reply.body.extend(self.bytes.range(..length));
            }
            self.forget_oldest();
        }
        missing
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    fn forget_oldest(&mut self) {
        if let Some(length) = self.lengths.pop_front() {
            self.bytes.drain(..length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_kept_until_they_are_asked_for() {
        let mut inbox = Inbox::default();
        ["a", "bc", "", "def"].iter().for_each(|text| inbox.push(text.as_bytes()));
        let mut reply = Reply::default();
        assert_eq!(inbox.take(2, true, &mut reply), 0);
        assert_eq!((&reply.body[..], reply.bytes_in), (&b"bc"[..], 3));
        reply.clear();
        assert_eq!(inbox.take(4, true, &mut reply), 2, "two more are to come");
        assert_eq!((&reply.body[..], reply.bytes_in), (&b""[..], 3), "and the last is not there yet");
    }

    #[test]
    fn the_oldest_are_forgotten_where_there_are_too_many() {
        let mut inbox = Inbox::default();
        (0..=MESSAGES_MAX).for_each(|number| inbox.push(number.to_string().as_bytes()));
        let mut reply = Reply::default();
        inbox.take(1, true, &mut reply);
        assert_eq!(reply.body, b"1");
        inbox.push(&[7; 2 * BYTES_MAX]);
        assert_eq!((inbox.lengths.len(), inbox.bytes.len()), (1, 2 * BYTES_MAX));
        inbox.push(b"short");
        assert_eq!((inbox.lengths.len(), inbox.bytes.len()), (1, 5));
    }
}
