//! First inputs of the targets whose formats libFuzzer would take long to find: whole events and whole
//! chunks of checkpoints, with the byte in front that chooses how the target reads them.

use stadium_registry::Changes;

use crate::{
    log_messages, memcache_answers, push_events, queue_events, registry_input, session_events, shard_items, wallet_events,
};

/// The targets that have first inputs.
pub const TARGETS: [&str; 8] = [
    "log_messages",
    "memcache_answers",
    "push_events",
    "queue_events",
    "registry_checkpoint",
    "session_events",
    "shard_items",
    "wallet_events",
];

/// The first inputs of a target; none for one that is not in [`TARGETS`].
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    match target {
        "log_messages" => inputs.extend(log_messages::samples()),
        "memcache_answers" => inputs.extend(memcache_answers::samples()),
        "push_events" => {
            inputs.extend(chunks(push_events::saved()));
            let records = push_events::RECORDS.iter().enumerate();
            inputs.extend(records.map(|(before, (_, _, events))| [&[1, before as u8], &events[..]].concat()));
        }
        "queue_events" => {
            let (mut queues, _) =
                queue_events::some_queues(&mut |record| inputs.push([&[1], record].concat()));
            inputs.extend(chunks(queue_events::saved(&mut queues)));
        }
        "registry_checkpoint" => {
            let changes = std::array::from_fn::<_, 3, _>(|_| Changes::default());
            let slices = registry_input::saved(&mut registry_input::some_registry(&changes));
            inputs.extend(chunks(slices).into_iter().map(|input| input[1..].to_vec()));
        }
        "session_events" => {
            inputs.extend([
                [&[1, 0], session_events::EVENTS].concat(),
                [&[1, 1], session_events::EVENTS].concat(),
                [&[1, 0], session_events::EVENTS_2].concat(),
            ]);
            inputs
                .extend(chunks(session_events::SESSIONS.saved(&mut session_events::some_sessions())));
        }
        "shard_items" => inputs.extend(shard_items::samples()),
        "wallet_events" => {
            inputs.extend(wallet_events::following().iter().map(|events| [&[1], &events[..]].concat()));
            inputs.extend(chunks(wallet_events::base().ledger_chunks()));
        }
        _ => {}
    }
    inputs
}

/// Each chunk as the input that replaces it by itself.
fn chunks(chunks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    chunks.iter().enumerate().map(|(which, chunk)| [&[0, which as u8], &chunk[..]].concat()).collect()
}
