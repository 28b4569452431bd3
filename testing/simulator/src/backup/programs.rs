//! The programs of this world: one that writes backups as a server does, and one that removes old
//! ones.
//!
//! The rules of a server's backups are those of `crates/node/src/backups.rs`: hold what no backup
//! has, wait for the moment, try again with growing delays.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use stadium_archive::{Archive, Creation, Error, Inventory, Keep, Settings, State, prune};
use stadium_objects::{Access, Place};

use super::Sabotage;
use super::store::Handle;
use super::time::Time;
use super::world::Shared;

/// The first and the longest delay after a failure, milliseconds.
const AGAIN_MS: (u64, u64) = (1_000, 60_000);
/// A server that does not answer for so long, milliseconds, gets no backup.
const MOMENT_WITHIN_MS: u64 = 300_000;

/// Opens the place of the archive over a handle.
pub async fn place(handle: &Handle) -> Place {
    let access = Access { retry_for: Duration::ZERO, environment: Vec::new() };
    let place = Place::find("file:///simulated/backups", &access).await.expect("it is a folder's URL");
    place.with_store(Arc::new(handle.clone()))
}

/// The settings of a program.
pub fn settings(grace_ms: u64, time: &Time) -> Settings {
    Settings { grace: Duration::from_millis(grace_ms), clock: Arc::new(time.clone()), ..Settings::default() }
}

/// Writes backups until it is killed.
pub async fn writes(shared: Rc<Shared>, handle: Handle, slot: u64, keep: Option<Keep>) {
    let mut inventory = None;
    let mut pause_ms = AGAIN_MS.0;
    loop {
        let wait_ms = match backup(&shared, &handle, &mut inventory, slot).await {
            Ok(()) => {
                pause_ms = AGAIN_MS.0;
                if let (Some(keep), Some(inventory)) = (keep, &inventory) {
                    let pruned = prune(inventory.archive(), keep).await;
                    shared.removed("server", pruned);
                }
                shared.plan.every_ms
            }
            Err(error) => {
                shared.failed(&format!("backup of program {slot}"), &error);
                pause_ms = (pause_ms * 2).min(AGAIN_MS.1);
                pause_ms / 2
            }
        };
        shared.time.pause(slot, wait_ms).await;
    }
}

async fn backup(
    shared: &Shared,
    handle: &Handle,
    inventory: &mut Option<Inventory>,
    slot: u64,
) -> Result<(), Error> {
    let is_server = slot == super::world::SERVER;
    let count = shared.plan.shards;
    let inventory = match inventory {
        Some(inventory) => inventory,
        none => {
            let settings = settings(shared.plan.grace_ms, &shared.time);
            let archive = Archive::create(place(handle).await, count, &settings).await?;
            none.insert(Inventory::of(archive)?)
        }
    };
    let began_ms = shared.time.now_ms();
    let data = shared.server.borrow().data.clone();
    let creation = Creation::begin(inventory, &data).await?;
    if is_server {
        shared.server.borrow_mut().hold(creation.stored().as_deref());
    }
    let moment_ms = shared.server.borrow_mut().moment(shared.time.now_ms());
    shared.books.borrow_mut().attempt(moment_ms, began_ms);
    shared.says(|| format!("program {slot} begins a backup of {moment_ms} ms"));
    let until_ms = shared.time.now_ms() + MOMENT_WITHIN_MS;
    while shared.sabotage != Sabotage::Moment && !shared.server.borrow().is_durable(moment_ms) {
        if shared.time.now_ms() > until_ms {
            creation.give_up().await;
            return Err(Error::Incomplete("the server does not answer".to_owned()));
        }
        shared.time.pause(slot, 1).await;
    }
    let seals = vec![None; usize::from(count)];
    let state = State {
        moment_ms,
        seals,
        version: "simulated".to_owned(),
        configuration: Vec::new(),
        moving: Vec::new(),
    };
    let finished = creation.finish(state, None, &data, &mut |_| {}).await;
    shared.books.borrow_mut().ended(moment_ms, shared.time.now_ms());
    let backup = finished?;
    shared.says(|| format!("program {slot} has stored backup {} of {moment_ms} ms", backup.number));
    shared.books.borrow_mut().acknowledge(&backup);
    shared.summary.borrow_mut().backups += 1;
    if is_server {
        let stored: Vec<_> = backup.shards.iter().map(|shard| stadium_journal::Position(shard.end)).collect();
        shared.server.borrow_mut().hold(Some(&stored));
    }
    Ok(())
}

/// Removes old backups until it is killed.
pub async fn removes(shared: Rc<Shared>, handle: Handle, slot: u64, keep: Keep) {
    loop {
        shared.time.pause(slot, shared.plan.every_ms).await;
        let removed = async {
            let settings = settings(shared.plan.grace_ms, &shared.time);
            let archive = Archive::open(place(&handle).await, &settings).await?;
            prune(&archive, keep).await
        };
        shared.removed("another program", removed.await);
    }
}
