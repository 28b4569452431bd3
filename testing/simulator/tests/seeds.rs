//! Seeds hold, and broken promises are found.
//!
//! `STADIUM_SEEDS` is another number of seeds than 600; `STADIUM_SEEDS_FROM` begins elsewhere. A failing seed is
//! printed with the command that replays it. Of the replicated log ten times as many seeds run: they are short.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use stadium_simulator::{Failure, Sabotage, backup, forward, links, log, run};

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number of seeds"))
}

/// Runs seeds of shards on all cores until one fails.
fn first_failure(from: u64, count: u64, sabotage: Sabotage) -> Option<Box<Failure>> {
    first_failure_of(from, count, |seed| run(seed, sabotage).err())
}

/// Runs seeds of the replicated log on all cores until one fails.
fn first_failure_of_log(count: u64, sabotage: log::Sabotage) -> Option<Box<Failure>> {
    first_failure_of(0, count, |seed| log::run(seed, sabotage).err())
}

fn first_failure_of(
    from: u64,
    count: u64,
    failure_of: impl Fn(u64) -> Option<Box<Failure>> + Sync,
) -> Option<Box<Failure>> {
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
                    if let Some(found) = failure_of(seed) {
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
        first_failure(setting("STADIUM_SEEDS_FROM", 0), setting("STADIUM_SEEDS", 600), Sabotage::None);
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
fn a_shard_that_forgets_messages_about_pushes_is_found_out() {
    let failure = first_failure(0, 200, Sabotage::MessagesOfPushesAreForgotten);
    assert!(failure.is_some(), "200 seeds did not notice pushes that reach no other shard than their app's");
}

#[test]
fn a_shard_that_dispatches_live_pushes_twice_is_found_out() {
    let failure = first_failure(0, 40, Sabotage::LivePushesAreDoubled);
    assert!(failure.is_some(), "40 seeds did not notice live pushes that come twice");
}

#[test]
fn a_shard_that_forgets_amounts_for_its_counter_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::MessagesOfCountersAreForgotten);
    assert!(failure.is_some(), "400 seeds did not notice amounts that are in no counter");
}

#[test]
fn shards_that_remember_a_cancellation_that_was_refused_are_found_out() {
    let failure = first_failure(0, 400, Sabotage::RefusedCancellationsStay);
    assert!(
        failure.is_some(),
        "400 seeds did not notice pushes that nobody cancelled and that do not arrive"
    );
}

#[test]
fn shards_that_start_what_was_cancelled_on_its_way_are_found_out() {
    let failure = first_failure(0, 400, Sabotage::CancelledMessagesStart);
    assert!(failure.is_some(), "400 seeds did not notice pushes that arrive after their cancellation");
}

#[test]
fn a_folder_whose_syncs_do_nothing_is_found_out() {
    let failure = first_failure(0, 200, Sabotage::FolderSyncDoesNothing);
    assert!(failure.is_some(), "200 seeds did not notice that names are never synced");
}

#[test]
fn a_log_that_trims_too_much_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::TrimTakesMore);
    assert!(failure.is_some(), "400 seeds did not notice that records are gone which a shard needs");
}

#[test]
fn a_shard_that_keeps_one_checkpoint_is_found_out() {
    let failure = first_failure(0, 600, Sabotage::OneCheckpointIsKept);
    assert!(failure.is_some(), "600 seeds did not notice that there is no other checkpoint");
}

#[test]
fn a_shard_that_counts_a_damaged_checkpoint_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::DamagedCheckpointsCount);
    assert!(failure.is_some(), "1,000 seeds did not notice that the checkpoint that is whole was removed");
}

#[test]
fn a_shard_that_an_unreadable_checkpoint_stops_is_found_out() {
    let failure = first_failure(0, 600, Sabotage::UnreadCheckpointsAreTheEnd);
    assert!(
        failure.is_some(),
        "1,000 seeds did not notice that the checkpoint before the newest is not used"
    );
}

#[test]
fn a_recovery_that_forgets_a_record_is_found_out() {
    let failure = first_failure(0, 100, Sabotage::RecoveryForgetsARecord);
    assert!(failure.is_some(), "100 seeds did not notice that a recovery gives another state");
}

#[test]
fn an_edge_that_does_not_keep_messages_is_found_out() {
    let failure = first_failure(0, 200, Sabotage::KeptMessagesAreForgotten);
    assert!(failure.is_some(), "200 seeds did not notice that acknowledged messages are lost");
}

#[test]
fn an_edge_that_does_not_keep_retained_messages_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::RetainedMessagesAreForgotten);
    assert!(failure.is_some(), "400 seeds did not notice that retained messages are lost");
}

