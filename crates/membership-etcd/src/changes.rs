//! A watch of everything below a key, which ends where etcd goes silent.
//!
//! A watch tells nothing while nothing changes. So etcd is asked now and then how far it is.

use std::time::Duration;

use stadium_etcd::messages::{Event, WatchCreateRequest, WatchResponse, end_of};
use stadium_etcd::{Client, Failure, Streaming};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior};

/// Between two questions how far the watch is.
const PROGRESS: Duration = Duration::from_secs(1);

/// Questions of that kind that may be unanswered at one time.
const UNANSWERED_MAX: u32 = 2;

/// The changes below a key.
pub(crate) struct Changes {
    answers: Streaming<WatchResponse>,
    ask: mpsc::Sender<()>,
    ticks: Interval,
    unanswered: u32,
}

/// The end of a watch.
pub(crate) enum ChangesEnded {
    Failed(Failure),
    Lost(String),
    /// Changes that were missed are compacted away.
    Compacted,
}

impl Changes {
    /// Begins with those of this revision.
    pub(crate) async fn begin(client: &Client, root: &str, start_revision: i64) -> Result<Self, Failure> {
        let question = WatchCreateRequest {
            key: root.into(),
            range_end: end_of(root),
            start_revision,
            // Fragments would show parts of a revision; the largest transactions here have few keys.
            fragment: false,
        };
        let (ask, asked) = mpsc::channel(1);
        let answers = client.watch_asked(question, asked).await?;
        let mut ticks = tokio::time::interval(PROGRESS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { answers, ask, ticks, unanswered: 0 })
    }

    /// The next changes, of whole revisions. One that is dropped before its end loses none.
    pub(crate) async fn next(&mut self) -> Result<Vec<Event>, ChangesEnded> {
        let lost = |why: &str| ChangesEnded::Lost(why.to_owned());
        loop {
            let answer = tokio::select! {
                answer = self.answers.message() => {
                    answer.map_err(|status| ChangesEnded::Failed(Failure::from(status)))?
                }
                _ = self.ticks.tick() => {
                    if self.unanswered > UNANSWERED_MAX {
                        return Err(lost("etcd does not say how far its watch is"));
                    }
                    self.unanswered += 1;
                    // A question that was not taken yet is as good.
                    _ = self.ask.try_send(());
                    continue;
                }
            };
            let Some(answer) = answer else { return Err(lost("etcd closed the watch")) };
            self.unanswered = 0;
            if answer.compact_revision > 0 {
                return Err(ChangesEnded::Compacted);
            }
            if answer.canceled {
                return Err(lost(&format!("etcd ended the watch: {}", answer.cancel_reason)));
            }
            if !answer.events.is_empty() {
                return Ok(answer.events);
            }
        }
    }
}
