//! An operator removes retained messages, without a publish: subscribers are sent nothing.

use std::sync::Arc;

use super::Broker;
use super::durable::{PurgeId, What};
use super::host::Host;
use super::parts::Retain;
use super::publication::{Head, Message, Publication};

/// How far a request to remove retained messages came at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purging {
    /// Messages that are removed.
    pub removed: usize,
    /// Messages whose removal is not durable yet: [`Host::purged`] follows for each.
    pub waits: usize,
}

impl<L, I> Broker<L, I>
where
    L: Copy + Eq + std::fmt::Debug,
    I: Clone,
{
    /// Removes the retained messages of these topics: those of one owner, or of any. A topic
    /// without one, or whose message is another's by now, is passed over.
    pub fn purge_retained<H>(
        &mut self,
        host: &mut H,
        topics: &[String],
        owner: Option<&str>,
        purge: PurgeId,
    ) -> Purging
    where
        H: Host<Link = L, Identity = I>,
    {
        let mut purging = Purging::default();
        for topic in topics {
            let Some(stored) = self.retained.remove_for_now(topic, owner) else { continue };
            if !self.config.durable {
                self.retained.confirm(topic, stored.number);
                purging.removed += 1;
                continue;
            }
            let head = Head { retain: true, ..Head::default() };
            let message = Message { topic, properties: &[], payload: &[], head };
            let publication = Arc::new(Publication::new(&message));
            let what = What::Retained {
                publication: Arc::clone(&publication),
                stored: stored.clone(),
                purge: Some(purge),
            };
            let then = self.pendings.add(1, what);
            host.retain(&Retain { publication: &publication, stored: &stored, must: false }, then);
            purging.waits += 1;
        }
        purging
    }
}
