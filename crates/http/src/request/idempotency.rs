//! The first answers of pushes, so that a repeated request is not a second push.
//!
//! An answer is kept for a caller's `Idempotency-Key` with a hash of the request's body: the same key with the same
//! bytes gets the first answer, with other bytes an error. Refused pushes are not kept, since nothing happened.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::fleet::PushId;

/// Answers kept. At 300 bytes each that is 20 MB; beyond it the oldest is forgotten, so a caller that repeats a
/// request should do so before 65,536 others.
pub(crate) const ANSWERS_MAX: usize = 65_536;

/// How long an answer is kept: longer than any sensible retry.
pub(crate) const ANSWER_AGE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Characters in an idempotency key: room for a UUID with a prefix.
pub(crate) const KEY_CHARS_MAX: usize = 128;

/// Names one request of one caller.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct RequestName {
    pub(crate) caller: String,
    pub(crate) key: String,
}

/// SHA-256 of a request's body.
pub(crate) type BodyHash = [u8; 32];

/// What is known of a request name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing: it is a new request.
    New,
    /// This push answered the same request.
    Answered(PushId),
    /// Another request had the name.
    OtherRequest,
}

/// The answers, oldest first.
#[derive(Default)]
pub(crate) struct Answers {
    by_name: HashMap<RequestName, (BodyHash, PushId)>,
    in_order: VecDeque<(Instant, RequestName)>,
}

impl Answers {
    pub(crate) fn look_up(&mut self, name: &RequestName, body: &BodyHash, now: Instant) -> Known {
        while let Some((kept, _)) = self.in_order.front()
            && now.saturating_duration_since(*kept) > ANSWER_AGE_MAX
        {
            self.forget_oldest();
        }
        match self.by_name.get(name) {
            None => Known::New,
            Some((known, push)) if known == body => Known::Answered(*push),
            Some(_) => Known::OtherRequest,
        }
    }

    /// Keeps the answer of a name that [`Answers::look_up`] called new.
    pub(crate) fn keep(&mut self, name: RequestName, body: BodyHash, push: PushId, now: Instant) {
        if self.in_order.len() >= ANSWERS_MAX {
            self.forget_oldest();
        }
        self.by_name.insert(name.clone(), (body, push));
        self.in_order.push_back((now, name));
    }

    fn forget_oldest(&mut self) {
        if let Some((_, name)) = self.in_order.pop_front() {
            self.by_name.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(key: &str) -> RequestName {
        RequestName { caller: "k_1".to_owned(), key: key.to_owned() }
    }

    #[test]
    fn answers_are_forgotten_by_age_and_by_number() {
        let start = Instant::now();
        let mut answers = Answers::default();
        answers.keep(name("a"), [1; 32], PushId(1), start);
        assert_eq!(answers.look_up(&name("a"), &[1; 32], start), Known::Answered(PushId(1)));
        assert_eq!(answers.look_up(&name("a"), &[2; 32], start), Known::OtherRequest);
        let other_caller = RequestName { caller: "k_2".to_owned(), key: "a".to_owned() };
        assert_eq!(answers.look_up(&other_caller, &[1; 32], start), Known::New);

        let late = start + ANSWER_AGE_MAX + Duration::from_secs(1);
        assert_eq!(answers.look_up(&name("a"), &[1; 32], late), Known::New);

        for n in 0..=ANSWERS_MAX as u64 {
            answers.keep(name(&n.to_string()), [0; 32], PushId(n), late);
        }
        assert_eq!(answers.look_up(&name("0"), &[0; 32], late), Known::New);
        assert_eq!(answers.look_up(&name("1"), &[0; 32], late), Known::Answered(PushId(1)));
        assert_eq!(answers.by_name.len(), ANSWERS_MAX);
    }
}
