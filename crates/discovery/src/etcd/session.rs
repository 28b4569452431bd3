//! One stretch of contact with etcd: tasks that follow names, tasks that keep entries, and lists.
//!
//! A follower reads the list, then watches from there. After a short loss of contact it also asks
//! for the events that it missed, because only they distinguish a goodbye from a lease that
//! expired; where etcd has compacted them away, the list has to do. A registrar holds a lease of
//! its own for each entry; the lease outlives the session.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use stadium_etcd::messages::{
    Event, EventType, KeyValue, PutRequest, RangeRequest, WatchCreateRequest, WatchResponse, end_of,
};
use stadium_etcd::{Client, Code, Failure, Mark, Streaming};
use tokio::sync::watch;

use crate::hub::{EntryId, Hub};
use crate::instance::{Instance, State, Value};
use crate::link::{self, Trouble};
use crate::name::{self, Place};
use crate::pace::{Due, Pace};
use crate::registration::{Entry, Standing};
use crate::roster::{After, INSTANCES_MAX};
use crate::timing::{Timing, sleep_until};

/// Keys that a list of the whole tree may have; the rest is counted as unreadable.
const LIST_KEYS_MAX: usize = 100_000;

/// What outlives a session.
#[derive(Debug)]
pub(super) struct Memory {
    /// When a member last answered.
    pub(super) contact: Instant,
    /// How far each name was followed.
    pub(super) marks: BTreeMap<String, Mark>,
    /// The lease of each entry.
    pub(super) leases: BTreeMap<EntryId, i64>,
}

/// One stretch of contact with one member.
pub(crate) struct Session {
    client: Client,
    prefix: String,
    timing: Timing,
    memory: Rc<RefCell<Memory>>,
    /// Whether contact was lost for so short a time that no lease can have expired because of the same failure.
    brief: bool,
}

impl Session {
    pub(super) fn new(client: Client, prefix: String, timing: Timing, memory: Rc<RefCell<Memory>>) -> Self {
        // A lease lives for at least two beats after its last sign of life.
        let brief = memory.borrow().contact.elapsed() < timing.ttl / 2;
        let session = Self { client, prefix, timing, memory, brief };
        session.touched();
        session
    }

    fn touched(&self) {
        self.memory.borrow_mut().contact = Instant::now();
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure.is_refusal() {
            true => Self::Refused(failure.what),
            false => Self::Lost(failure.what),
        }
    }
}

impl link::Session for Session {
    async fn ended(&self) -> String {
        loop {
            tokio::time::sleep(self.timing.beat).await;
            match self.client.range(RangeRequest::probe(&format!("{}/", self.prefix))).await {
                Ok(_) => self.touched(),
                Err(failure) => return failure.what,
            }
        }
    }

    async fn follow(&self, hub: &Hub, name: &str) -> Trouble {
        let mut after = After::Outage;
        // Watched anew, there is nothing to catch up with.
        let mut mark = self.memory.borrow().marks.get(name).copied().filter(|_| self.brief);
        loop {
            match self.follow_once(hub, name, after, mark).await {
                Ok(()) => (after, mark) = (After::Contact, None),
                Err(trouble) => return trouble,
            }
        }
    }

    async fn keep(&self, hub: &Hub, id: EntryId, entry: &Entry) -> Result<(), Trouble> {
        Registrar { session: self, hub, id, entry }.run().await
    }

    async fn list(&self, hub: &Hub) -> Result<Vec<(String, Instance)>, Trouble> {
        let start = format!("{}/", self.prefix);
        let listed = self.client.list(&start, LIST_KEYS_MAX).await?;
        let mut found = Vec::new();
        let mut unreadable = listed.dropped;
        for kv in &listed.kvs {
            match read_below_prefix(kv, &start) {
                Some(one) => found.push(one),
                None => unreadable += 1,
            }
        }
        hub.count(|status| status.unreadable += unreadable);
        Ok(found)
    }
}

