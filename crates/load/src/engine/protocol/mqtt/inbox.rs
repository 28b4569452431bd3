//! Messages that came before the step that receives them.
//!
//! Their number is exact whatever their size. Of their payloads the newest are kept, and only where a step of the scenario
//! looks at them. Nothing is allocated for a message once the inbox is warm.

use std::collections::VecDeque;

/// What becomes of messages that no step has received yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unread {
    /// No step of the scenario receives any.
    #[default]
    Dropped,
    /// Steps count them.
    Counted,
    /// Steps look at them.
    Kept,
}

/// Payloads that a connection keeps; of older ones only the number is known, and their step sees an empty body.
const MESSAGES_MAX: usize = 1024;
/// Bytes of payloads that a connection keeps. Users are many: at 10,000 of them this is 640 MB at worst.
const BYTES_MAX: usize = 64 * 1024;

/// Messages that no step has received yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    unread: Unread,
    count: u32,
    /// Lengths of the newest payloads.
    lengths: VecDeque<u32>,
    /// Those payloads, one after the other.
    bytes: VecDeque<u8>,
}

impl Inbox {
    pub(super) fn new(unread: Unread) -> Self {
        Inbox { unread, ..Inbox::default() }
    }

    /// A message came that nobody waits for.
    pub(super) fn keep(&mut self, payload: &[u8]) {
        if self.unread == Unread::Dropped {
            return;
        }
        self.count = self.count.saturating_add(1);
        if self.unread == Unread::Counted {
            return;
        }
        if payload.len() > BYTES_MAX {
            // Its older neighbours go with it: what is kept are always the newest.
            self.lengths.clear();
            self.bytes.clear();
            return;
        }
        self.bytes.extend(payload);
        self.lengths.push_back(payload.len() as u32);
        while self.bytes.len() > BYTES_MAX || self.lengths.len() > MESSAGES_MAX {
            let Some(length) = self.lengths.pop_front() else { return };
            self.bytes.drain(..length as usize);
        }
    }

    /// Takes up to so many, oldest first, and puts the last one's payload into `body`. Returns how many there were.
    pub(super) fn take(&mut self, wanted: u32, body: Option<&mut Vec<u8>>) -> u32 {
        let taken = wanted.min(self.count);
        let mut body = body.filter(|_| taken == wanted);
        for number in 1..=taken {
            let is_kept = self.count as usize <= self.lengths.len();
            self.count -= 1;
            let Some(length) = self.lengths.front().copied().filter(|_| is_kept) else { continue };
            self.lengths.pop_front();
            let payload = self.bytes.drain(..length as usize);
            if let Some(body) = body.as_mut().filter(|_| number == wanted) {
                body.extend(payload);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(inbox: &mut Inbox, wanted: u32) -> (u32, String) {
        let mut body = Vec::new();
        let count = inbox.take(wanted, Some(&mut body));
        (count, String::from_utf8(body).unwrap())
    }

    #[test]
    fn messages_come_out_in_their_order() {
        let mut inbox = Inbox::new(Unread::Kept);
        for payload in ["one", "", "three", "four"] {
            inbox.keep(payload.as_bytes());
        }
        assert_eq!(taken(&mut inbox, 1), (1, "one".to_owned()));
        assert_eq!(taken(&mut inbox, 2), (2, "three".to_owned()), "the last one's payload");
        assert_eq!(taken(&mut inbox, 3), (1, String::new()), "what is still to come has it");
        assert_eq!(taken(&mut inbox, 1), (0, String::new()));
    }

    #[test]
    fn the_number_is_exact_where_payloads_are_too_many_or_too_large() {
        let mut inbox = Inbox::new(Unread::Kept);
        for number in 0..MESSAGES_MAX + 2 {
            inbox.keep(number.to_string().as_bytes());
        }
        assert_eq!(taken(&mut inbox, 2), (2, String::new()), "their payloads had to go");
        assert_eq!(taken(&mut inbox, 1), (1, "2".to_owned()));
        inbox.keep(&vec![b'x'; BYTES_MAX + 1]);
        inbox.keep(b"last");
        assert!(inbox.bytes.len() <= BYTES_MAX);
        assert_eq!(taken(&mut inbox, MESSAGES_MAX as u32 + 1), (MESSAGES_MAX as u32 + 1, "last".to_owned()));
    }

    #[test]
    fn only_what_is_asked_for_is_kept() {
        let mut inbox = Inbox::new(Unread::Counted);
        inbox.keep(b"one");
        assert!(inbox.bytes.is_empty());
        assert_eq!(inbox.take(5, None), 1);
        let mut inbox = Inbox::new(Unread::Dropped);
        inbox.keep(b"one");
        assert_eq!(inbox.take(1, None), 0);
    }
}
