//! The shards, as `stadium_shard` takes them.
//!
//! All of their data is in one folder of the data directory, or in memory; how many there are is
//! decided by the folder where it exists.

use std::path::Path;

use stadium_queue::Bounds;
use stadium_shard::{NodeBudget, Settings as ShardSettings, Storage};

use crate::error::Error;
use crate::settings::{Settings, ShardStore};

/// The folder in the data directory.
const FOLDER: &str = "shards";

/// Shards of a new directory at most, where the settings name no number. More than that only make
/// batches smaller.
const COUNT_MAX: usize = 4;

/// The shards of a data directory.
pub(crate) fn settings(settings: &Settings, data: &Path) -> ShardSettings {
    let Settings { shards, journal, queue, wallet, push, session, .. } = settings;
    let count = match shards.count {
        // Those of the cluster are not here, and sessions need no more.
        _ if settings.cluster.name.is_some() => 1,
        0 => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            u16::try_from(cores.min(COUNT_MAX)).unwrap_or(1)
        }
        count => count,
    };
    let usual = ShardSettings::in_directory(data.join(FOLDER), count);
    let storage = match shards.store {
        ShardStore::Files => usual.storage,
        ShardStore::Memory => Storage::Memory { bytes_max: shards.memory_bytes_max },
    };
    ShardSettings {
        storage,
        journal: stadium_journal::Options {
            segment_bytes: rounded(journal.segment_bytes),
            reserve_bytes: rounded(journal.reserve_bytes),
            record_bytes_max: record_bytes_max(settings),
            waiting_bytes_max: bytes(journal.unsynced_bytes_max),
            tail_bytes: bytes(journal.tail_bytes),
            ..usual.journal
        },
        bounds: Bounds {
            jobs_max: queue.jobs_max,
            queues_max: queue.queues_max,
            dedups_max: queue.dedups_max,
            schedules_max: queue.schedules_max,
            payload_bytes_max: queue.payload_bytes_max,
            finished_max: queue.finished_max,
            ..usual.bounds
        },
        wallet: stadium_wallet::Bounds {
            accounts_max: wallet.accounts_max,
            transfers_remembered: wallet.transfers_remembered,
            holds_max: wallet.holds_max,
            pending_max: wallet.pending_max,
            seal_after: u64::from(wallet.seal_after_s) * 1_000,
        },
        push: stadium_push::Bounds {
            apps_max: push.apps_max,
            devices: stadium_registry::Limits {
                devices_max: push.devices_max,
                tags_per_device: push.tags_per_device_max,
                attributes_per_device: push.attributes_per_device_max,
                devices_per_user: push.devices_per_user_max,
                text_bytes_max: push.text_bytes_max,
                tags_max: push.tags_max,
                attribute_names_max: push.attribute_names_max,
                field_values_max: push.field_values_max,
            },
            pushes_max: push.pushes_max,
            pushes_bytes_max: push.pushes_bytes_max,
            names_max: push.names_max,
            payload_bytes_max: push.payload_bytes_max,
        },
        session: stadium_session::Bounds {
            sessions_max: session.sessions_max,
            deliveries_max: session.letters_max,
            message_bytes_max: session.message_bytes_max,
            retained_max: session.retained_max,
            retained_bytes_max: session.retained_bytes_max,
            origins_max: session.origins_max,
        },
        mailbox_commands_max: shards.waiting_max as usize,
        mailbox_bytes_max: bytes(shards.waiting_bytes_max),
        mailboxes_commands_max: shards.waiting_total_max as usize,
        mailboxes_bytes_max: bytes(shards.waiting_total_bytes_max),
        threads: shards.threads,
        journal_threads: shards.journal_threads,
        budget: NodeBudget {
            preallocated_bytes: shards.preallocated_bytes_max,
            memory_bytes: shards.journal_memory_bytes_max,
            recovery_bytes: shards.recovery_bytes_max,
            open_segments: shards.open_segments_max as usize,
        },
        waiting_max: shards.consumers_max as usize,
        checkpoint_bytes: shards.checkpoint_journal_bytes,
        hold_bytes_max: settings.backup.hold_bytes_max,
        ..usual
    }
}

/// Whether shards in memory would leave others in files unread, which nobody means.
pub(crate) fn check(settings: &Settings, data: &Path) -> Result<(), Error> {
    if settings.shards.store == ShardStore::Memory && data.join(FOLDER).exists() {
        return Err(Error::Data(format!(
            "the data directory {} holds shards in files, and shards.store = \"memory\" would neither read nor change them: set \
             shards.store to \"files\", or name another directory in server.data",
            data.display()
        )));
    }
    Ok(())
}

/// The longest record: what commands usually make, and the largest job and push in any case, as far
/// as a segment has room.
pub(crate) fn record_bytes_max(settings: &Settings) -> usize {
    let usual = stadium_journal::Options::default().record_bytes_max;
    let job = settings.queue.payload_bytes_max as usize + BESIDE_PAYLOAD_BYTES;
    let room = bytes(rounded(settings.journal.segment_bytes)).saturating_sub(SEGMENT_FRAME_BYTES);
    usual.max(job).max(push_bytes_max(settings)).min(room)
}

/// A push with the largest payload, and with it the set of those who are left out of it.
pub(crate) fn push_bytes_max(settings: &Settings) -> usize {
    let push = &settings.push;
    // A bitmap is 8 KiB for each 65,536 devices, and a little.
    let set = (push.devices_max as usize).div_ceil(65_536) * 8_208;
    push.payload_bytes_max as usize + set + BESIDE_PAYLOAD_BYTES
}

/// Bytes that a record needs beside a payload of the largest size: a push's properties and
/// selector, and its other fields.
pub(crate) const BESIDE_PAYLOAD_BYTES: usize = 64 << 10;

/// Bytes of a segment that no record gets: its header, and its last frames.
const SEGMENT_FRAME_BYTES: usize = 8 << 10;

/// Sizes of files come in steps of 4 KiB.
fn rounded(bytes: u64) -> u64 {
    bytes & !4_095
}

fn bytes(bytes: impl Into<u64>) -> usize {
    usize::try_from(bytes.into()).unwrap_or(usize::MAX)
}
