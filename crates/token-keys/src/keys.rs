//! All keys of one configuration: those of its files, and those that are fetched.
//!
//! Keys of files stay in force until [`Keys::reload`] has read them again without an error. Nothing
//! here blocks but `open` and `reload`, which read files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use jsonwebtoken::decode_header;

use crate::claims::{self, Claims, Expected, Fault};
use crate::fetcher::{COME_AGAIN, KeyFetcher};
use crate::{Error, Key, KeySources, files};

/// Verifies tokens with the keys of files and URLs.
pub struct Keys {
    sources: KeySources,
    read: ArcSwap<Vec<Key>>,
    fetchers: Vec<KeyFetcher>,
}

impl Keys {
    /// Reads the files, and starts to fetch the sets at URLs, on a thread each.
    ///
    /// # Errors
    /// A file or a key that cannot be used, or a URL that is not `https://`.
    pub fn open(sources: KeySources) -> Result<Self, Error> {
        crate::install();
        let read = ArcSwap::from_pointee(files::read(&sources)?);
        let fetchers = sources.fetch.urls.iter().map(|url| KeyFetcher::start(url, &sources.fetch));
        let fetchers = fetchers.collect::<Result<_, _>>()?;
        Ok(Self { sources, read, fetchers })
    }

    /// Reads the keys of files again.
    ///
    /// # Errors
    /// A file or a key that cannot be used; what was read before stays.
    pub fn reload(&self) -> Result<(), Error> {
        self.read.store(Arc::new(files::read(&self.sources)?));
        Ok(())
    }

    /// Has the sets at URLs fetched now.
    pub fn refresh(&self) {
        self.fetchers.iter().for_each(KeyFetcher::refresh);
    }

    /// For a token that was refused as not genuine: when to retry, where its key is not known and a
    /// set that may have it is being fetched, or where such a set arrived after the refusal.
    pub fn fetch_key_of(&self, token: &[u8], expected: &Expected, now: Instant) -> Option<Duration> {
        let header = decode_header(token).ok().filter(|_| !self.fetchers.is_empty())?;
        let is_it = |key: &Key| key.id == header.kid && key.algorithm == header.alg;
        let is_known = self.read.load().iter().any(is_it)
            || self.fetchers.iter().any(|one| one.keys().iter().any(is_it));
        if !is_known {
            // Each of them is asked to hurry.
            let waits: Vec<_> = self.fetchers.iter().filter_map(|fetcher| fetcher.miss(now)).collect();
            if let Some(wait) = waits.into_iter().max() {
                return Some(wait);
            }
        }
        // Without this a good token would be denied for the moment in which its key arrives.
        let is_genuine = !matches!(self.claims(token, expected), Err(Fault::NotGenuine));
        is_genuine.then_some(COME_AGAIN)
    }

    /// The claims of a token that is believed; takes some 100 µs.
    ///
    /// # Errors
    /// The first fault that was found.
    pub fn claims(&self, token: &[u8], expected: &Expected) -> Result<Claims, Fault> {
        let read = self.read.load();
        let fetched: Vec<_> = self.fetchers.iter().map(KeyFetcher::keys).collect();
        let all = read.iter().chain(fetched.iter().flat_map(|keys| keys.iter()));
        claims::verified(token, all, expected)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
    use jsonwebtoken::{Algorithm, DecodingKey};
    use ring::hmac;

    use super::*;
    use crate::KeyFetchConfig;

    fn token(secret: &[u8]) -> String {
        let head = BASE64.encode(r#"{"alg":"HS256","kid":"k"}"#);
        let signed = format!("{head}.{}", BASE64.encode(r#"{"exp":9999999999}"#));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(tag.as_ref()))
    }

    #[test]
    fn a_token_whose_key_arrived_after_its_refusal_is_tried_again_and_a_forged_one_is_not() {
        crate::install();
        let key = Key {
            id: Some("k".to_owned()),
            algorithm: Algorithm::HS256,
            key: DecodingKey::from_secret(b"the secret of this test"),
        };
        let nowhere = KeyFetcher::start("http://127.0.0.1:1/keys", &KeyFetchConfig::default());
        let keys = Keys {
            sources: KeySources::default(),
            read: ArcSwap::from_pointee(vec![key]),
            fetchers: vec![nowhere.expect("a thread")],
        };
        let (expected, now) = (Expected::default(), Instant::now());
        let good = token(b"the secret of this test");
        assert_eq!(keys.fetch_key_of(good.as_bytes(), &expected, now), Some(COME_AGAIN));
        let forged = token(b"a guess");
        assert_eq!(keys.fetch_key_of(forged.as_bytes(), &expected, now), None);
    }
}
