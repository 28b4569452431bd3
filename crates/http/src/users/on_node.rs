//! The data of a user that a server has for itself, also as a node of a cluster: sessions, retained
//! messages, and lines of its audit log.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stadium_push::live::ClientId;
use stadium_session::{Owed, SessionImage};
use stadium_shard::Shards;

use crate::fleet::{DeviceReport, Fleet};
use crate::request::problem::Problem;
use crate::rfc3339;
use crate::spelling::timestamp;
use crate::users::audit_lines::audit_lines;
use crate::users::find;
use crate::users::local::Local;
use crate::users::spelled::{not_kept, payload};

/// A list of such things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OnNode {
    Sessions,
    Retained,
    Audit,
}

impl OnNode {
    /// All lists.
    pub(crate) const ALL: [Self; 3] = [Self::Sessions, Self::Retained, Self::Audit];

    /// Its name in an export.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Retained => "retained_messages",
            Self::Audit => "audit",
        }
    }
}

/// The places where this server has them.
#[derive(Clone)]
pub(crate) struct Here {
    pub(crate) fleet: Arc<dyn Fleet>,
    /// The shards with the sessions and the retained messages.
    pub(crate) sessions: Shards,
    pub(crate) data_dir: PathBuf,
}

impl Here {
    /// The same, to be counted or removed.
    pub(crate) fn local(&self) -> Local<'_> {
        Local { sessions: &self.sessions, fleet: Some(&*self.fleet), data_dir: &self.data_dir }
    }

    /// One of the lists.
    pub(crate) async fn list(&self, list: OnNode, clients: &BTreeSet<String>) -> Result<Vec<Value>, Problem> {
        match list {
            OnNode::Sessions => self.sessions(clients).await,
            OnNode::Retained => self.retained(clients).await,
            OnNode::Audit => self.audit(clients).await,
        }
    }

    async fn sessions(&self, clients: &BTreeSet<String>) -> Result<Vec<Value>, Problem> {
        let mut kept: Vec<SessionImage> = Vec::new();
        find::each_session(&self.sessions, |_, session| {
            if clients.contains(session.connect.client.as_str()) {
                kept.push(session);
            }
        })
        .await?;
        let mut found = Vec::new();
        for client in clients {
            let image = kept.iter().find(|session| session.connect.client == client.as_str());
            let report = match ClientId::new(client.clone()) {
                Ok(id) => self.fleet.device(id).await,
                Err(_) => None,
            };
            if image.is_some() || report.is_some() {
                found.push(session_json(client, report.as_ref(), image));
            }
        }
        Ok(found)
    }

    async fn retained(&self, clients: &BTreeSet<String>) -> Result<Vec<Value>, Problem> {
        let mut found = Vec::new();
        find::each_retained(&self.sessions, |_, one| {
            if !find::is_retained_of(clients, one.owner.as_deref(), one.message.topic()) {
                return;
            }
            let mut json = payload(one.message.payload());
            json["topic"] = one.message.topic().into();
            json["principal"] = one.owner.as_deref().into();
            json["set_at"] = one.set_at.map(|at| timestamp(stadium_queue::Time(at.0))).into();
            found.push(json);
        })
        .await?;
        Ok(found)
    }

    async fn audit(&self, clients: &BTreeSet<String>) -> Result<Vec<Value>, Problem> {
        let (data_dir, clients) = (self.data_dir.clone(), clients.clone());
        let read = tokio::task::spawn_blocking(move || audit_lines(&data_dir, &clients)).await;
        let entries = read.map_err(io::Error::other).and_then(|entries| entries).map_err(not_kept)?;
        let json = |entry| serde_json::to_value(entry).expect("strings and numbers always serialise");
        Ok(entries.iter().map(json).collect())
    }
}

fn session_json(client: &str, report: Option<&DeviceReport>, image: Option<&SessionImage>) -> Value {
    let connection = report.and_then(|report| report.connection.as_ref()).map(|connection| {
        json!({
            "address": connection.address.map(|address| address.to_string()),
            "username": connection.username,
            "connected_at": rfc3339::format(connection.connected_at),
        })
    });
    let subscriptions: Vec<&str> = match (report, image) {
        (Some(report), _) => report.subscriptions.iter().map(|one| one.filter.as_str()).collect(),
        (None, Some(image)) => image.subscriptions.iter().map(|one| one.filter.as_str()).collect(),
        (None, None) => Vec::new(),
    };
    let message = |owed: &Owed| {
        let message = owed.message.as_ref()?;
        let mut json = payload(message.payload());
        json["topic"] = message.topic().into();
        json["qos"] = owed.qos.into();
        Some(json)
    };
    let will = image.and_then(|image| image.connect.will.as_ref()).map(|will| {
        let mut json = payload(will.message.payload());
        json["topic"] = will.message.topic().into();
        json
    });
    json!({
        "client_id": client,
        "connection": connection,
        "session_expires_at": report.and_then(|report| report.session_expires_at).map(rfc3339::format),
        "subscriptions": subscriptions,
        "messages": image.map(|image| image.owed.iter().filter_map(message).collect::<Vec<_>>()),
        "will": will,
    })
}