#[test]
fn an_edge_that_ignores_the_quotas_of_devices_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::QuotasAreIgnored);
    assert!(failure.is_some(), "400 seeds did not notice devices that retain more than they may");
}

#[test]
fn an_edge_that_does_not_keep_the_owners_of_retained_messages_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::OwnersAreForgotten);
    assert!(failure.is_some(), "1,000 seeds did not notice quotas that are forgotten at a start");
}

#[test]
fn an_edge_that_delivers_what_is_known_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::KnownMessagesAreDelivered);
    assert!(failure.is_some(), "1,000 seeds did not notice messages that come twice at QoS 2");
}

#[test]
fn an_edge_whose_loops_are_in_what_shards_remember_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::LoopsAreInOrigins);
    assert!(failure.is_some(), "400 seeds did not notice that another number of loops brings messages twice");
}

#[test]
fn an_edge_whose_clock_is_fixed_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::EdgeClockIsFixed);
    assert!(failure.is_some(), "1,000 seeds did not notice sessions that end when the clock is put right");
}

#[test]
fn an_edge_that_does_not_end_forgotten_sessions_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::ForgottenSessionsStay);
    assert!(failure.is_some(), "400 seeds did not notice sessions that stay though they were forgotten");
}

#[test]
fn an_edge_that_keeps_more_than_it_may_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::SessionsKeepMore);
    assert!(failure.is_some(), "400 seeds did not notice that the bound of a session is passed");
}

#[test]
fn an_edge_that_does_not_keep_wills_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::WillsAreForgotten);
    assert!(failure.is_some(), "1,000 seeds did not notice wills that are lost in a crash");
}

#[test]
fn an_edge_that_does_not_read_disconnects_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::DisconnectsAreNotRead);
    assert!(failure.is_some(), "400 seeds did not notice wills of clients that left in order");
}

#[test]
fn an_edge_that_does_not_retain_wills_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::WillsAreNotRetained);
    assert!(failure.is_some(), "1,000 seeds did not notice wills that are not retained");
}

#[test]
fn a_loop_that_delivers_its_part_of_a_refused_message_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::RefusedPartsAreDelivered);
    assert!(failure.is_some(), "400 seeds did not notice that a refused message reaches somebody");
}

#[test]
fn an_edge_that_does_not_keep_shared_messages_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::SharedMessagesAreForgotten);
    assert!(failure.is_some(), "1,000 seeds did not notice messages of shared subscriptions that are lost");
}

#[test]
fn an_edge_that_gives_shared_messages_to_two_members_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::SharedMessagesAreDoubled);
    assert!(failure.is_some(), "400 seeds did not notice messages that two members of a group get");
}

#[test]
fn an_edge_that_does_not_hand_shared_messages_on_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::SharedMessagesAreNotHandedOn);
    assert!(failure.is_some(), "1,000 seeds did not notice messages that end with the session of a member");
}

#[test]
fn a_recovery_that_takes_failed_reads_for_ends_is_found_out() {
    let failure = first_failure(0, 100, Sabotage::FailedReadsAreEnds);
    assert!(failure.is_some(), "100 seeds did not notice reads that fail in a recovery");
}

#[test]
fn a_journal_that_ignores_failed_renames_is_found_out() {
    let failure = first_failure(0, 100, Sabotage::FailedRenamesAreIgnored);
    assert!(failure.is_some(), "100 seeds did not notice renames that fail");
}

#[test]
fn a_shard_that_gives_up_when_a_file_is_not_removed_is_found_out() {
    let failure = first_failure(0, 300, Sabotage::FailedRemovalsAreForEver);
    assert!(failure.is_some(), "300 seeds did not notice removals that fail");
}

#[test]
fn a_shard_that_gives_up_when_a_file_is_not_created_is_found_out() {
    let failure = first_failure(0, 600, Sabotage::FailedCreatesAreForEver);
    assert!(failure.is_some(), "600 seeds did not notice creates that fail");
}

#[test]
fn a_shard_that_gives_up_when_a_file_is_not_opened_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::FailedOpensAreForEver);
    assert!(failure.is_some(), "1,000 seeds did not notice opens that fail");
}

#[test]
fn a_journal_that_syncs_every_other_change_of_names_is_found_out() {
    // One seed in some hundreds loses just those names; the search begins near one.
    let failure = first_failure(700, 1_000, Sabotage::EveryOtherFolderSync);
    assert!(failure.is_some(), "1,000 seeds did not notice names that were not synced");
}

#[test]
fn a_journal_that_takes_a_lack_of_descriptors_for_a_failed_disk_is_found_out() {
    let failure = first_failure(0, 1_000, Sabotage::DescriptorsAreTheDisk);
    assert!(failure.is_some(), "1,000 seeds did not notice journals that end for want of descriptors");
}

