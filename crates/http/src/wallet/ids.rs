//! Which id a transfer has: the one in the body, else one made of the request's `Idempotency-Key`.
//!
//! A key that is a UUID is the id itself (draft-ietf-httpapi-idempotency-key-header); any other is hashed to one together
//! with the caller's API key, so that the keys of two callers never meet. The wallet remembers ids, on disk, so a
//! repeated request is one also after the server was started anew.

use axum::http::HeaderMap;
use stadium_wallet::TransferId;

use crate::request::body::idempotency_key;
use crate::request::problem::Problem;
use crate::spelling::{field, named};

/// What a request is called by its caller.
pub(crate) struct RequestId {
    caller: String,
    key: Option<String>,
}

impl RequestId {
    /// Reads the header.
    pub(crate) fn of(headers: &HeaderMap, caller: String) -> Result<Self, Problem> {
        Ok(Self { caller, key: idempotency_key(headers)? })
    }

    /// The id of the request's only transfer.
    pub(crate) fn only(&self, given: Option<&str>) -> Result<TransferId, Problem> {
        self.only_or(given, || Err(field("id", "give an `id`, or the header `Idempotency-Key`")))
    }

    /// As [`RequestId::only`], where a request without either has an id of its own.
    pub(crate) fn only_or(
        &self,
        given: Option<&str>,
        otherwise: impl FnOnce() -> Result<TransferId, Problem>,
    ) -> Result<TransferId, Problem> {
        let Some(key) = &self.key else {
            return given.map_or_else(otherwise, |text| named("id", text.parse()));
        };
        let by_key = key.parse().unwrap_or_else(|_| self.hashed(key, None));
        match given {
            None => Ok(by_key),
            Some(text) if named("id", text.parse::<TransferId>())? == by_key => Ok(by_key),
            Some(_) => {
                Err(field("id", "it is another one than that of the header `Idempotency-Key`: give one"))
            }
        }
    }

    /// The id of one transfer of several, which stands at `at` in the body.
    pub(crate) fn nth(&self, index: usize, given: Option<&str>, at: &str) -> Result<TransferId, Problem> {
        match (given, &self.key) {
            (Some(text), _) => named(&format!("{at}id"), text.parse()),
            (None, Some(key)) => Ok(self.hashed(key, Some(index))),
            (None, None) => {
                Err(field(&format!("{at}id"), "give each transfer an `id`, or the header `Idempotency-Key`"))
            }
        }
    }

    fn hashed(&self, key: &str, index: Option<usize>) -> TransferId {
        match index {
            None => hash(&[&self.caller, key]),
            Some(index) => hash(&[&self.caller, key, &index.to_string()]),
        }
    }
}

/// The id of the transfer that does this to another one, where its caller gives none: a hold ends once and a transfer is
/// reversed once, so the second request is the first one again.
pub(crate) fn derived(verb: &str, of: TransferId) -> TransferId {
    hash(&[verb, &of.to_string()])
}

/// The first half of the SHA-256 of the parts, a line each.
fn hash(parts: &[&str]) -> TransferId {
    let digest = ring::digest::digest(&ring::digest::SHA256, parts.join("\n").as_bytes());
    let (half, _) = digest.as_ref().split_first_chunk().expect("SHA-256 has 32 bytes");
    TransferId(u128::from_be_bytes(*half))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const UUID: &str = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

    fn request(caller: &str, key: Option<&'static str>) -> RequestId {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert("idempotency-key", HeaderValue::from_static(key));
        }
        RequestId::of(&headers, caller.to_owned()).expect("a good key")
    }

    #[test]
    fn a_uuid_is_the_id_and_any_other_key_is_one_of_its_caller() {
        let id: TransferId = UUID.parse().expect("an id");
        assert_eq!(request("k_1", Some(UUID)).only(None).expect("named"), id);
        assert_eq!(request("k_1", Some(UUID)).only(Some(UUID)).expect("the same"), id);
        assert_eq!(request("k_1", None).only(Some(UUID)).expect("given"), id);
        let order = request("k_1", Some("order-17")).only(None).expect("named");
        assert_eq!(request("k_1", Some("order-17")).only(None).expect("named"), order);
        assert_ne!(request("k_2", Some("order-17")).only(None).expect("named"), order);
        assert!(request("k_1", Some("order-17")).only(Some(UUID)).is_err());
        assert!(request("k_1", None).only(None).is_err());
        assert!(request("k_1", None).only(Some("17")).is_err());
    }

    #[test]
    fn each_transfer_of_a_batch_has_an_id_of_its_own() {
        let batch = request("k_1", Some(UUID));
        let first = batch.nth(0, None, "transfers[0].").expect("named");
        assert_ne!(batch.nth(1, None, "transfers[1].").expect("named"), first);
        assert_eq!(batch.nth(0, None, "transfers[0].").expect("named"), first);
        assert_eq!(batch.nth(1, Some(UUID), "").expect("given"), UUID.parse().expect("an id"));
        assert!(request("k_1", None).nth(0, None, "transfers[0].").is_err());
    }

    #[test]
    fn a_change_of_a_transfer_has_the_same_id_each_time() {
        let (one, other) = (TransferId(1), TransferId(2));
        assert_eq!(derived("void", one), derived("void", one));
        assert_ne!(derived("void", one), derived("capture", one));
        assert_ne!(derived("void", one), derived("void", other));
    }
}
