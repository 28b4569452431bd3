//! The identity behind a request, as logs, the audit log and idempotency keys name it.
//!
//! It is an API key, or a person who signed in.

use crate::key_store::Key;

/// An API key or a person.
pub(crate) trait Principal: Send + Sync {
    /// Names it for ever: two principals never have the same id.
    fn id(&self) -> &str;

    /// Its name for people.
    fn name(&self) -> &str;

    /// Its roles in words: `sender, worker`; none where it has no right at all.
    fn roles_in_words(&self) -> Option<String>;
}

impl Principal for Key {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn roles_in_words(&self) -> Option<String> {
        Some(Key::roles_in_words(self))
    }
}