#[test]
fn a_control_with_one_slot_is_found_out() {
    let failure = first_failure(0, 100, Sabotage::OneControlSlot);
    assert!(failure.is_some(), "100 seeds did not notice that a flipped bit of control is the end");
}

#[test]
fn a_shard_that_calls_busy_what_a_panic_cut_off_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::CutCallersHearBusy);
    assert!(failure.is_some(), "400 seeds did not notice answers that a panic made a lie");
}

#[test]
fn a_shard_that_calls_busy_what_commits_late_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::LateCommitsAreBusy);
    assert!(failure.is_some(), "400 seeds did not notice answers that a late commit made a lie");
}

#[test]
fn a_standby_that_forgets_a_record_is_found_out() {
    let failure = first_failure(0, 100, Sabotage::StandbysForgetARecord);
    assert!(failure.is_some(), "100 seeds did not notice a standby that is not what its owner is");
}

#[test]
fn standbys_take_their_shards_over() {
    let promoted = |seed| run(seed, Sabotage::None).map_or(0, |summary| summary.promoted);
    assert!((0..60).map(promoted).sum::<u64>() > 20, "too few standbys took over");
}

#[test]
fn a_shard_that_does_not_ask_its_lease_is_found_out() {
    let failure = first_failure(0, 400, Sabotage::LeasesAreNotAsked);
    let what = failure.map(|failure| failure.to_string());
    let is_old = |what: &String| what.contains("of an owner that was stopped");
    assert!(what.as_ref().is_some_and(is_old), "400 seeds did not notice old answers: {what:?}");
}

#[test]
fn owners_that_were_stopped_go_on_and_others_write_barriers() {
    let summaries = || (0..200).filter_map(|seed| run(seed, Sabotage::None).ok());
    let haunted: u64 = summaries().map(|summary| summary.haunted).sum();
    let barriers: u64 = summaries().map(|summary| summary.barriers).sum();
    assert!(haunted > 50 && barriers > 100, "{haunted} questions, {barriers} barriers");
}

