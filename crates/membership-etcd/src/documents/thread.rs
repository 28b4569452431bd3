//! The thread `documents`: reaches a member of etcd, follows the documents until contact is lost, and
//! again.
//!
//! It alone changes what is known, so a document never goes back to a state before.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use stadium_etcd::messages::{EventType, KeyValue, RangeRequest};
use stadium_etcd::{Client, Failure, Members};
use stadium_membership::Error;
use tokio::sync::mpsc;

use super::ask::{Ask, Attempt, Change, Fresh};
use super::bounds::DOCUMENTS_MAX;
use super::copy;
use super::known::{Shared, Texts};
use super::settings::DocumentSettings;
use crate::changes::{Changes, ChangesEnded};
use crate::keys::Keys;

/// How long a call may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How much later each further member is tried.
const STAGGER: Duration = Duration::from_millis(40);

/// The pause between two attempts to reach a member.
const RETRY: Duration = Duration::from_millis(250);

/// Why a stretch of contact ended.
enum Ended {
    /// The handle is gone.
    Closed,
    Lost(String),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Lost(failure.what)
    }
}

impl From<ChangesEnded> for Ended {
    fn from(ended: ChangesEnded) -> Self {
        match ended {
            ChangesEnded::Failed(failure) => failure.into(),
            ChangesEnded::Lost(why) => Self::Lost(why),
            ChangesEnded::Compacted => Self::Lost("etcd has compacted what the watch missed".to_owned()),
        }
    }
}

struct Memory {
    settings: DocumentSettings,
    keys: Keys,
    shared: Arc<Shared>,
}

