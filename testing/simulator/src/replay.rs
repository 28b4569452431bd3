//! What runs must be what a recovery gives: the newest checkpoint and the records after it.
//!
//! A copy of a shard's disks is recovered beside the running shard. Both states are written out as the chunks of a
//! checkpoint, table by table, and compared byte by byte. A machine's own clock is not compared: time alone is not
//! written to the journal.

use std::collections::{BTreeMap, BTreeSet};

use stadium_queue::{Queues, Time};
use stadium_shard::core::Core;
use stadium_state_machine::encoding::Reader;
use stadium_wallet::Figures;

use crate::asker::Asker;
use crate::machine::{Machine, SimulatedStore};

/// Codes of the machines in chunks of checkpoints: docs/formats/record.md.
const QUEUE: u8 = 1;
const WALLET: u8 = 2;
const PUSH: u8 = 3;
const SESSION: u8 = 4;

/// The session machine's table of retained messages.
const RETAINED: u8 = 7;

/// The queue's table of jobs.
const JOBS: u8 = 1;

/// The queue's table of lanes: each is the jobs of a queue, a priority and a key.
const LANES: u8 = 2;

/// The queue's table of dedup ids.
const DEDUP_IDS: u8 = 5;

/// Bytes that mark the places of a page that are in use.
const MASK_BYTES: usize = 32;

/// Bytes in front of a machine's own chunk: the machine's code and its version.
const HEADER_BYTES: usize = 2;

/// The most entries of a table that stand in one page: a table that was never larger gives an entry the same place in
/// both states.
const PAGE_ENTRIES: u64 = 256;

/// Compares a running shard with what a recovery of its disks as they are now gives. Returns
/// whether it could: not while a checkpoint is being encoded or the journal is closed.
///
/// # Errors
///
/// The first difference, or why the copy cannot be opened.
pub fn compare(machine: &mut Machine, now: Time) -> Result<bool, String> {
    let Some(core) = &mut machine.core else { return Ok(false) };
    let is_whole = core.journal().is_some_and(|journal| {
        use stadium_journal::Journal as _;
        journal.durable().is_ok_and(|durable| durable == journal.end())
    });
    if !is_whole {
        return Ok(false);
    }
    let Some(live) = core.state() else { return Ok(false) };
    let live_totals = totals(core);
    let mut copy = machine.fork();
    copy.open(now).map_err(|error| format!("a copy of its disks does not open: {error}"))?;
    let Some(core) = &mut copy.core else { return Ok(false) };
    let recovered = core.state().ok_or("a shard that has just opened encodes a checkpoint")?;
    same(&live, &recovered, now)?;
    if let Some(standby) = machine.standby() {
        same(&live, &standby.state(), now).map_err(|what| format!("its standby is another: {what}"))?;
    }
    let recovered_totals = totals(core);
    if live_totals != recovered_totals {
        return Err(format!("it has {live_totals}; a recovery gives {recovered_totals}"));
    }
    Ok(true)
}

/// What stands beside the tables.
fn totals(core: &Core<SimulatedStore, Asker, Queues>) -> String {
    let jobs = core.queues().map(stadium_queue::Queues::jobs);
    // Booked and refused transfers are counted since the start.
    let wallets = core.ledger().map(|ledger| Figures { booked: 0, refused: 0, ..ledger.figures() });
    let sessions = core.sessions().map(stadium_session::Sessions::figures);
    format!("{jobs:?} jobs, {wallets:?}, {sessions:?}")
}

