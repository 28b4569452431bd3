//! Which id a push has: the one in the body, else one made of the request's `Idempotency-Key`, else a new one.
//!
//! A key that is a UUID is the id itself; any other is hashed to one together with the caller's API key, so that the keys of two
//! callers never meet. The platform remembers ids, on disk, so a repeated request is one also after a restart.

use std::time::Duration;

use axum::http::HeaderMap;
use ring::rand::{SecureRandom, SystemRandom};
use stadium_push::PushId;

use crate::request::body::idempotency_key;
use crate::request::problem::{NO_RANDOM_BYTES, Problem};
use crate::spelling::{field, named};

/// The id of a request's push.
pub(crate) fn push_id(headers: &HeaderMap, caller: &str, given: Option<&str>) -> Result<PushId, Problem> {
    let given = given.map(|text| named("id", text.parse::<PushId>())).transpose()?;
    let by_key = idempotency_key(headers)?.map(|key| key.parse().unwrap_or_else(|_| hashed(caller, &key)));
    match (given, by_key) {
        (Some(id), Some(other)) if id != other => {
            Err(field("id", "it is another one than that of the header `Idempotency-Key`: give one"))
        }
        (Some(id), _) | (None, Some(id)) => Ok(id),
        (None, None) => random().map(|bytes| PushId(u128::from_be_bytes(bytes))),
    }
}

/// An id that nobody has used, for a push whose client names none; `None` where the machine gives
/// no random bytes.
pub fn new_push_id() -> Option<PushId> {
    random().ok().map(|bytes| PushId(u128::from_be_bytes(bytes)))
}

/// The first half of the SHA-256 of caller and key, a line each.
fn hashed(caller: &str, key: &str) -> PushId {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{caller}\n{key}").as_bytes());
    let (half, _) = digest.as_ref().split_first_chunk().expect("SHA-256 has 32 bytes");
    PushId(u128::from_be_bytes(*half))
}

/// Random bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| {
        let detail = "no id could be made; nothing happened, send the request again";
        Problem::new(NO_RANDOM_BYTES, detail).retry_after(Duration::from_secs(1))
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const UUID: &str = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

    fn headers(key: Option<&'static str>) -> HeaderMap {
        key.map(|key| ("idempotency-key".parse().expect("a name"), HeaderValue::from_static(key)))
            .into_iter()
            .collect()
    }

    #[test]
    fn a_uuid_is_the_id_any_other_key_is_one_of_its_caller_and_without_one_it_is_new() {
        let id: PushId = UUID.parse().expect("an id");
        assert_eq!(push_id(&headers(Some(UUID)), "k_1", None).expect("named"), id);
        assert_eq!(push_id(&headers(Some(UUID)), "k_1", Some(UUID)).expect("the same"), id);
        assert_eq!(push_id(&headers(None), "k_1", Some(UUID)).expect("given"), id);
        let match_17 = push_id(&headers(Some("match-17")), "k_1", None).expect("named");
        assert_eq!(push_id(&headers(Some("match-17")), "k_1", None).expect("named"), match_17);
        assert_ne!(push_id(&headers(Some("match-17")), "k_2", None).expect("named"), match_17);
        assert!(push_id(&headers(Some("match-17")), "k_1", Some(UUID)).is_err());
        assert!(push_id(&headers(None), "k_1", Some("17")).is_err());
        let first = push_id(&headers(None), "k_1", None).expect("new");
        assert_ne!(push_id(&headers(None), "k_1", None).expect("new"), first);
    }
}