impl Session {
    /// Lists and watches `name` until it is time to list again (`Ok`) or there is trouble.
    async fn follow_once(
        &self,
        hub: &Hub,
        name: &str,
        after: After,
        mark: Option<Mark>,
    ) -> Result<(), Trouble> {
        let start = format!("{}/{name}/", self.prefix);
        let listed = self.client.list(&start, INSTANCES_MAX).await?;
        let mut present = BTreeSet::new();
        let mut found = Vec::new();
        let mut unreadable = listed.dropped;
        for kv in &listed.kvs {
            match read_below_name(kv, &start) {
                Some(instance) => {
                    present.insert(Place { version: instance.version.clone(), address: instance.address });
                    found.push(instance);
                }
                None => unreadable += 1,
            }
        }
        hub.count(|status| status.unreadable += unreadable);
        hub.listed(name, found, after);

        let reached = listed.mark.revision;
        let from = match mark {
            Some(mark) if mark.cluster_id == listed.mark.cluster_id && mark.revision < reached => {
                mark.revision
            }
            _ => reached,
        };
        let mut replay = Replay { reached, present, leaving: BTreeSet::new() };
        let question = WatchCreateRequest {
            key: start.clone().into(),
            range_end: end_of(&start),
            start_revision: from + 1,
            fragment: true,
        };
        let mut seen = Mark { revision: from, ..listed.mark };
        self.remember(name, seen);
        let mut answers = self.client.watch(question).await?;
        let list_again_at = self.timing.refresh_at();
        loop {
            let answer = tokio::select! {
                answer = next(&mut answers) => answer?,
                () = tokio::time::sleep_until(list_again_at) => return Ok(()),
            };
            if answer.compact_revision > 0 {
                hub.count(|status| status.compactions += 1);
                tracing::info!(
                    service = name,
                    "etcd compacted what we wanted to catch up with; listing again"
                );
                return Ok(());
            }
            if answer.canceled {
                return Err(Trouble::Lost(format!("etcd ended a watch: {}", answer.cancel_reason)));
            }
            for event in answer.events {
                let Some(kv) = &event.kv else { continue };
                seen.revision = seen.revision.max(kv.mod_revision);
                if kv.mod_revision <= replay.reached {
                    replay.take(hub, name, &start, &event);
                } else {
                    take(hub, name, &start, &event);
                }
            }
            self.remember(name, seen);
        }
    }

    fn remember(&self, name: &str, mark: Mark) {
        let mut memory = self.memory.borrow_mut();
        memory.contact = Instant::now();
        memory.marks.insert(name.to_owned(), mark);
    }
}

/// Events from before the list, seen after it: they add the instances that said goodbye.
struct Replay {
    /// The list's revision.
    reached: i64,
    /// Who is in the list.
    present: BTreeSet<Place>,
    leaving: BTreeSet<Place>,
}

impl Replay {
    fn take(&mut self, hub: &Hub, name: &str, start: &str, event: &Event) {
        let Some((place, kv)) = read_event(event, start) else { return };
        if event.r#type() == EventType::Put {
            match Value::read(&kv.value) {
                Some(value) if value.state == State::Quiescing => _ = self.leaving.insert(place),
                _ => _ = self.leaving.remove(&place),
            }
        } else if self.leaving.remove(&place) && !self.present.contains(&place) {
            hub.left(name, &place);
        }
    }
}

/// An event that follows the list.
fn take(hub: &Hub, name: &str, start: &str, event: &Event) {
    let Some((place, kv)) = read_event(event, start) else {
        hub.count(|status| status.unreadable += 1);
        return;
    };
    if event.r#type() == EventType::Delete {
        return hub.removed(name, &place);
    }
    match Value::read(&kv.value) {
        Some(value) => hub.announced(name, Instance::new(&place, value)),
        None => hub.count(|status| status.unreadable += 1),
    }
}

fn read_event<'a>(event: &'a Event, start: &str) -> Option<(Place, &'a KeyValue)> {
    let kv = event.kv.as_ref()?;
    let below = std::str::from_utf8(&kv.key).ok()?.strip_prefix(start)?;
    Some((Place::read(below)?, kv))
}

fn read_below_name(kv: &KeyValue, start: &str) -> Option<Instance> {
    let below = std::str::from_utf8(&kv.key).ok()?.strip_prefix(start)?;
    Some(Instance::new(&Place::read(below)?, Value::read(&kv.value)?))
}

fn read_below_prefix(kv: &KeyValue, start: &str) -> Option<(String, Instance)> {
    let below = std::str::from_utf8(&kv.key).ok()?.strip_prefix(start)?;
    let (name, place) = name::read_below_prefix(below)?;
    Some((name.to_owned(), Instance::new(&place, Value::read(&kv.value)?)))
}

async fn next(answers: &mut Streaming<WatchResponse>) -> Result<WatchResponse, Trouble> {
    match answers.message().await {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(Trouble::Lost("etcd closed a watch".to_owned())),
        Err(status) => Err(Failure::from(status).into()),
    }
}

/// Keeps one entry.
struct Registrar<'a> {
    session: &'a Session,
    hub: &'a Hub,
    id: EntryId,
    entry: &'a Entry,
}

/// Why a registrar stops keeping a lease.
enum Ended {
    /// The lease is no more.
    LeaseLost,
    /// The entry is to go.
    Unwanted,
}

