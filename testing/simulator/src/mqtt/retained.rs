//! What each topic may have retained: the last message that was accepted, until it is over.
//!
//! A message that is not answered may be there or not; what was seen decides.

use std::collections::{BTreeMap, BTreeSet};

use super::moment::{Moment, Over};

/// What a topic may have.
#[derive(Debug, Clone)]
struct Candidate {
    /// None: it was removed.
    number: Option<u64>,
    sent: u64,
    answered: Option<u64>,
    over: Option<Over>,
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
    /// A message is published with RETAIN; `number` is none for one without a payload.
    pub fn publishes(&mut self, topic: &str, number: Option<u64>, over: Option<Over>) -> u64 {
        self.now += 1;
        if number.is_some() {
            self.ever.insert(topic.to_owned());
        }
        let candidates = self
            .topics
            .entry(topic.to_owned())
            .or_insert_with(|| vec![Candidate { number: None, sent: 0, answered: Some(0), over: None }]);
        candidates.push(Candidate { number, sent: self.now, answered: None, over });
        self.now
    }

    /// It was answered: what was answered before it was sent is gone. What was not may have been accepted after it.
    pub fn answered(&mut self, topic: &str, sent: u64, taken: bool, now: Moment) {
        let Some(candidates) = self.topics.get_mut(topic) else { return };
        if !taken {
            candidates.retain(|one| one.sent != sent);
            return;
        }
        candidates.retain(|one| one.answered.is_none_or(|answered| answered > sent));
        self.now += 1;
        for one in candidates.iter_mut().filter(|one| one.sent == sent) {
            one.answered = Some(self.now);
            if let Some(over) = &mut one.over {
                over.answered(now);
            }
        }
    }

    /// Topics that may have a message now, at most.
    pub fn most(&self, now: Moment) -> usize {
        let may = |one: &Candidate| one.number.is_some() && !one.over.is_some_and(|over| over.is(now));
        self.topics.values().filter(|candidates| candidates.iter().any(may)).count()
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
    pub fn seen(&mut self, seen: &BTreeMap<String, u64>, now: Moment) -> Result<(), String> {
        for (topic, number) in seen {
            let candidates = self.topics.get(topic).map(Vec::as_slice).unwrap_or_default();
            let Some(one) = candidates.iter().find(|one| one.number == Some(*number)) else {
                return Err(format!("{topic} has message {number} retained; it may have {candidates:?}"));
            };
            if one.over.is_some_and(|over| over.is(now)) {
                return Err(format!("message {number} is retained on {topic} and its time is over"));
            }
        }
        for (topic, candidates) in &mut self.topics {
            match seen.get(topic) {
                Some(number) => candidates.retain(|one| one.number == Some(*number)),
                None => {
                    let nothing = |one: &Candidate| {
                        one.number.is_none() || one.over.is_some_and(|over| over.may_be(now))
                    };
                    if !candidates.iter().any(nothing) {
                        return Err(format!(
                            "{topic} has nothing retained; it must have one of {candidates:?}"
                        ));
                    }
                    let sent = candidates.iter().map(|one| one.sent).max().unwrap_or(0);
                    *candidates =
                        vec![Candidate { number: None, sent, answered: Some(self.now), over: None }];
                }
            }
        }
        Ok(())
    }
}
