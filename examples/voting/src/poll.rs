//! What is voted on, by whom, until when; and how all of it is called in Stadium's wallets.
//!
//! Names are checked here once: a value of one of these types can be sent to Stadium as it is. A
//! vote's id is made of the voter and the id that the client gave it, so that nobody can take an id
//! away from somebody else.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use ring::digest::{Context, SHA256};

/// What votes are counted in. A voter has as many as were paid for.
pub const ASSET: &str = "VOTE";

/// The house's wallet that votes are bought from.
pub const SHOP: &str = "@shop";

/// Bytes of a voter's, a candidate's or a poll's name: with what stands before it, it fits into a wallet's.
const NAME_BYTES_MAX: usize = 40;

/// Candidates of a poll: each is asked for its balance four times a second.
const CANDIDATES_MAX: usize = 100;

/// A name that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    what: &'static str,
    name: String,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name } = self;
        write!(f, "{what} {name:?} is not 1 to {NAME_BYTES_MAX} letters, digits and - _ .")
    }
}

impl std::error::Error for InvalidName {}

fn check(what: &'static str, name: &str) -> Result<(), InvalidName> {
    let is_right = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if is_right { Ok(()) } else { Err(InvalidName { what, name: name.chars().take(64).collect() }) }
}

/// Somebody who may vote. Its device has the same name, if it has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Voter(String);

impl Voter {
    /// Checks the name.
    ///
    /// # Errors
    /// It is too long, or has characters that a wallet's name has not.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        check("voter", name)?;
        Ok(Self(name.to_owned()))
    }

    /// As the voter is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The wallet with the voter's votes.
    #[must_use]
    pub fn wallet(&self) -> String {
        format!("voter:{}", self.0)
    }
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Short, for programs.
    pub id: String,
    /// For people.
    pub name: String,
    /// The house's wallet that gets the votes.
    pub wallet: String,
}

/// What is voted on.
#[derive(Clone, Debug)]
pub struct Poll {
    name: String,
    candidates: Vec<Candidate>,
    closes_ms: Option<u64>,
}

impl Poll {
    /// A poll of this name, with candidates as (id, name). A vote counts when it is booked before `closes_ms`, in
    /// milliseconds since 1970 by Stadium's clock.
    ///
    /// # Errors
    /// A name is wrong, a candidate is there twice, or there are none or too many.
    pub fn new(
        name: &str,
        candidates: &[(String, String)],
        closes_ms: Option<u64>,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        // Both stand in the candidates' wallets, of 64 bytes.
        check("poll", name)?;
        if candidates.is_empty() || candidates.len() > CANDIDATES_MAX {
            return Err(
                format!("a poll has 1 to {CANDIDATES_MAX} candidates, not {}", candidates.len()).into()
            );
        }
        let mut all: Vec<Candidate> = Vec::with_capacity(candidates.len());
        for (id, shown) in candidates {
            check("candidate", id)?;
            if all.iter().any(|other| other.id == *id) {
                return Err(format!("candidate {id:?} is there twice").into());
            }
            let wallet = format!("@{name}:{id}");
            if wallet.len() > 64 {
                return Err(
                    format!("the names of poll {name:?} and candidate {id:?} are too long together").into()
                );
            }
            all.push(Candidate { id: id.clone(), name: shown.clone(), wallet });
        }
        Ok(Self { name: name.to_owned(), candidates: all, closes_ms })
    }

    /// The poll's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The candidates, in the order of the ballot.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// When it closes, if it does: a vote booked at this millisecond is too late.
    #[must_use]
    pub fn closes_ms(&self) -> Option<u64> {
        self.closes_ms
    }

    /// Whether what was booked then is too late.
    #[must_use]
    pub fn is_late(&self, booked_at_ms: u64) -> bool {
        self.closes_ms.is_some_and(|closes_ms| booked_at_ms >= closes_ms)
    }

    /// The place of a candidate on the ballot.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<usize> {
        self.candidates.iter().position(|candidate| candidate.id == id)
    }
}

/// The id of a transfer, made of what it is for: the same again is the same transfer, at most once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransferId(pub [u8; 16]);

impl TransferId {
    /// Made of parts, none of which runs into the next.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Context::new(&SHA256);
        for part in parts {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finish();
        let mut id = [0; 16];
        id.copy_from_slice(&digest.as_ref()[..16]);
        Self(id)
    }

    /// One that nobody has had.
    #[must_use]
    pub fn random() -> Self {
        Self(fastrand::u128(..).to_be_bytes())
    }
}

impl fmt::Display for TransferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for TransferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Now, in milliseconds since 1970, by this machine's clock.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(candidates: &[(&str, &str)]) -> Result<Poll, String> {
        let candidates: Vec<_> =
            candidates.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect();
        Poll::new("final", &candidates, Some(1_000)).map_err(|error| error.to_string())
    }

    #[test]
    fn names_that_a_wallet_cannot_have_are_refused() {
        for name in ["", "a b", "a:b", "@a", "ä", "a/b", &"x".repeat(41)] {
            assert!(Voter::new(name).is_err(), "{name}");
        }
        let voter = Voter::new("seat-17.b_2").expect("a name");
        assert_eq!(voter.wallet(), "voter:seat-17.b_2");
        for wrong in [&[][..], &[("a", "Ann"), ("a", "Ben")], &[("a:b", "Ann")]] {
            assert!(poll(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_vote_at_the_closing_time_is_too_late() {
        let poll = poll(&[("a", "Ann")]).expect("a poll");
        assert!(!poll.is_late(999));
        assert!(poll.is_late(1_000));
        assert_eq!(poll.candidates()[0].wallet, "@final:a");
    }

    #[test]
    fn an_id_is_made_of_its_parts_and_not_of_their_sum() {
        assert_eq!(TransferId::of(&[b"ab", b"c"]), TransferId::of(&[b"ab", b"c"]));
        assert_ne!(TransferId::of(&[b"ab", b"c"]), TransferId::of(&[b"a", b"bc"]));
        assert_eq!(TransferId([0xAB; 16]).to_string(), "abababab-abab-abab-abab-abababababab");
    }
}
