//! Which messages of a stream one device has: losses and duplicates in twelve bytes.
//!
//! A window of 64 numbers ends at the highest one seen. A number that leaves it without having been seen is lost;
//! one that comes twice within it is a duplicate; one that comes after it left is a duplicate too.

/// What a device knows of the stream it follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// Bit k: `highest - k` was seen. Zero where the next number begins a new count.
    seen: u64,
    highest: u32,
}

/// The meaning of a number for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Never before. So many others left the window unseen.
    New { lost: u32 },
    /// The first after a time away without a session, in which so many were sent.
    Rejoined { missed: u32 },
    /// Before.
    Again,
}

impl Window {
    pub(crate) fn hear(&mut self, sequence: u32) -> Heard {
        if self.seen == 0 {
            let missed = match self.highest {
                0 => 0,
                highest => sequence.saturating_sub(highest.saturating_add(1)),
            };
            // What came before the first message is nobody's loss.
            *self = Window { seen: u64::MAX, highest: sequence };
            return Heard::Rejoined { missed };
        }
        if sequence > self.highest {
            let ahead = sequence - self.highest;
            let lost = self.shift(ahead);
            self.seen |= 1;
            self.highest = sequence;
            return Heard::New { lost };
        }
        let behind = self.highest - sequence;
        match 1_u64.checked_shl(behind) {
            Some(bit) if self.seen & bit == 0 => {
                self.seen |= bit;
                Heard::New { lost: 0 }
            }
            _ => Heard::Again,
        }
    }

    /// Moves the window. Returns how many leave it unseen.
    fn shift(&mut self, ahead: u32) -> u32 {
        if ahead < 64 {
            let leaving = self.seen >> (64 - ahead);
            self.seen <<= ahead;
            ahead - leaving.count_ones()
        } else {
            let unseen = self.seen.count_zeros();
            self.seen = 0;
            unseen + (ahead - 64)
        }
    }

    /// The device comes back without a session: what was sent meanwhile was not for it. Returns how
    /// many are lost of what came before.
    pub(crate) fn rejoin(&mut self) -> u32 {
        match self.seen {
            0 => 0,
            seen => {
                self.seen = 0;
                seen.count_zeros()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost_and_again(numbers: &[u32]) -> (u32, u32) {
        let mut window = Window::default();
        let (mut lost, mut again) = (0, 0);
        for &number in numbers {
            match window.hear(number) {
                Heard::New { lost: more } => lost += more,
                Heard::Again => again += 1,
                Heard::Rejoined { .. } => {}
            }
        }
        (lost + window.rejoin(), again)
    }

    #[test]
    fn losses_and_duplicates_are_counted() {
        let far: Vec<u32> = vec![1, 1_000];
        let table: [(&[u32], (u32, u32)); 8] = [
            (&[1, 2, 3], (0, 0)),
            (&[5, 6, 7], (0, 0)),
            (&[1, 3], (1, 0)),
            (&[1, 3, 2], (0, 0)),
            (&[1, 2, 2, 1], (0, 2)),
            (&[1, 70], (68, 0)),
            (&far, (998, 0)),
            (&[100, 200, 100], (99, 1)),
        ];
        for (numbers, expected) in table {
            assert_eq!(lost_and_again(numbers), expected, "{numbers:?}");
        }
    }

    #[test]
    fn every_number_is_either_heard_or_lost() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut numbers: Vec<u32> = (2..=500).filter(|_| random.u8(..) > 60).collect();
            // Out of order, but within the window.
            numbers.chunks_mut(10).for_each(|chunk| random.shuffle(chunk));
            numbers.insert(0, 1);
            let span = *numbers.iter().max().expect("one at least");
            let (lost, _) = lost_and_again(&numbers);
            assert_eq!(lost + numbers.len() as u32, span, "seed {seed}");
        }
    }

    #[test]
    fn messages_sent_while_away_are_no_loss() {
        let mut window = Window::default();
        window.hear(1);
        assert_eq!(window.rejoin(), 0);
        assert_eq!(window.hear(10), Heard::Rejoined { missed: 8 });
        assert_eq!(window.hear(11), Heard::New { lost: 0 });
    }
}
