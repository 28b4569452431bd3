//! Webhooks: the feeds of apps that are to be posted somewhere, posted from here.
//!
//! Every few seconds the apps' settings are looked at. Each feed gets its queue, and each feed with a webhook a worker of its own
//! ([`worker`]), which ends when the webhook changes or goes: jobs that are not posted yet stay in
//! the queue. A receiver gets each job at least once, and recognizes a second time by `webhook-id`.
//! The edge gets the feeds that want what devices publish.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use stadium_edge::MessageFeed;
use stadium_push::feed::{Feed, Kind, Webhook};
use stadium_push::{Answer, AppName, AppView, Command};
use stadium_queue::{Backoff, QueueName, QueueSettings, Spread};
use stadium_shard::Shards;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

mod post;
mod signature;
#[cfg(test)]
mod tests;
mod worker;

use post::Poster;
pub(crate) use post::Reach;
use worker::Means;

/// How often the apps' settings are looked at: so long after a change a webhook follows it.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The same until the shards have answered once.
const LOOK_FIRST_EVERY: Duration = Duration::from_millis(500);

/// Apps asked for at once.
const APPS_MAX: u32 = 1_000;

/// Posts of all feeds at a time; each blocks a thread while it waits for an answer.
const POSTS_MAX: usize = 32;

/// Time for a receiver to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Attempts before a job is dead: with delays that double up to an hour, most of a day.
const ATTEMPTS_MAX: u16 = 30;

/// Gives the edge the feeds that want what devices publish.
pub(crate) type Follow = Box<dyn Fn(Vec<MessageFeed>) + Send + Sync>;

/// How often shards that have just opened are asked for the feeds before devices are let in without them.
const INTRODUCE_ATTEMPTS: u32 = 20;

/// The pause between two of these attempts.
const INTRODUCE_PAUSE: Duration = Duration::from_millis(100);

/// The longest delay between two attempts.
const DELAY_MAX_MS: u64 = 3_600_000;

/// Posts what feeds have.
pub(crate) struct Webhooks {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Webhooks {
    /// Begins to look for feeds, and to post.
    pub(crate) fn start(shards: Shards, follow: Follow, reach: Reach, runtime: &Runtime) -> Self {
        let (stop, stopped) = watch::channel(false);
        let turns = Arc::new(Semaphore::new(POSTS_MAX));
        let task = runtime.spawn(async move {
            let means = Means { poster: Poster::new(reach, TIMEOUT), turns, shards };
            Posting { means, follow, workers: HashMap::new(), declared: HashMap::new() }.look(stopped).await;
        });
        Self { stop, task }
    }

