//! Ways to be wrong, each of which a case of the runner must find.

use std::sync::OnceLock;

/// True if this process is the mutant of that name.
pub fn is(name: &str) -> bool {
    static MUTANT: OnceLock<Option<String>> = OnceLock::new();
    MUTANT.get_or_init(|| std::env::var("STADIUM_MUTANT").ok()).as_deref() == Some(name)
}
