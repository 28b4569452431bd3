//! Fixtures for the tests of this crate: an answer that is given, and a scope of a few variables.
//!
//! Compiled for tests only.

use crate::extract::Answer;
use crate::scope::Scope;
use crate::value::Value;

/// An answer that is given.
pub(crate) struct Canned {
    pub(crate) status: u32,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: String,
    pub(crate) elapsed_ns: u64,
}

impl Canned {
    pub(crate) fn new(status: u32, body: &str) -> Canned {
        Canned { status, headers: Vec::new(), body: body.to_owned(), elapsed_ns: 1_000_000 }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Canned {
        self.headers.push((name, value));
        self
    }
}

impl Answer for Canned {
    fn status(&self) -> Option<u32> {
        Some(self.status)
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_bytes())
    }

    fn body(&self) -> &[u8] {
        self.body.as_bytes()
    }

    fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}

/// Calls something with a scope of these variables.
pub(crate) fn with_scope<T>(variables: &mut [Value], call: impl FnOnce(&mut Scope<'_>) -> T) -> T {
    let mut random = fastrand::Rng::with_seed(1);
    call(&mut Scope { variables, random: &mut random, wall_ms: 1_700_000_000_000, user: 1 })
}
