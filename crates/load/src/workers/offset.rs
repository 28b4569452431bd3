//! How far a worker's clock is from the coordinator's: four time stamps, as NTP has them.
//!
//! ```text
//! coordinator  asked ----.                 .---> answered
//!                         \               /
//! worker                   '-> received --'  sent
//! ```
//!
//! RFC 5905, section 8. Of many exchanges the one with the shortest way counts: what delays one of its two halves is
//! what makes an offset wrong, and the shortest has the least of it. Both clocks are monotonic.

/// One exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// When the coordinator asked, by its own clock, in nanoseconds.
    pub(crate) asked_ns: u64,
    /// When the worker saw that, by its clock.
    pub(crate) received_ns: u64,
    /// When its answer left, by its clock.
    pub(crate) sent_ns: u64,
    /// When the coordinator had the answer, by its own clock.
    pub(crate) answered_ns: u64,
}

/// The result of exchanges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The worker's clock less the coordinator's, in nanoseconds.
    pub(crate) ns: i64,
    /// How far that may be off: half of the way that is unaccounted for, in nanoseconds.
    pub(crate) error_ns: u64,
}

impl Exchange {
    /// The time that it was on its way, both halves.
    fn way_ns(&self) -> u64 {
        let whole = self.answered_ns.saturating_sub(self.asked_ns);
        whole.saturating_sub(self.sent_ns.saturating_sub(self.received_ns))
    }

    fn offset(&self) -> Offset {
        let out = difference(self.received_ns, self.asked_ns);
        let back = difference(self.sent_ns, self.answered_ns);
        let ns = i64::try_from((out + back) / 2).unwrap_or(if out < 0 { i64::MIN } else { i64::MAX });
        Offset { ns, error_ns: self.way_ns() / 2 }
    }
}

impl Offset {
    /// The result of the shortest of these exchanges; `None` of none.
    pub(crate) fn of(exchanges: &[Exchange]) -> Option<Offset> {
        exchanges.iter().min_by_key(|exchange| exchange.way_ns()).map(Exchange::offset)
    }

    /// A time of the coordinator's clock by the worker's.
    pub(crate) fn there_ns(&self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ns)
    }
}

fn difference(one: u64, other: u64) -> i128 {
    i128::from(one) - i128::from(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(asked_ns: u64, out_ns: u64, back_ns: u64, ahead_ns: i64) -> Exchange {
        let received_ns = (asked_ns + out_ns).saturating_add_signed(ahead_ns);
        let sent_ns = received_ns + 10;
        Exchange { asked_ns, received_ns, sent_ns, answered_ns: asked_ns + out_ns + 10 + back_ns }
    }

    #[test]
    fn an_even_way_gives_the_exact_offset() {
        for ahead_ns in [0, 5_000_000_000, -700_000] {
            let offset = Offset::of(&[exchange(1_000_000_000, 200, 200, ahead_ns)]).expect("one exchange");
            assert_eq!(offset, Offset { ns: ahead_ns, error_ns: 200 });
            assert_eq!(offset.there_ns(2_000_000_000), 2_000_000_000_u64.saturating_add_signed(ahead_ns));
        }
    }

    #[test]
    fn the_shortest_exchange_counts_and_its_error_holds_the_truth() {
        let exchanges = [
            exchange(0, 90_000, 400, 1_000),
            exchange(1_000, 300, 500, 1_000),
            exchange(2_000, 400, 70_000, 1_000),
        ];
        let offset = Offset::of(&exchanges).expect("there are exchanges");
        assert_eq!(offset, Offset { ns: 900, error_ns: 400 });
        assert!(offset.ns.abs_diff(1_000) <= offset.error_ns);
        assert_eq!(Offset::of(&[]), None);
    }

    #[test]
    fn stamps_that_make_no_sense_do_no_harm() {
        let wild = Exchange { asked_ns: u64::MAX, received_ns: 0, sent_ns: u64::MAX, answered_ns: 0 };
        assert!(Offset::of(&[wild]).is_some());
    }
}
