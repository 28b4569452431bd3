//! Refused clients in the log: a few lines a second, then a count of what was left out.
//!
//! A fleet with a wrong password, or somebody who guesses, refuses thousands of connections a second. The
//! first few of each second are logged one by one with their reason; the rest is one line when the second is over.

/// Lines that one loop writes about refused clients in a second. An operator who looks for the reason reads
/// the first few; 64 loops at the bound write 320 lines a second.
const LINES_PER_SECOND: u32 = 5;

/// The time that lines are counted for.
const WINDOW_MS: u64 = 1_000;

/// Bytes of a client id that a line shows: a client may name itself with 65,535.
const SHOWN_BYTES_MAX: usize = 128;

/// How many lines a loop has written about refused clients.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// When the current second ends, in the node's milliseconds.
    until_ms: u64,
    lines: u32,
    left_out: u64,
}

impl Refusals {
    /// One more was refused: whether it is to have a line of its own.
    pub(crate) fn count(&mut self, now_ms: u64) -> bool {
        self.settle(now_ms);
        if now_ms >= self.until_ms {
            self.until_ms = now_ms + WINDOW_MS;
            self.lines = 0;
        }
        if self.lines < LINES_PER_SECOND {
            self.lines += 1;
            return true;
        }
        self.left_out += 1;
        false
    }

    /// Reports what was left out of a second that is over.
    pub(crate) fn settle(&mut self, now_ms: u64) {
        if let Some(left_out) = self.take_left_out(now_ms) {
            tracing::warn!(refused = left_out, "More clients were refused than the log shows");
        }
    }

    /// When [`Self::settle`] has something to report.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        (self.left_out > 0).then_some(self.until_ms)
    }

    fn take_left_out(&mut self, now_ms: u64) -> Option<u64> {
        if self.left_out == 0 || now_ms < self.until_ms {
            return None;
        }
        Some(std::mem::take(&mut self.left_out))
    }
}

/// The part of a client's text that a log line shows.
pub(crate) fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_a_few_lines_and_a_count_of_the_rest() {
        let mut refusals = Refusals::default();
        let lines = (0..1_000).filter(|_| refusals.count(10_000)).count();
        assert_eq!(lines, LINES_PER_SECOND as usize);
        assert_eq!(refusals.due_ms(), Some(11_000));
        assert_eq!(refusals.take_left_out(10_999), None);
        assert_eq!(refusals.take_left_out(11_000), Some(1_000 - u64::from(LINES_PER_SECOND)));
        assert_eq!((refusals.due_ms(), refusals.take_left_out(11_000)), (None, None));
        assert!(refusals.count(11_000), "the next second has lines of its own");
    }

    #[test]
    fn a_name_is_shown_up_to_a_whole_character() {
        assert_eq!(shown("phone-7"), "phone-7");
        assert_eq!(shown(&"\u{20AC}".repeat(100)).len(), 126);
    }
}
