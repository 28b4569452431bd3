//! The possible retained messages of each topic: the last message that was accepted, until it is
//! over.
//!
//! A message that is not answered may be there or not; what was seen decides.

use std::collections::{BTreeMap, BTreeSet};

use super::timestamp::{Over, Timestamp};

/// The possible retained messages of a topic.
#[derive(Debug, Clone, Default)]
struct Candidate {
    /// None: it was removed.
    number: Option<u64>,
    /// The device that published it; none for a will.
    by: Option<usize>,
    sent: u64,
    answered: Option<u64>,
    over: Option<Over>,
    /// A will that may be published later, or never.
    is_pending: bool,
    /// It was not there: its time was over by the edge's own clock. The next start reads the wall
    /// clock, which may differ.
    is_over_until_start: bool,
}

impl Candidate {
    /// Whether it may be a message that is there now.
    fn may_be(&self, now: Timestamp) -> bool {
        self.number.is_some() && !self.is_over_until_start && !self.over.is_some_and(|over| over.is(now))
    }
}

/// The retained messages.
#[derive(Default)]
pub struct RetainedBooks {
    topics: BTreeMap<String, Vec<Candidate>>,
    /// Topics that ever had one.
    ever: BTreeSet<String>,
    now: u64,
}

impl RetainedBooks {
    /// An edge starts: it asks the wall clock what is over. That clock may have been set back.
    pub fn edge_starts(&mut self) {
        for one in self.topics.values_mut().flatten() {
            one.is_over_until_start = false;
        }
    }

    /// A will with RETAIN may be published from now on.
    pub fn may_come(&mut self, topic: &str, number: u64) -> u64 {
        let sent = self.publish(topic, Some(number), None, None);
        let candidates = self.topics.entry(topic.to_owned()).or_default();
        candidates.iter_mut().filter(|one| one.sent == sent).for_each(|one| one.is_pending = true);
        sent
    }

    /// A message is published with RETAIN; `number` is none for one without a payload.
    pub fn publishes(&mut self, topic: &str, number: Option<u64>, over: Option<Over>, by: usize) -> u64 {
        self.publish(topic, number, over, Some(by))
    }

    fn publish(&mut self, topic: &str, number: Option<u64>, over: Option<Over>, by: Option<usize>) -> u64 {
        self.now += 1;
        if number.is_some() {
            self.ever.insert(topic.to_owned());
        }
        let candidates = self
            .topics
            .entry(topic.to_owned())
            .or_insert_with(|| vec![Candidate { answered: Some(0), ..Candidate::default() }]);
        candidates.push(Candidate { number, by, sent: self.now, over, ..Candidate::default() });
        self.now
    }

    /// It was answered: messages that were answered before it was sent are gone. Others may have
    /// been accepted after it.
    pub fn answered(&mut self, topic: &str, sent: u64, taken: bool, now: Timestamp) {
        let Some(candidates) = self.topics.get_mut(topic) else { return };
        if !taken {
            candidates.retain(|one| one.sent != sent);
            return;
        }
        candidates.retain(|one| one.answered.is_none_or(|answered| answered > sent));
        self.now += 1;
        for one in candidates.iter_mut().filter(|one| one.sent == sent) {
            (one.answered, one.is_pending) = (Some(self.now), false);
            if let Some(over) = &mut one.over {
                over.answered(now);
            }
        }
    }

    /// Topics that may have a message now, at most.
    pub fn most(&self, now: Timestamp) -> usize {
        let may = |one: &Candidate| one.may_be(now);
        self.topics.values().filter(|candidates| candidates.iter().any(may)).count()
    }

    /// Topics that may have a message of this device now, at most.
    pub fn most_of(&self, by: usize, now: Timestamp) -> usize {
        let may = |one: &Candidate| one.by == Some(by) && one.may_be(now);
        self.topics.values().filter(|candidates| candidates.iter().any(may)).count()
    }

