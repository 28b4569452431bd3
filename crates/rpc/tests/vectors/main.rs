//! The vectors of proto/vectors that come from this crate's own decisions.
//!
//! Each module has the scripts of one file and plays them against the crate. A file that is stale
//! fails its test, which names the command that writes it. An implementation in another language
//! plays the same files.

mod answers;
mod backoff;
mod budget;
mod choose;
mod ejection;
mod hedge;
mod lease;
mod limiter;
mod load;
mod metadata;
mod player;
mod probe;
mod queue;
mod random;
mod rendezvous;
mod retry;
mod scores;
mod subset;

use stadium_testing::vectors::{check, check_that_alterations_are_found, check_that_defaults_matter};

/// The command that runs these tests.
const COMMAND: &str = "cargo test -p stadium-rpc --test vectors";

/// Checks of one file: it is fresh, the checker finds an altered expectation, and each default
/// matters.
macro_rules! checked {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn the_file_states_the_decisions_of_this_crate() {
                super::super::check(&super::super::$name::file());
            }

            #[test]
            fn an_altered_expectation_is_found() {
                super::super::check_that_alterations_are_found(&super::super::$name::file());
            }

            #[test]
            fn every_default_matters() {
                super::super::check_that_defaults_matter(&super::super::$name::file());
            }
        }
    )*};
}

mod files {
    checked!(
        answers, backoff, budget, choose, ejection, hedge, lease, limiter, load, metadata, queue, random,
        rendezvous, retry, subset,
    );
}