/// Starts the thread.
pub(super) fn start(
    settings: DocumentSettings,
    keys: Keys,
    shared: Arc<Shared>,
    asks: mpsc::Receiver<Ask>,
) -> Result<JoinHandle<()>, Error> {
    let ended = |why: std::io::Error| Error::Ended(format!("cannot start the thread `documents`: {why}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ended)?;
    let memory = Memory { settings, keys, shared };
    let run = move || {
        runtime.block_on(memory.serve(asks));
        // Sockets of a member that is away must not hold the process.
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name("documents".to_owned()).spawn(run).map_err(ended)
}

impl Memory {
    async fn serve(self, mut asks: mpsc::Receiver<Ask>) {
        let mut members = Members::new(self.settings.etcd.clone(), STAGGER);
        let probe = RangeRequest::probe(&self.keys.access());
        loop {
            let why = tokio::select! {
                reached = members.reach(&probe, TIMEOUT) => match reached {
                    Ok(client) => match self.follow(&client, &mut asks).await {
                        Ok(never) => match never {},
                        Err(Ended::Closed) => return,
                        Err(Ended::Lost(why)) => why,
                    },
                    Err(why) => why,
                },
                () = self.refuse(&mut asks) => return,
            };
            if self.shared.lose(&why) {
                tracing::warn!(error = why, "The shared documents of the cluster cannot be followed");
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY.mul_f64(0.75 + 0.5 * fastrand::f64())) => {}
                () = self.refuse(&mut asks) => return,
            }
        }
    }

    /// Refuses what is asked until the handle is gone.
    async fn refuse(&self, asks: &mut mpsc::Receiver<Ask>) {
        while let Some(ask) = asks.recv().await {
            let away = self.shared.away().map_or_else(String::new, |(_, why)| why);
            let why = format!("etcd does not answer: {away}");
            // The caller waits for the answer; a thread that ended needs none.
            match ask {
                Ask::Read(reply) => _ = reply.send(Err(why)),
                Ask::Write { reply, .. } => _ = reply.send(Attempt::Away(why)),
            }
        }
    }

    /// Reads all documents, then applies what the watch tells, and answers what is asked.
    async fn follow(
        &self,
        client: &Client,
        asks: &mut mpsc::Receiver<Ask>,
    ) -> Result<std::convert::Infallible, Ended> {
        let mut seen = self.read(client).await?.1;
        let mut changes = Changes::begin(client, &self.keys.access(), seen + 1).await?;
        loop {
            let events = tokio::select! {
                events = changes.next() => events?,
                asked = asks.recv() => {
                    let Some(asked) = asked else { return Err(Ended::Closed) };
                    seen = seen.max(self.answer(client, asked).await?);
                    continue;
                }
            };
            let mut texts = Texts::clone(&self.shared.known().texts);
            for event in &events {
                let Some(kv) = event.kv.as_ref().filter(|kv| kv.mod_revision > seen) else { continue };
                let is_put = event.r#type() == EventType::Put;
                if !is_put && kv.key == self.keys.change().as_bytes() {
                    return Err(self.documents_lost());
                }
                match self.document(kv) {
                    Some((name, text)) if is_put => _ = texts.insert(name, text),
                    Some((name, _)) => _ = texts.remove(&name),
                    None => {}
                }
            }
            self.take(texts);
        }
    }

    /// Answers the handle. The revision up to which the documents are known then.
    async fn answer(&self, client: &Client, ask: Ask) -> Result<i64, Ended> {
        match ask {
            Ask::Read(reply) => match self.read(client).await {
                Ok((fresh, revision)) => {
                    _ = reply.send(Ok(fresh));
                    Ok(revision)
                }
                Err(Ended::Lost(why)) => {
                    _ = reply.send(Err(why.clone()));
                    Err(Ended::Lost(why))
                }
                Err(Ended::Closed) => Err(Ended::Closed),
            },
            Ask::Write { question, texts, reply } => match client.transact(question).await {
                Ok(answer) => {
                    let revision = answer.header.unwrap_or_default().revision;
                    if answer.succeeded {
                        // Nothing was changed between the read and this revision.
                        self.take(texts);
                        _ = reply.send(Attempt::Done(self.shared.known()));
                        return Ok(revision);
                    }
                    _ = reply.send(Attempt::Lost);
                    Ok(0)
                }
                Err(failure) => {
                    let why = failure.what.clone();
                    _ = reply.send(match failure.is_refusal() {
                        true => Attempt::Away(why),
                        false => Attempt::Unknown(why),
                    });
                    Err(failure.into())
                }
            },
        }
    }

    /// Reads all documents, with the revision of that.
    async fn read(&self, client: &Client) -> Result<(Fresh, i64), Ended> {
        // One more for the key `change`.
        let listed = client.list(&self.keys.access(), DOCUMENTS_MAX + 1).await?;
        let change = self.keys.change();
        let guard = listed.kvs.iter().find(|kv| kv.key == change.as_bytes());
        let last = guard.map(|kv| self.change(kv)).transpose()?;
        if guard.is_none() && !self.shared.known().texts.is_empty() {
            return Err(self.documents_lost());
        }
        let texts = listed.kvs.iter().filter_map(|kv| self.document(kv)).collect();
        self.take(texts);
        let guard = guard.map_or(0, |kv| kv.mod_revision);
        Ok((Fresh { known: self.shared.known(), guard, last }, listed.mark.revision))
    }

    /// Somebody deleted the documents. Those that are known here stay in force: nobody should be locked
    /// out, nor be let in again.
    fn documents_lost(&self) -> Ended {
        let change = self.keys.change();
        Ended::Lost(format!("etcd has lost the documents of the cluster: it has no key {change}"))
    }

    /// The number of the last change.
    fn change(&self, kv: &KeyValue) -> Result<u64, Ended> {
        let key = || String::from_utf8_lossy(&kv.key).into_owned();
        let change: Change = serde_json::from_slice(&kv.value)
            .map_err(|error| Ended::Lost(format!("the value of {} cannot be read: {error}", key())))?;
        if change.cluster != self.settings.id {
            return Err(Ended::Lost(format!("{} is of a cluster that was made before this one", key())));
        }
        Ok(change.number)
    }

    /// Name and text of a document; none of other keys and of texts that are not UTF-8.
    fn document(&self, kv: &KeyValue) -> Option<(String, String)> {
        let name = self.keys.document_name(&kv.key)?;
        Some((name.to_owned(), String::from_utf8(kv.value.clone()).ok()?))
    }

    fn take(&self, texts: Texts) {
        if !self.shared.take(texts) {
            return;
        }
        let path = &self.settings.copy;
        if let Err(error) = copy::write(path, self.settings.id, &self.shared.known().texts) {
            let path = path.display();
            tracing::error!(%path, %error, "The copy of the shared documents cannot be written");
        }
    }
}