fn same(live: &[Vec<u8>], recovered: &[Vec<u8>], now: Time) -> Result<(), String> {
    let has_pages = live.iter().chain(recovered).any(|chunk| has_pages(chunk));
    let (live_lanes, recovered_lanes) = (lanes(live), lanes(recovered));
    for (live, recovered) in live.iter().zip(recovered) {
        if matches!(live[..], [QUEUE, _, LANES, ..]) {
            continue;
        }
        if matches!(live[..], [SESSION, _, RETAINED, ..]) {
            same_retained(&retained(live), &retained(recovered))?;
            continue;
        }
        let (one, other) =
            (without_time(live, &live_lanes, now), without_time(recovered, &recovered_lanes, now));
        if one == other {
            continue;
        }
        if has_pages && entries(live) == entries(recovered) && entries(live) > 0 {
            continue;
        }
        let at = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
        return Err(format!(
            "{} differs from byte {at} on: {} entries, {}; a recovery gives {} entries, {}",
            named(live),
            entries(live),
            excerpt(&one, at),
            entries(recovered),
            excerpt(&other, at)
        ));
    }
    if live.len() != recovered.len() {
        return Err(format!("{} tables; a recovery gives {}", live.len(), recovered.len()));
    }
    Ok(())
}

/// Which table of which machine a chunk is.
fn named(chunk: &[u8]) -> String {
    let machine = match chunk.first() {
        Some(&QUEUE) => "queue",
        Some(&WALLET) => "wallet",
        Some(&PUSH) => "push",
        _ => "session",
    };
    format!("table {} of machine {machine}", chunk.get(HEADER_BYTES).copied().unwrap_or_default())
}

/// The entries of a table, as the end of its slice states; 0 for a chunk that is no table's.
fn entries(chunk: &[u8]) -> u64 {
    const END: u8 = 3;
    match chunk.split_last_chunk::<8>() {
        Some((before, count)) if before.last() == Some(&END) && before.len() > HEADER_BYTES + 1 => {
            u64::from_le_bytes(*count)
        }
        _ => 0,
    }
}

/// Whether a table has more than one page, or had: entries that are left may stand in a later one.
fn has_pages(chunk: &[u8]) -> bool {
    const PAGE: u8 = 1;
    let [_, _, _, PAGE, a, b, c, d, rest @ ..] = chunk else { return false };
    let Some((mask, _)) = rest.split_first_chunk::<MASK_BYTES>() else { return false };
    let in_page: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
    u32::from_le_bytes([*a, *b, *c, *d]) > 0 || u64::from(in_page) < entries(chunk)
}

/// The chunk without what follows from time alone: a machine's clock, and whether a job's delay is over.
fn without_time(chunk: &[u8], lanes: &BTreeMap<u32, Vec<u8>>, now: Time) -> Vec<u8> {
    match chunk {
        [QUEUE | WALLET, _, 0, ..] => without_clock(chunk),
        [QUEUE, _, DEDUP_IDS, ..] => held_ids(chunk, now),
        [QUEUE, _, JOBS, ..] => without_delays(chunk, lanes),
        _ => chunk.to_vec(),
    }
}

/// Jobs are 64 bytes each: docs/formats/checkpoint.md. The states 0 (delayed) and 1 (due) are taken for one, and a lane's
/// number for what the lane is: an idle lane may have gone.
fn without_delays(chunk: &[u8], lanes: &BTreeMap<u32, Vec<u8>>) -> Vec<u8> {
    const JOB_BYTES: usize = 64;
    const LANE: std::ops::Range<usize> = 48..52;
    let mut jobs = Vec::new();
    each_entry(chunk, |place, bytes| {
        let (job, _) = bytes.split_at_checked(JOB_BYTES)?;
        let mut job = job.to_vec();
        if job[0] >> 3 & 7 == 1 {
            job[0] &= !(7 << 3);
        }
        let lane = u32::from_le_bytes(job[LANE].try_into().ok()?);
        job[LANE].fill(0);
        jobs.extend(place.to_le_bytes());
        jobs.extend(job);
        jobs.extend(lanes.get(&lane).into_iter().flatten());
        Some(JOB_BYTES)
    });
    jobs
}