impl Registrar<'_> {
    async fn run(self) -> Result<(), Trouble> {
        loop {
            let mut wanted = self.entry.wanted.clone();
            if self.entry.is_unwanted() {
                return self.withdraw().await;
            }
            let lease = self.lease().await?;
            match self.keep(lease, &mut wanted).await? {
                Ended::Unwanted => return self.withdraw().await,
                Ended::LeaseLost => self.lost_lease(),
            }
        }
    }

    fn lost_lease(&self) {
        self.session.memory.borrow_mut().leases.remove(&self.id);
        self.hub.count(|status| status.session_losses += 1);
        self.hub.stand(self.entry, Standing::Unsure);
        tracing::warn!(service = self.entry.name, "The lease of a registration expired; registering again");
    }

    /// The lease that we have, if it lives, or a new one.
    async fn lease(&self) -> Result<i64, Trouble> {
        let known = self.session.memory.borrow().leases.get(&self.id).copied();
        if let Some(known) = known {
            if self.session.client.keep_alive(known).await? > 0 {
                return Ok(known);
            }
            self.lost_lease();
        }
        // Whole seconds are all that etcd knows.
        let seconds = i64::try_from(self.session.timing.ttl.as_secs()).expect("ten minutes at most");
        let (lease, granted) = self.session.client.grant(seconds).await?;
        if granted != seconds {
            tracing::debug!(asked = seconds, granted, "etcd grants another life of leases than asked for");
        }
        self.session.memory.borrow_mut().leases.insert(self.id, lease);
        Ok(lease)
    }

    /// Keeps the entry there and true while the lease lives.
    async fn keep(&self, lease: i64, wanted: &mut watch::Receiver<Value>) -> Result<Ended, Trouble> {
        let timing = self.session.timing;
        let mut pace = Pace::new(timing.update_interval);
        let mut beat = tokio::time::interval(timing.beat);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut check_at = tokio::time::Instant::now();
        loop {
            let value = wanted.borrow_and_update().clone();
            if tokio::time::Instant::now() >= check_at {
                if !self.is_there(lease, &value).await? && !self.put(lease, &value).await? {
                    return Ok(Ended::LeaseLost);
                }
                pace.wrote(value.clone(), Instant::now());
                self.hub.stand(self.entry, Standing::Registered);
                check_at = timing.refresh_at();
            }
            let write_at = match pace.due(&value, Instant::now()) {
                Due::Now if !self.put(lease, &value).await? => return Ok(Ended::LeaseLost),
                Due::Now => {
                    pace.wrote(value, Instant::now());
                    None
                }
                Due::At(at) => Some(at),
                Due::Nothing => None,
            };
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() {
                    return Ok(Ended::Unwanted);
                },
                _ = beat.tick() => if self.session.client.keep_alive(lease).await? <= 0 {
                    return Ok(Ended::LeaseLost);
                },
                () = tokio::time::sleep_until(check_at) => {}
                () = sleep_until(write_at) => {}
            }
        }
    }

    /// Whether the tree already has the wanted value.
    async fn is_there(&self, lease: i64, value: &Value) -> Result<bool, Trouble> {
        let range_end = Vec::new();
        let question = RangeRequest { key: self.key(), range_end, limit: 1, revision: 0, keys_only: false };
        let answer = self.session.client.range(question).await?;
        Ok(answer.kvs.iter().any(|kv| kv.lease == lease && kv.value == value.write()))
    }

    /// Writes; `false` when the lease is no more.
    async fn put(&self, lease: i64, value: &Value) -> Result<bool, Trouble> {
        match self.session.client.put(PutRequest { key: self.key(), value: value.write(), lease }).await {
            Ok(()) => Ok(true),
            Err(failure) if failure.code == Code::NotFound => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Says goodbye and ends the lease.
    async fn withdraw(&self) -> Result<(), Trouble> {
        let lease = self.session.memory.borrow().leases.get(&self.id).copied();
        if let Some(lease) = lease {
            let last = self.entry.wanted.borrow().clone();
            let goodbye = Value { state: State::Quiescing, ..last };
            let question = PutRequest { key: self.key(), value: goodbye.write(), lease };
            // Where the lease is no more there is nothing to say goodbye to.
            for gone in
                [self.session.client.put_if_ours(question).await, self.session.client.revoke(lease).await]
            {
                match gone {
                    Err(failure) if failure.code != Code::NotFound => return Err(failure.into()),
                    _ => {}
                }
            }
            self.session.memory.borrow_mut().leases.remove(&self.id);
        }
        Ok(())
    }

    fn key(&self) -> Vec<u8> {
        let Entry { name, place, .. } = self.entry;
        format!("{}/{name}/{}/{}", self.session.prefix, place.version, place.address).into()
    }
}
