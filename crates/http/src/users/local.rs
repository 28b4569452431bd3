//! The data of a user that a server has for itself, also as a node of a cluster: counted and
//! removed.
//!
//! While the server serves, sessions and retained messages are their loops' and are removed through
//! the [`Fleet`]; before it does, they are the shards' alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_push::live::ClientId;
use stadium_session::{Change, Command as SessionCommand, Message, Outcome};
use stadium_shard::Shards;

use crate::fleet::{Fleet, NoRetained, PurgeMode, RetainedQuery};
use crate::request::problem::{FLEET_BUSY, Problem};
use crate::shards::ask_shards;
use crate::users::audit_lines::audit_lines;
use crate::users::list::NodePart;
use crate::users::spelled::not_kept;
use crate::users::{PageOf, find};

/// Retained messages that one request to the fleet removes.
const PURGED_AT_ONCE: usize = 1_000;

/// The end of a session may take this long to be durable; then the step is tried again.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

/// The time between two questions whether a session has ended.
const ENDED_POLL: Duration = Duration::from_millis(20);

/// The places where a server has them.
#[derive(Clone, Copy)]
pub(crate) struct Local<'a> {
    /// The shards with the sessions and the retained messages.
    pub(crate) sessions: &'a Shards,
    /// None while no loop has read its sessions yet.
    pub(crate) fleet: Option<&'a dyn Fleet>,
    pub(crate) data_dir: &'a Path,
}

