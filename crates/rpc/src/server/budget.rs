//! What all connections of a server may cost together: their number, and the bytes of what is unfinished.
//!
//! Each loop reports what its connections hold of frames that have not come whole and of payloads whose last fragment
//! has not come. Where the sum is too much, the loop that holds most has to cut. The sum may be exceeded by what the
//! loops read in one turn.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The budget of a server.
#[derive(Debug)]
pub(crate) struct Budget {
    connections_max: usize,
    connections: AtomicUsize,
    bytes_max: usize,
    /// What each loop holds, in bytes.
    held: Box<[AtomicUsize]>,
}

/// What is to be done about the bytes that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Fits,
    /// This loop cuts connections that hold so many bytes together.
    Cut(usize),
    /// The loop with that number does.
    Elsewhere(usize),
}

impl Budget {
    pub(crate) fn new(loops: usize, connections_max: usize, bytes_max: usize) -> Self {
        Self {
            connections_max,
            connections: AtomicUsize::new(0),
            bytes_max,
            held: (0..loops).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    /// Whether another connection may come.
    pub(crate) fn has_room(&self) -> bool {
        self.connections.load(Ordering::Relaxed) < self.connections_max
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// A loop holds so many bytes now.
    pub(crate) fn report(&self, place: usize, bytes: usize) -> Verdict {
        self.held[place].store(bytes, Ordering::Relaxed);
        let (mut sum, mut most) = (0_usize, (bytes, place));
        for (place, held) in self.held.iter().enumerate() {
            let held = held.load(Ordering::Relaxed);
            sum = sum.saturating_add(held);
            if held > most.0 {
                most = (held, place);
            }
        }
        match sum.checked_sub(self.bytes_max) {
            None | Some(0) => Verdict::Fits,
            Some(over) if most.1 == place => Verdict::Cut(over),
            Some(_) => Verdict::Elsewhere(most.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_that_holds_most_has_to_cut() {
        let budget = Budget::new(3, 10, 100);
        assert_eq!(budget.report(0, 60), Verdict::Fits);
        assert_eq!(budget.report(1, 40), Verdict::Fits, "as much as may be");
        assert_eq!(budget.report(2, 5), Verdict::Elsewhere(0));
        assert_eq!(budget.report(0, 60), Verdict::Cut(5));
        assert_eq!(budget.report(0, 55), Verdict::Fits);
        assert_eq!(budget.report(1, 80), Verdict::Cut(40));
    }

    #[test]
    fn connections_are_counted() {
        let budget = Budget::new(1, 2, 0);
        for _ in 0..2 {
            assert!(budget.has_room());
            budget.connected();
        }
        assert!(!budget.has_room());
        budget.disconnected();
        assert!(budget.has_room());
    }
}