    /// Posts no more, and waits for what is on its way, so long at most; jobs that are not done
    /// then are posted again.
    pub(crate) async fn stop(self, at_most: Duration) {
        self.stop.send_replace(true);
        let abort = self.task.abort_handle();
        if tokio::time::timeout(at_most, self.task).await.is_err() {
            abort.abort();
            tracing::warn!("Webhooks were not answered in time; they are posted again");
        }
    }
}

/// What is posted now.
struct Posting {
    means: Means,
    follow: Follow,
    workers: HashMap<QueueName, Working>,
    /// Queues that were made, or were there.
    declared: HashMap<QueueName, ()>,
}

struct Working {
    webhook: Arc<Webhook>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Posting {
    async fn look(mut self, mut stopped: watch::Receiver<bool>) {
        let mut pause = LOOK_FIRST_EVERY;
        loop {
            let feeds = tokio::select! {
                biased;
                // Also where nobody can stop it any more.
                _ = stopped.wait_for(|stop| *stop) => break,
                feeds = feeds(&self.means.shards) => feeds,
            };
            // Where the shards do not answer, all stays as it is.
            if let Some(feeds) = feeds {
                self.follow(feeds).await;
                pause = LOOK_EVERY;
            }
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stop| *stop) => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        for working in self.workers.values() {
            working.stop.send_replace(true);
        }
        for (_, working) in self.workers.drain() {
            let _ = working.task.await;
        }
    }

    /// Starts and stops posting as the settings define.
    async fn follow(&mut self, feeds: Vec<Known>) {
        let wanted: HashMap<QueueName, Webhook> = feeds
            .iter()
            .filter_map(|known| Some((known.queue.clone(), known.feed.webhook.clone()?)))
            .collect();
        self.workers.retain(|queue, working| {
            let stays = wanted.get(queue).is_some_and(|webhook| *webhook == *working.webhook)
                && !working.task.is_finished();
            if !stays {
                working.stop.send_replace(true);
            }
            stays
        });
        self.declared.retain(|queue, ()| feeds.iter().any(|known| known.queue == *queue));
        for Known { queue, .. } in &feeds {
            if !self.declared.contains_key(queue) && declare(&self.means.shards, queue).await {
                self.declared.insert(queue.clone(), ());
            }
        }
        (self.follow)(of_messages(&feeds));
        for (queue, webhook) in wanted {
            if self.workers.contains_key(&queue) || !self.declared.contains_key(&queue) {
                continue;
            }
            let (stop, stopped) = watch::channel(false);
            let webhook = Arc::new(webhook);
            tracing::info!(queue = queue.as_str(), url = webhook.url, "A feed is posted to its webhook");
            let task =
                tokio::spawn(worker::work(self.means.clone(), queue.clone(), Arc::clone(&webhook), stopped));
            self.workers.insert(queue, Working { webhook, stop, task });
        }
    }
}

/// A feed of an app, and its queue.
struct Known {
    queue: QueueName,
    app: AppName,
    feed: Feed,
}

/// Gives an edge that does not run yet the feeds that want what devices publish, so that it misses
/// nothing. Makes their queues.
pub(crate) async fn introduce(shards: &Shards, follow: &Follow) {
    for _ in 0..INTRODUCE_ATTEMPTS {
        if let Some(mut feeds) = feeds(shards).await {
            feeds.retain(|known| known.feed.kinds.contains(Kind::Message));
            for known in &feeds {
                declare(shards, &known.queue).await;
            }
            return follow(of_messages(&feeds));
        }
        tokio::time::sleep(INTRODUCE_PAUSE).await;
    }
    tracing::warn!("The shards do not answer which feeds want messages of devices; they are asked again");
}

/// Those that want what devices publish.
fn of_messages(feeds: &[Known]) -> Vec<MessageFeed> {
    let wants = feeds.iter().filter(|known| known.feed.kinds.contains(Kind::Message));
    wants
        .map(|Known { app, feed, .. }| MessageFeed {
            app: app.clone(),
            feed: feed.name.clone(),
            topics: feed.topics.clone(),
        })
        .collect()
}

/// All feeds; `None` where the shards do not answer.
async fn feeds(shards: &Shards) -> Option<Vec<Known>> {
    let mut feeds = Vec::new();
    let mut after = None;
    loop {
        let apps = match shards.submit_push(Command::Apps { after, apps_max: APPS_MAX }).await {
            Ok(Answer::Apps(apps)) => apps,
            Ok(_) => {
                tracing::error!("A shard's answer about apps is of another kind");
                return None;
            }
            Err(refusal) => {
                tracing::debug!(%refusal, "The feeds of apps cannot be looked at now");
                return None;
            }
        };
        apps.iter().for_each(|view| of_app(view, &mut feeds));
        match apps.last() {
            Some(last) if apps.len() >= APPS_MAX as usize => after = Some(last.app.clone()),
            _ => return Some(feeds),
        }
    }
}

fn of_app(view: &AppView, feeds: &mut Vec<Known>) {
    for feed in view.settings.iter().flat_map(|settings| &settings.feeds) {
        match QueueName::new(&Feed::queue(&view.app, &feed.name)) {
            Ok(queue) => feeds.push(Known { queue, app: view.app.clone(), feed: feed.clone() }),
            Err(error) => {
                tracing::error!(app = view.app.as_str(), feed = feed.name.as_str(), %error, "A feed has no queue")
            }
        }
    }
}

/// Makes a feed's queue where there is none: on all shards, so that each puts its events in the
/// record of what happened.
async fn declare(shards: &Shards, queue: &QueueName) -> bool {
    use stadium_queue::{Command, Refusal};
    match shards.submit(Command::Stats { queue: queue.clone() }).await {
        // An operator may have changed it; an existing queue stays.
        Ok(_) => return true,
        Err(Refusal::Busy { .. } | Refusal::Unknown { .. }) => return false,
        Err(Refusal::Rejected { .. }) => {}
    }
    let backoff = Backoff { max: DELAY_MAX_MS, ..Backoff::default() };
    let settings = QueueSettings {
        spread: Spread::AllShards,
        attempts_max: ATTEMPTS_MAX,
        backoff,
        ..QueueSettings::default()
    };
    match shards.submit(Command::Declare { queue: queue.clone(), settings }).await {
        Ok(_) => true,
        Err(refusal) => {
            tracing::warn!(queue = queue.as_str(), %refusal, "A feed's queue cannot be made");
            false
        }
    }
}
