//! Carries out the erasures of a standalone server while it serves.

use std::sync::Arc;
use std::time::Duration;

use crate::request::app::App;
use crate::users::erase::Work;
use crate::users::list::List as _;
use crate::users::local::Local;
use crate::users::record::Erasures;

/// The first and the longest delay before an erasure that got no further is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// The time between two looks for the shards of a server that starts.
const SHARDS_POLL: Duration = Duration::from_millis(200);

/// Carries out the erasures under way, one after the other, until the task is aborted.
pub(crate) async fn work(app: Arc<App>, erasures: Arc<Erasures>) {
    if app.config.shared.is_some() {
        return;
    }
    let shards = loop {
        match app.shards.get() {
            Some(shards) => break shards.clone(),
            None => tokio::time::sleep(SHARDS_POLL).await,
        }
    };
    let work = Work {
        shards: &shards,
        local: Local { sessions: &shards, fleet: Some(&*app.fleet), data_dir: &app.config.data_dir },
        erasures: &*erasures,
        version: &app.config.version,
        nodes: None,
    };
    let mut delay = AGAIN.0;
    loop {
        let begun = erasures.begun.notified();
        // A directory that never had one gets no files for it.
        let under_way = match Erasures::are_any(&app.config.data_dir) {
            true => erasures.under_way().unwrap_or_default(),
            false => Vec::new(),
        };
        let mut is_stuck = false;
        for id in under_way {
            if let Err(problem) = work.carry_out(&id).await {
                let words = problem.in_words();
                tracing::warn!(erasure = id, problem = words, "An erasure is tried again");
                erasures.waits(&id, Some(words));
                is_stuck = true;
            }
        }
        if is_stuck {
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(AGAIN.1);
        } else {
            delay = AGAIN.0;
            begun.await;
        }
    }
}