/// The dedup ids that hold after this time, wherever they stand: time alone removes them.
fn held_ids(chunk: &[u8], now: Time) -> Vec<u8> {
    let mut held = BTreeSet::new();
    each_entry(chunk, |_, bytes| {
        let mut input = Reader::new(bytes);
        input.number().ok()?;
        input.text().ok()?;
        input.number().ok()?;
        input.array::<8>().ok()?;
        let until = Time(input.number().ok()?);
        let length = input.position();
        if until > now {
            held.insert(bytes[..length].to_vec());
        }
        Some(length)
    });
    held.into_iter().flatten().collect()
}

/// The retained messages, wherever they stand: nothing names them by their places, and there may be thousands.
fn retained(chunk: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut messages = BTreeSet::new();
    each_entry(chunk, |_, bytes| {
        let mut input = Reader::new(bytes);
        // Its number, and when it was set; its owner.
        input.number().ok()?;
        input.number().ok()?;
        if input.byte().ok()? == 1 {
            input.text().ok()?;
        }
        // The message.
        input.byte().ok()?;
        input.number().ok()?;
        input.number().ok()?;
        input.number().ok()?;
        let length = input.small().ok()?;
        input.take(length).ok()?;
        let length = input.position();
        messages.insert(bytes[..length].to_vec());
        Some(length)
    });
    messages
}

fn same_retained(live: &BTreeSet<Vec<u8>>, recovered: &BTreeSet<Vec<u8>>) -> Result<(), String> {
    let (missing, more) = (live.difference(recovered), recovered.difference(live));
    if live == recovered {
        return Ok(());
    }
    Err(format!(
        "{} retained messages and removals; a recovery gives {}, {} of them are not there and {} are missing",
        live.len(),
        recovered.len(),
        more.count(),
        missing.count()
    ))
}

/// The lanes by their places: a queue's place, a priority and a key.
fn lanes(chunks: &[Vec<u8>]) -> BTreeMap<u32, Vec<u8>> {
    const KEY_AT: usize = 5;
    let mut lanes = BTreeMap::new();
    for chunk in chunks.iter().filter(|chunk| matches!(chunk[..], [QUEUE, _, LANES, ..])) {
        each_entry(chunk, |place, bytes| {
            let length = KEY_AT + 1 + usize::from(*bytes.get(KEY_AT)?);
            lanes.insert(place, bytes.get(..length)?.to_vec());
            Some(length)
        });
    }
    lanes
}

/// Shows each entry of a table with its place: `show` returns its length.
fn each_entry(chunk: &[u8], mut show: impl FnMut(u32, &[u8]) -> Option<usize>) {
    const PAGE: u8 = 1;
    const PAGE_HEADER_BYTES: usize = 5;
    let mut rest = &chunk[HEADER_BYTES + 1..];
    while let [PAGE, a, b, c, d, ..] = *rest {
        let page = u32::from_le_bytes([a, b, c, d]);
        let (mask, entries) = rest[PAGE_HEADER_BYTES..].split_at(MASK_BYTES);
        rest = entries;
        let places =
            (0..PAGE_ENTRIES as u32).filter(|place| mask[*place as usize / 8] >> (place % 8) & 1 == 1);
        for place in places {
            let Some(length) = show(page * PAGE_ENTRIES as u32 + place, rest) else { return };
            rest = &rest[length..];
        }
    }
}

/// A chunk that begins with a machine's clock, without it.
fn without_clock(chunk: &[u8]) -> Vec<u8> {
    // The table's number and its version; then the clock, seven bits a byte.
    let clock = HEADER_BYTES + 2;
    let length = chunk[clock..].iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    [&chunk[..clock], &chunk[clock + length..]].concat()
}

fn excerpt(bytes: &[u8], at: usize) -> String {
    let from = at.saturating_sub(8);
    let to = (at + 24).min(bytes.len());
    format!("{:02x?} of {} bytes", &bytes[from.min(to)..to], bytes.len())
}
