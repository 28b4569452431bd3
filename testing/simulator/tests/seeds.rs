//! Seeds hold, and broken promises are found.
//!
//! `STADIUM_SEEDS` is another number of seeds; `STADIUM_SEEDS_FROM` begins elsewhere. A failing seed is
//! printed with the command that replays it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use stadium_simulator::{Failure, Sabotage, run};

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number of seeds"))
}

/// Runs seeds on all cores until one fails.
fn first_failure(from: u64, count: u64, sabotage: Sabotage) -> Option<Box<Failure>> {
    let next = AtomicU64::new(from);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count || failure.lock().expect("nobody panics with it").is_some() {
                        return;
                    }
                    if let Err(found) = run(seed, sabotage) {
                        failure.lock().expect("nobody panics with it").get_or_insert(found);
                    }
                }
            });
        }
    });
    failure.into_inner().expect("nobody panics with it")
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_settled_comes_back() {
    let failure =
        first_failure(setting("STADIUM_SEEDS_FROM", 0), setting("STADIUM_SEEDS", 10_000), Sabotage::None);
    if let Some(failure) = failure {
        panic!("{failure}");
    }
}

#[test]
fn a_disk_whose_syncs_do_nothing_is_found_out() {
    let failure = first_failure(0, 200, Sabotage::SyncDoesNothing);
    assert!(failure.is_some(), "200 seeds did not notice that nothing is ever synced");
}

#[test]
fn a_shard_that_answers_before_its_commit_is_found_out() {
    let failure = first_failure(0, 200, Sabotage::AnswersBeforeCommit);
    assert!(
        failure.is_some(),
        "200 seeds did not notice answers that leave before their records are durable"
    );
}

#[test]
fn a_shard_that_forgets_acknowledgements_of_pushes_is_found_out() {
    let failure = first_failure(0, 40, Sabotage::AcknowledgementsAreForgotten);
    assert!(failure.is_some(), "40 seeds did not notice that nobody remembers who has got a push");
}

#[test]
fn a_shard_that_forgets_letters_about_pushes_is_found_out() {
    let failure = first_failure(0, 200, Sabotage::LettersOfPushesAreForgotten);
    assert!(failure.is_some(), "200 seeds did not notice pushes that reach no other shard than their app's");
}

#[test]
fn one_seed_is_one_run() {
    for seed in 0..20 {
        let runs = [(); 2].map(|()| run(seed, Sabotage::None).map(|summary| format!("{summary:?}")).ok());
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
}