    /// Topics other than this one that certainly have a message of this device, which never
    /// expires.
    pub fn least_of(&self, by: usize, but: &str) -> usize {
        let is = |one: &Candidate| one.by == Some(by) && one.number.is_some() && one.over.is_none();
        let others = self.topics.iter().filter(|(topic, _)| *topic != but);
        others.filter(|(_, candidates)| !candidates.is_empty() && candidates.iter().all(is)).count()
    }

    /// Whether a topic may have a message of this device.
    pub fn may_be_of(&self, topic: &str, by: usize) -> bool {
        let is = |one: &Candidate| one.by == Some(by) && one.number.is_some();
        self.topics.get(topic).is_some_and(|candidates| candidates.iter().any(is))
    }

    /// Topics that ever had one.
    pub fn ever(&self) -> usize {
        self.ever.len()
    }

    /// All that is retained, as a new subscriber sees it when nothing is under way.
    ///
    /// # Errors
    ///
    /// A topic has another message than it can have.
    pub fn seen(&mut self, seen: &BTreeMap<String, u64>, now: Timestamp) -> Result<(), String> {
        for (topic, number) in seen {
            let candidates = self.topics.get(topic).map(Vec::as_slice).unwrap_or_default();
            let Some(one) = candidates.iter().find(|one| one.number == Some(*number)) else {
                return Err(format!("{topic} has message {number} retained; it may have {candidates:?}"));
            };
            if one.is_over_until_start || one.over.is_some_and(|over| over.is(now)) {
                return Err(format!("message {number} is retained on {topic} and its time is over"));
            }
        }
        // Later than all that was sent, and than all that was answered.
        self.now += 1;
        for (topic, candidates) in &mut self.topics {
            match seen.get(topic) {
                Some(number) => candidates.retain(|one| one.number == Some(*number) || one.is_pending),
                None => {
                    let nothing = |one: &Candidate| {
                        one.number.is_none() || one.over.is_some_and(|over| over.may_be(now))
                    };
                    if !candidates.iter().any(nothing) {
                        return Err(format!(
                            "{topic} has nothing retained; it must have one of {candidates:?}"
                        ));
                    }
                    for one in &mut *candidates {
                        one.is_over_until_start =
                            one.over.is_some_and(|over| over.may_be(now) && !over.is(now));
                    }
                    candidates.retain(|one| one.is_pending || one.is_over_until_start);
                    let (sent, answered) = (self.now, Some(self.now));
                    candidates.push(Candidate { sent, answered, ..Candidate::default() });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    /// Message 7 was retained for 2 s, the clock was then set back by so much, and 3 s later a look found nothing.
    fn not_found(back: u64) -> (RetainedBooks, Clock) {
        let (mut books, mut clock) = (RetainedBooks::default(), Clock::default());
        clock.advance(100_000);
        let over = Over::new(Timestamp::of(&clock), 2_000);
        let sent = books.publishes("r/1", Some(7), Some(over), 0);
        books.answered("r/1", sent, true, Timestamp::of(&clock));
        clock.set_back(back);
        clock.advance(3_000);
        books.seen(&BTreeMap::new(), Timestamp::of(&clock)).expect("its time may be over");
        (books, clock)
    }

    fn is_allowed(books: &mut RetainedBooks, clock: &Clock) -> bool {
        books.seen(&[("r/1".to_owned(), 7)].into(), Timestamp::of(clock)).is_ok()
    }

    #[test]
    fn a_message_whose_time_is_over_comes_back_only_at_a_start_after_the_clock_was_set_back() {
        let (mut books, clock) = not_found(50_000);
        assert_eq!(books.most(Timestamp::of(&clock)), 0);
        assert!(!is_allowed(&mut books, &clock), "the edge knows that it is over");
        books.edge_starts();
        assert_eq!(books.most(Timestamp::of(&clock)), 1);
        assert!(is_allowed(&mut books, &clock), "by the wall clock it is not over");
        let (mut books, mut clock) = not_found(50_000);
        clock.advance(60_000);
        books.edge_starts();
        assert!(!is_allowed(&mut books, &clock), "by now it is over by the wall clock too");
        let (mut books, clock) = not_found(0);
        books.edge_starts();
        assert!(!is_allowed(&mut books, &clock), "nobody set the clock back");
    }
}
