//! Ids of live pushes that were accepted, so that a repeated request is not a second push.
//!
//! An id is kept with a hash of the request that used it: the same id with the same request is a
//! repetition, with another one an error. Refused pushes are not kept, since nothing happened.
//! Durable pushes need none of this: the shards remember their ids.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use stadium_push::{AppName, PushId};

/// Ids kept. At about 150 bytes each that is 10 MB; beyond it the oldest is forgotten, so a caller
/// that repeats a request should do so before 65,536 others.
pub(crate) const IDS_MAX: usize = 65_536;

/// How long an id is kept: longer than any sensible retry.
pub(crate) const ID_AGE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Characters in an idempotency key: room for a UUID with a prefix.
pub(crate) const KEY_CHARS_MAX: usize = 128;

/// A push of an app.
pub(crate) type Name = (AppName, PushId);

/// SHA-256 of what a request asks for.
pub(crate) type RequestHash = [u8; 32];

/// The hash of a request's body.
pub(crate) fn hash_of(body: &[u8]) -> RequestHash {
    let hash = ring::digest::digest(&ring::digest::SHA256, body);
    hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The state of an id before a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing: it is kept from now on. [`Ids::accepted`] or [`Ids::refused`] follows.
    New,
    /// The same request had it, and its push was accepted.
    Accepted,
    /// The same request has it, and its push is neither accepted nor refused yet.
    UnderWay,
    /// Another request had it.
    OtherRequest,
}

/// The ids, oldest first.
#[derive(Default)]
pub(crate) struct Ids {
    by_name: HashMap<Name, (RequestHash, State)>,
    in_order: VecDeque<(Instant, Name)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    UnderWay,
    Accepted,
}

impl Ids {
    /// Looks an id up, and keeps it if it is new.
    pub(crate) fn begin(&mut self, name: &Name, hash: &RequestHash, now: Instant) -> Known {
        while let Some((kept, _)) = self.in_order.front()
            && now.saturating_duration_since(*kept) > ID_AGE_MAX
        {
            self.forget_oldest();
        }
        match self.by_name.get(name) {
            Some((known, State::Accepted)) if known == hash => return Known::Accepted,
            Some((known, State::UnderWay)) if known == hash => return Known::UnderWay,
            Some(_) => return Known::OtherRequest,
            None => {}
        }
        if self.in_order.len() >= IDS_MAX {
            self.forget_oldest();
        }
        self.by_name.insert(name.clone(), (*hash, State::UnderWay));
        self.in_order.push_back((now, name.clone()));
        Known::New
    }

    /// The push of an id that was new is accepted.
    pub(crate) fn accepted(&mut self, name: &Name) {
        if let Some((_, state)) = self.by_name.get_mut(name) {
            *state = State::Accepted;
        }
    }

    /// The push of an id that was new is refused: the id is free again.
    pub(crate) fn refused(&mut self, name: &Name) {
        if self.by_name.remove(name).is_some()
            && let Some(place) = self.in_order.iter().rposition(|(_, kept)| kept == name)
        {
            self.in_order.remove(place);
        }
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

    fn name(app: &str, id: u64) -> Name {
        (AppName::new(app).expect("it is a name"), PushId(id.into()))
    }

    #[test]
    fn ids_are_forgotten_by_age_and_by_number() {
        let start = Instant::now();
        let mut ids = Ids::default();
        let one = name("default", 1);
        assert_eq!(ids.begin(&one, &[1; 32], start), Known::New);
        assert_eq!(ids.begin(&one, &[1; 32], start), Known::UnderWay);
        ids.accepted(&one);
        assert_eq!(ids.begin(&one, &[1; 32], start), Known::Accepted);
        assert_eq!(ids.begin(&one, &[2; 32], start), Known::OtherRequest);
        assert_eq!(ids.begin(&name("shop", 1), &[1; 32], start), Known::New);
        ids.refused(&name("shop", 1));
        assert_eq!(ids.begin(&name("shop", 1), &[2; 32], start), Known::New);

        let late = start + ID_AGE_MAX + Duration::from_secs(1);
        assert_eq!(ids.begin(&one, &[1; 32], late), Known::New);
        ids.refused(&one);

        for n in 0..=IDS_MAX as u64 {
            ids.begin(&name("default", n), &[0; 32], late);
            ids.accepted(&name("default", n));
        }
        assert_eq!(ids.begin(&name("default", 1), &[0; 32], late), Known::Accepted);
        assert_eq!(ids.by_name.len(), IDS_MAX);
        assert_eq!(ids.begin(&name("default", 0), &[0; 32], late), Known::New);
    }
}
