//! The shard's core names no state machine.
//!
//! It drives machines through their contract, so that one more needs no change of it. The folder
//! `composition` alone knows which machines there are. A test may use one as an example.

use super::Finding;
use super::source::Source;

/// The shard's core.
const CORE: &str = "crates/shard/src/core/";

/// The part of it that knows the machines.
const COMPOSITION: &str = "crates/shard/src/core/composition/";

/// The crates of the state machines, and of what they are made of.
const MACHINES: &[&str] =
    &["stadium_queue", "stadium_wallet", "stadium_push", "stadium_registry", "stadium_session"];

/// Refuses the name of a machine's crate in the core, outside of the composition.
pub(crate) fn unnamed(path: &str, source: &Source) -> Vec<Finding> {
    if !path.starts_with(CORE) || path.starts_with(COMPOSITION) {
        return Vec::new();
    }
    let found = |name: &'static str| {
        source.lines_with_word(name).map(move |line| {
            let what = format!(
                "`{name}` in the shard's core: state the need in crates/state-machine, or move it to {COMPOSITION}"
            );
            Finding::new(path, line, what)
        })
    };
    MACHINES.iter().copied().flat_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::unnamed;

    #[test]
    fn the_core_names_no_machine() {
        let found = |text: &str| unnamed("crates/shard/src/core/turn.rs", &Source::new(text)).len();
        for bad in [
            "use stadium_queue::Time;",
            "fn f(command: stadium_wallet::Command) {}",
            "pub use stadium_session as sessions;",
        ] {
            assert_eq!(found(bad), 1, "{bad}");
        }
        for good in [
            "use stadium_state_machine::Time;",
            "// stadium_queue\n",
            "let code = \"stadium_push\";",
            "#[cfg(test)]\nmod tests { use stadium_queue::Time; }",
        ] {
            assert_eq!(found(good), 0, "{good}");
        }
    }

    #[test]
    fn the_composition_and_other_parts_of_the_shard_know_machines() {
        let source = Source::new("use stadium_queue::Queues;");
        for path in [
            "crates/shard/src/core/composition/mod.rs",
            "crates/shard/src/driver.rs",
            "crates/shard/tests/integration/core.rs",
        ] {
            assert!(unnamed(path, &source).is_empty(), "{path}");
        }
    }
}
