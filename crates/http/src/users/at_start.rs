//! Erasures of a server that starts, before anybody is served: those that a stop interrupted, and
//! those that a restore of an older state undid.
//!
//! A finished erasure names its user only by a salted hash. So all names in the restored state are
//! hashed: of devices, retained messages, keys of jobs, and wallets.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use stadium_registry::UserName;
use stadium_shard::Shards;

use crate::request::problem::Problem;
use crate::users::erase::Work;
use crate::users::find;
use crate::users::list::{List as _, Running};
use crate::users::local::Local;
use crate::users::record::{Erasures, new_id};
use crate::users::spelled::{not_kept, now_ms};

/// Tries of a step that a shard refuses, before the server gives up.
const TRIES: u32 = 5;

/// The delay between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// The principal of an erasure that a restore has carried out again.
pub(crate) const BY_RESTORE: &str = "restore";

/// Carries out what is left of erasures. Called once, before loops read the sessions.
///
/// # Errors
/// In words: a restored state has users that were erased, and they could not be erased again. A
/// server must not serve it. Where only an interrupted erasure got no further, this succeeds, and
/// the server goes on with it while it serves.
pub async fn erase_at_start(data_dir: &Path, shards: &Shards, version: &str) -> Result<(), String> {
    if !Erasures::are_any(data_dir) {
        return Ok(());
    }
    let erasures = Erasures::of(data_dir);
    let local = Local { sessions: shards, fleet: None, data_dir };
    let work = Work { shards, local, erasures: &erasures, version, nodes: None };
    let repeats = erasures.to_repeat().map_err(|error| error.to_string())?;
    if let Some(hashes) = &repeats {
        tracing::info!(erasures = hashes.len(), "Erasures after the restored moment are carried out again");
        begin_again(&work, hashes).await.map_err(|problem| problem.in_words())?;
    }
    for id in erasures.under_way().map_err(|error| error.to_string())? {
        if let Err(problem) = tried(&work, &id).await {
            let words = problem.in_words();
            if repeats.is_some() {
                return Err(format!("an erasure is not carried out again: {words}"));
            }
            tracing::warn!(erasure = id, problem = words, "An erasure goes on while the server serves");
        }
    }
    match repeats {
        Some(_) => erasures.repeated().map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

async fn tried(work: &Work<'_>, id: &str) -> Result<(), Problem> {
    for _ in 1..TRIES {
        match work.carry_out(id).await {
            Ok(()) => return Ok(()),
            Err(problem) => tracing::warn!(erasure = id, problem = problem.in_words(), "Tried again"),
        }
        tokio::time::sleep(TRY_AGAIN).await;
    }
    work.carry_out(id).await
}

/// Begins an erasure of each user in the state whose hash is one of these.
async fn begin_again(work: &Work<'_>, hashes: &BTreeSet<String>) -> Result<(), Problem> {
    if hashes.is_empty() {
        return Ok(());
    }
    let mut erased = BTreeSet::new();
    for name in names(work).await? {
        if hashes.contains(&work.erasures.hash(&name).map_err(not_kept)?) {
            erased.insert(name);
        }
    }
    for user in erased {
        let id = new_id().map_err(not_kept)?;
        let running = Running { again: true, ..Running::new(id, user, BY_RESTORE, now_ms()) };
        let id = running.id.clone();
        let mut begun = work.erasures.begin(running.clone()).map_err(not_kept)?;
        while begun.is_none() {
            // As many are under way as may be: the oldest goes first.
            let under_way = work.erasures.under_way().map_err(not_kept)?;
            let Some(first) = under_way.first() else { break };
            tried(work, first).await?;
            begun = work.erasures.begin(Running { id: id.clone(), ..running.clone() }).map_err(not_kept)?;
        }
    }
    Ok(())
}

/// All names in the state that may be a user's.
pub(crate) async fn names(work: &Work<'_>) -> Result<BTreeSet<String>, Problem> {
    let (shards, sessions) = (work.shards, work.local.sessions);
    let mut names = BTreeSet::new();
    for app in find::apps(shards).await? {
        find::each_device(shards, &app, None, |view| {
            names.extend(view.device.user.map(|user| user.to_string()));
        })
        .await?;
    }
    find::each_session(sessions, |_, session| names.extend([session.connect.client.to_string()])).await?;
    find::each_retained(sessions, |_, one| names.extend(one.owner.map(|owner| owner.to_string()))).await?;
    find::each_job_key(shards, |key| names.extend([key.to_string()])).await?;
    find::each_account(shards, "", |account| {
        // A closed account that is empty is what an erasure leaves.
        names.extend(find::user_of(&account.wallet).filter(|_| !account.closed).map(str::to_owned));
        true
    })
    .await?;
    names.retain(|name| UserName::new(name.as_str()).is_ok());
    Ok(names)
}