#[test]
fn one_seed_is_one_run() {
    for seed in 0..20 {
        let runs = [(); 2].map(|()| run(seed, Sabotage::None).map(|summary| format!("{summary:?}")).ok());
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
}

#[test]
fn nothing_acknowledged_is_lost_from_the_replicated_log() {
    let (from, count) = (setting("STADIUM_SEEDS_FROM", 0), setting("STADIUM_SEEDS", 600));
    let failure = first_failure_of(from * 10, count * 10, |seed| log::run(seed, log::Sabotage::None).err());
    if let Some(failure) = failure {
        panic!("{failure}");
    }
}

#[test]
fn an_owner_of_the_log_that_does_not_check_offsets_is_found_out() {
    let failure = first_failure_of_log(50, log::Sabotage::Offsets).expect("50 seeds notice it");
    assert!(failure.what.contains("is acknowledged, and lost"), "it is found as another fault: {failure}");
}

#[test]
fn readers_of_the_log_whose_fences_count_with_an_equal_epoch_are_found_out() {
    let failure = first_failure_of_log(50, log::Sabotage::Epochs);
    assert!(failure.is_some(), "50 seeds did not notice that two claims of one epoch count");
}

#[test]
fn readers_of_the_log_that_ignore_sequences_are_found_out() {
    let failure = first_failure_of_log(50, log::Sabotage::Sequence);
    assert!(failure.is_some(), "50 seeds did not notice messages that count twice or in another order");
}

#[test]
fn everything_happens_to_the_replicated_log() {
    let mut sum = log::Summary::default();
    for seed in 0..500 {
        sum += log::run(seed, log::Sabotage::None).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let log::Summary { acknowledged, claims, fenced, claimed_again, sent_again, .. } = sum;
    let log::Summary { given_up, unknown, passed, gaps, trimmed, powerless, restarts, .. } = sum;
    let often = [acknowledged, claims, fenced, claimed_again, given_up, passed, gaps, powerless, restarts];
    assert!(often.iter().all(|count| *count > 500), "{sum:?}");
    assert!(sent_again > 20 && unknown > 2 && trimmed > 5, "{sum:?}");
}

#[test]
fn one_seed_is_one_run_of_the_replicated_log() {
    for seed in 0..100 {
        let runs =
            [(); 2].map(|()| log::run(seed, log::Sabotage::None).map(|summary| format!("{summary:?}")).ok());
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
}

#[test]
fn requests_over_links_have_one_outcome_each_and_it_is_true() {
    let (from, count) = (setting("STADIUM_SEEDS_FROM", 0), setting("STADIUM_SEEDS", 600));
    let failure = first_failure_of(from * 5, count * 5, |seed| links::run(seed, links::Sabotage::None).err());
    if let Some(failure) = failure {
        panic!("{failure}");
    }
}

#[test]
fn drivers_of_links_that_break_a_rule_are_found_out() {
    use links::Sabotage::{Credit, Incarnation, Resend, Unsent};
    for sabotage in [Resend, Unsent, Credit, Incarnation] {
        let failure = first_failure_of(0, 50, |seed| links::run(seed, sabotage).err());
        assert!(failure.is_some(), "50 seeds did not notice {sabotage:?}");
    }
}

#[test]
fn everything_happens_to_links() {
    let mut sum = links::Summary::default();
    for seed in 0..300 {
        sum += links::run(seed, links::Sabotage::None).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let links::Summary { answered, busy, not_sent, unknown, refused, up, silent, earlier, restarts, .. } =
        sum;
    let often = [answered, not_sent, unknown, refused, up, silent, earlier, restarts];
    assert!(often.iter().all(|count| *count > 200) && busy > 20, "{sum:?}");
}

#[test]
fn one_seed_is_one_run_of_links() {
    for seed in 0..50 {
        let runs = [(); 2]
            .map(|()| links::run(seed, links::Sabotage::None).map(|summary| format!("{summary:?}")).ok());
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
}

#[test]
fn a_command_to_any_node_is_answered_with_the_truth_and_done_once() {
    let (from, count) = (setting("STADIUM_SEEDS_FROM", 0), setting("STADIUM_SEEDS", 600));
    let failure = first_failure_of(from, count, |seed| forward::run(seed, forward::Sabotage::None).err());
    if let Some(failure) = failure {
        panic!("{failure}");
    }
}

#[test]
fn nodes_that_break_a_rule_of_forwarded_commands_are_found_out() {
    use forward::Sabotage::{Due, GivenBack, Ids, Unknown};
    for sabotage in [Ids, Unknown, Due, GivenBack] {
        let failure = first_failure_of(0, 200, |seed| forward::run(seed, sabotage).err());
        assert!(failure.is_some(), "200 seeds did not notice {sabotage:?}");
    }
}

#[test]
fn everything_happens_to_forwarded_commands() {
    let mut sum = forward::Summary::default();
    for seed in 0..200 {
        sum += forward::run(seed, forward::Sabotage::None).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let forward::Summary { accepted, refused, unknown, sent, given_back, lost, claims, kills } = sum;
    let often = [accepted, refused, sent, given_back, lost, claims, kills];
    assert!(often.iter().all(|count| *count > 100) && unknown > 0, "{sum:?}");
}

#[test]
fn one_seed_is_one_run_of_forwarded_commands() {
    for seed in 0..50 {
        let runs = [(); 2]
            .map(|()| forward::run(seed, forward::Sabotage::None).map(|summary| format!("{summary:?}")).ok());
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
}

#[test]
fn backups_are_restored_as_the_server_was_whatever_is_under_way() {
    let (from, count) = (setting("STADIUM_SEEDS_FROM", 0), setting("STADIUM_SEEDS", 600));
    // Each writes files, so a quarter of them takes as long as all of the others.
    let count = count.div_ceil(4);
    let failure = first_failure_of(from, count, |seed| backup::run(seed, backup::Sabotage::None).err());
    if let Some(failure) = failure {
        panic!("{failure}");
    }
}

#[test]
fn programs_that_break_a_rule_of_backups_are_found_out() {
    use backup::Sabotage::{Create, Hold, Markers, Moment};
    for sabotage in [Markers, Moment, Hold, Create] {
        let failure = first_failure_of(0, 400, |seed| backup::run(seed, sabotage).err());
        assert!(failure.is_some(), "400 seeds did not notice {sabotage:?}");
    }
}

#[test]
fn everything_happens_to_backups() {
    let mut sum = backup::Summary::default();
    for seed in 0..80 {
        sum += backup::run(seed, backup::Sabotage::None).unwrap_or_else(|failure| panic!("{failure}"));
    }
    let backup::Summary { backups, failed, removals, removed, objects, unremoved, .. } = sum;
    let backup::Summary { restored, between, unrestored, kills, stops, forced, failures, .. } = sum;
    let often = [backups, failed, removals, objects, unremoved, restored, between, unrestored];
    assert!(often.iter().chain([&kills, &stops, &forced, &failures]).all(|count| *count > 10), "{sum:?}");
    assert!(removed > 2 && sum.begun_again > 2 && sum.found_flips > 2, "{sum:?}");
}

#[test]
fn one_seed_is_one_run_of_backups() {
    for seed in 0..10 {
        let runs = [(); 2]
            .map(|()| backup::run(seed, backup::Sabotage::None).map(|summary| format!("{summary:?}")).ok());
        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
}
