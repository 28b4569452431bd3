//! What is on its way to other shards, in one sequence of numbers.
//!
//! A number is announced when its message is decided, sent when that is durable, and sent again
//! until its confirmation is durable too. The machine knows the messages.

use std::collections::BTreeSet;
use std::ops::Range;

use stadium_state_machine::{Milliseconds, Time};

/// The longest time until one that was refused is sent again.
pub(super) const AGAIN_MAX: Milliseconds = 10_000;

/// What is on its way.
pub(super) struct Outbox {
    /// After so long without a confirmation it is sent again: its receiver may have lost it by starting
    /// over, or the way to it.
    confirmed_within: Milliseconds,
    /// Those below are announced: they leave when they are durable.
    announced: u64,
    /// Those below were sent.
    sent: u64,
    /// Those below are confirmed, and that is announced: it is reported when it is durable.
    confirmed: u64,
    /// Those below are durably confirmed: they never leave again.
    done: u64,
    /// To be sent again.
    again: BTreeSet<(Time, u64)>,
    /// Those below this number were sent; those of them that are not confirmed at this time are
    /// sent again.
    watch: Option<(Time, u64)>,
}

/// What is to be sent again now.
pub(super) struct Due {
    numbers: BTreeSet<u64>,
    unanswered: Range<u64>,
}

impl Due {
    /// The lowest number; none where there is nothing.
    pub(super) fn first(&self) -> Option<u64> {
        let unanswered = (!self.unanswered.is_empty()).then_some(self.unanswered.start);
        [self.numbers.first().copied(), unanswered].into_iter().flatten().min()
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.unanswered.contains(&number) || self.numbers.contains(&number)
    }
}

impl Outbox {
    /// That of a machine that was just recovered: messages below `first` are done.
    pub(super) fn new(first: u64, confirmed_within: Milliseconds) -> Self {
        Self {
            confirmed_within,
            announced: 0,
            sent: 0,
            confirmed: first,
            done: first,
            again: BTreeSet::new(),
            watch: None,
        }
    }

    /// The machine's next number is known. Returns whether there are new ones.
    pub(super) fn announce(&mut self, next: u64) -> bool {
        let is_new = next > self.announced;
        self.announced = self.announced.max(next);
        is_new
    }

    /// The machine's lowest number that is not confirmed is known. Returns whether more are
    /// confirmed.
    pub(super) fn announce_confirmed(&mut self, first: u64) -> bool {
        let is_new = first > self.confirmed;
        self.confirmed = self.confirmed.max(first);
        is_new
    }

    /// Those below are durable: which ones leave now.
    pub(super) fn leave(&mut self, below: u64) -> Range<u64> {
        let from = std::mem::replace(&mut self.sent, below);
        from..below
    }

    /// Something was sent: it is looked at when it should be confirmed.
    pub(super) fn watch(&mut self, now: Time) {
        self.watch.get_or_insert((now.after(self.confirmed_within), self.sent));
    }

    /// Those below are durably confirmed.
    pub(super) fn confirmed(&mut self, below: u64) {
        self.done = below;
    }

    /// All below are done: their receivers may forget them.
    pub(super) fn confirmed_below(&self) -> u64 {
        self.done
    }

    /// That one is to be sent again then.
    pub(super) fn again(&mut self, at: Time, number: u64) {
        self.again.insert((at, number));
    }

    /// Takes out those that are to be sent again now. `first` is the lowest number that is not confirmed.
    pub(super) fn take_due(&mut self, now: Time, first: u64) -> Due {
        let mut numbers = BTreeSet::new();
        while let Some(&(time, number)) = self.again.first() {
            if !self.is_due(time, now) {
                break;
            }
            self.again.pop_first();
            numbers.insert(number);
        }
        let mut unanswered = 0..0;
        if let Some((at, below)) = self.watch
            && self.is_due(at, now)
        {
            unanswered = first..below;
            self.watch = (first < self.sent).then_some((now.after(self.confirmed_within), self.sent));
        }
        Due { numbers, unanswered }
    }

    /// Has all messages sent again now that are not confirmed: they may be lost, or be taken where they
    /// were refused before.
    pub(super) fn hurry(&mut self) {
        self.again =
            std::mem::take(&mut self.again).into_iter().map(|(_, number)| (Time(0), number)).collect();
        if let Some(watch) = &mut self.watch {
            *watch = (Time(0), self.sent);
        }
    }

    /// When something is to be sent again.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let again = self.again.first().map(|&(time, _)| time);
        [again, self.watch.map(|(at, _)| at)].into_iter().flatten().min()
    }

    /// Nothing waits longer than [`AGAIN_MAX`]: a message that seems to got its time before the clock
    /// was set back.
    fn is_due(&self, at: Time, now: Time) -> bool {
        at <= now || at > now.after(AGAIN_MAX.max(self.confirmed_within))
    }
}

#[cfg(test)]
mod tests {
    use super::{Outbox, Time};

    #[test]
    fn a_clock_that_is_set_back_delays_nothing() {
        let mut outbox = Outbox::new(0, 10_000);
        outbox.announce(2);
        outbox.leave(2);
        outbox.watch(Time(100_000));
        outbox.again(Time(101_000), 0);
        assert_eq!(outbox.take_due(Time(100_500), 0).first(), None);
        let due = outbox.take_due(Time(5_000), 0);
        assert!(due.contains(0) && due.contains(1));
    }

    #[test]
    fn unconfirmed_messages_are_sent_again_and_the_rest_is_not() {
        let mut outbox = Outbox::new(0, 10_000);
        assert!(outbox.announce(3));
        assert_eq!(outbox.leave(3), 0..3);
        outbox.watch(Time(0));
        // Two of the three are confirmed in time.
        assert_eq!(outbox.take_due(Time(9_999), 2).first(), None);
        let due = outbox.take_due(Time(10_000), 2);
        assert_eq!((due.first(), due.contains(1), due.contains(2)), (Some(2), false, true));
        // And once more, until it is.
        assert_eq!(outbox.next_deadline(), Some(Time(20_000)));
        assert_eq!(outbox.take_due(Time(20_000), 3).first(), None);
        assert_eq!(outbox.next_deadline(), None);
    }

    #[test]
    fn what_may_be_lost_is_sent_again_at_once() {
        let mut outbox = Outbox::new(0, 10_000);
        outbox.announce(3);
        outbox.leave(2);
        outbox.watch(Time(100));
        outbox.leave(3);
        outbox.hurry();
        let due = outbox.take_due(Time(200), 1);
        assert_eq!((0..4).map(|number| due.contains(number)).collect::<Vec<_>>(), [false, true, true, false]);
        assert_eq!(outbox.next_deadline(), Some(Time(10_200)));
        // Nothing is on its way.
        let mut outbox = Outbox::new(0, 10_000);
        outbox.hurry();
        assert_eq!(outbox.next_deadline(), None);
    }

    #[test]
    fn a_message_refused_for_now_is_sent_again_at_the_stated_time() {
        let mut outbox = Outbox::new(5, 10_000);
        outbox.announce(8);
        outbox.leave(8);
        outbox.again(Time(100), 6);
        assert_eq!(outbox.next_deadline(), Some(Time(100)));
        assert!(outbox.take_due(Time(99), 5).first().is_none());
        let due = outbox.take_due(Time(100), 5);
        assert_eq!((due.first(), due.contains(5), due.contains(6)), (Some(6), false, true));
    }
}