impl Local<'_> {
    /// Counts what these clients have.
    pub(crate) async fn count(&self, clients: &BTreeSet<String>) -> Result<NodePart, Problem> {
        let (sessions, messages) = self.count_sessions(clients).await?;
        let retained = self.count_retained(clients).await?;
        let found = [("sessions", sessions), ("session_messages", messages), ("retained_messages", retained)];
        let found = BTreeMap::from(found.map(|(kind, count)| (kind.to_owned(), count)));
        Ok(NodePart { found, audit_lines: self.audit_lines(clients)?, ..NodePart::default() })
    }

    /// Lines of the audit log that are about these clients.
    pub(crate) fn audit_lines(&self, clients: &BTreeSet<String>) -> Result<u64, Problem> {
        Ok(audit_lines(self.data_dir, clients).map_err(not_kept)?.len() as u64)
    }

    /// Sessions of these clients, and the messages that they hold.
    pub(crate) async fn count_sessions(&self, clients: &BTreeSet<String>) -> Result<(u64, u64), Problem> {
        let mut messages: BTreeMap<String, u64> = BTreeMap::new();
        find::each_session(self.sessions, |_, session| {
            let client = session.connect.client.as_str();
            if clients.contains(client) {
                messages.insert(client.to_owned(), session.owed.len() as u64);
            }
        })
        .await?;
        // A loop has all messages of a session, also those that no shard keeps.
        if let Some(fleet) = self.fleet {
            for client in client_ids(clients) {
                let name = client.to_string();
                if let Some(report) = fleet.device(client).await {
                    messages.insert(name, report.queued + report.in_flight);
                }
            }
        }
        Ok((messages.len() as u64, messages.values().sum()))
    }

    /// Counts the retained messages of these clients.
    pub(crate) async fn count_retained(&self, clients: &BTreeSet<String>) -> Result<u64, Problem> {
        Ok(self.retained(clients).await?.len() as u64)
    }

    /// Ends the sessions of these clients. Their wills are not published.
    pub(crate) async fn end_sessions(&self, clients: &BTreeSet<String>) -> Result<(), Problem> {
        // A device that comes back at once has another session, with nothing in it.
        let kept = self.incarnations(clients).await?;
        let mut left = kept.clone();
        if let Some(fleet) = self.fleet {
            for client in client_ids(clients) {
                fleet.forget_session(client).await?;
            }
            // The loops write the ends down without being waited for.
            let until = Instant::now() + ENDED_WITHIN;
            loop {
                left = &self.incarnations(clients).await? & &kept;
                if left.is_empty() || Instant::now() > until {
                    break;
                }
                tokio::time::sleep(ENDED_POLL).await;
            }
        }
        // No loop has those that are left: it could not read them, or had no room for them.
        for (shard, client, incarnation) in &left {
            let change = Change::End { client: client.as_str().into(), incarnation: Some(*incarnation) };
            self.change_sessions(*shard, vec![change]).await?;
        }
        match left.is_empty() || self.incarnations(clients).await?.is_disjoint(&kept) {
            true => Ok(()),
            false => Err(Problem::new(FLEET_BUSY, "the end of a session is not on disk yet")),
        }
    }

    /// The sessions of these clients that the shards keep: shard, client, incarnation.
    async fn incarnations(
        &self,
        clients: &BTreeSet<String>,
    ) -> Result<BTreeSet<(u16, String, u64)>, Problem> {
        let mut kept = BTreeSet::new();
        find::each_session(self.sessions, |shard, session| {
            let client = session.connect.client.as_str();
            if clients.contains(client) {
                kept.insert((shard, client.to_owned(), session.connect.incarnation));
            }
        })
        .await?;
        Ok(kept)
    }

    async fn change_sessions(&self, shard: u16, changes: Vec<Change>) -> Result<(), Problem> {
        let command = SessionCommand::Batch(changes);
        let outcomes: Vec<Outcome> = ask_shards(self.sessions, PageOf { shard, command }).await?;
        match outcomes.contains(&Outcome::Full) {
            true => Err(Problem::new(FLEET_BUSY, format!("shard {shard} has no room to remove a message"))),
            false => Ok(()),
        }
    }

    /// The retained messages of these clients: shard, number, topic.
    async fn retained(&self, clients: &BTreeSet<String>) -> Result<Vec<(u16, u64, String)>, Problem> {
        let mut found = Vec::new();
        find::each_retained(self.sessions, |shard, one| {
            let topic = one.message.topic();
            if find::is_retained_of(clients, one.owner.as_deref(), topic) {
                found.push((shard, one.number, topic.to_owned()));
            }
        })
        .await?;
        Ok(found)
    }

    /// Removes the retained messages of these clients.
    pub(crate) async fn remove_retained(&self, clients: &BTreeSet<String>) -> Result<(), Problem> {
        let found = self.retained(clients).await?;
        for (shard, number, topic) in found {
            match self.fleet {
                Some(fleet) => purge(fleet, topic).await?,
                None => {
                    let empty = Message::from_parts(&topic, &[], &[]);
                    let Some(message) = empty.map(Arc::new) else { continue };
                    let change = Change::Retain { number: number.saturating_add(1), owner: None, message };
                    self.change_sessions(shard, vec![change]).await?;
                }
            }
        }
        Ok(())
    }
}

fn client_ids(clients: &BTreeSet<String>) -> impl Iterator<Item = ClientId> + '_ {
    clients.iter().filter_map(|client| ClientId::new(client.clone()).ok())
}

/// Removes the retained message of a topic, which as a filter matches this topic alone.
async fn purge(fleet: &dyn Fleet, topic: String) -> Result<(), Problem> {
    let query = RetainedQuery { filter: Some(topic), principal: None, from: None, limit: PURGED_AT_ONCE };
    let mut from = None;
    loop {
        let asked = RetainedQuery { from: from.take(), ..query.clone() };
        let purged = fleet.purge_retained(asked, PurgeMode::Remove).await.map_err(|error| match error {
            NoRetained::Filter(why) => Problem::new(FLEET_BUSY, why),
            NoRetained::Refused(refusal) => refusal.into(),
        })?;
        if purged.refused > 0 {
            return Err(Problem::new(FLEET_BUSY, "a shard refused to remove a retained message"));
        }
        from = purged.next;
        if from.is_none() {
            return Ok(());
        }
    }
}
