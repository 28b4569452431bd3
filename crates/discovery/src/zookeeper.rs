//! ZooKeeper: one connection's worth of contact at a time, over sessions that outlive connections.
//!
//! ZooKeeper expires a session, and removes its ephemeral nodes, when it heard nothing from it for the session's time.
//! The client library keeps a session over reconnections; when it gives it up, a new one is opened and
//! every node is made again. Watches are set anew after each reconnection, and everything is listed again:
//! events may be lost in between (ZOOKEEPER-4698).

use std::convert::Infallible;
use std::time::Instant;

use zookeeper_client::{
    Acl, Acls, AddWatchMode, AuthId, Client, CreateMode, Error, EventType, Permission, PersistentWatcher,
    SessionState, StateWatcher, WatchedEvent,
};

use crate::config::{Config, Credentials};
use crate::hub::{EntryId, Hub};
use crate::instance::{Instance, State, Value};
use crate::link::{self, Trouble};
use crate::name::{self, Place};
use crate::pace::{Due, Pace};
use crate::registration::{Entry, Standing};
use crate::roster::{After, INSTANCES_MAX};
use crate::timing::{Timing, sleep_until};

/// Questions for nodes that are on their way at once.
const PIPELINE: usize = 256;
/// Instances that a list of the whole tree may have; the rest is counted as unreadable.
const LIST_INSTANCES_MAX: usize = 100_000;
/// How often a node that keeps changing hands is fought for before it counts as refused.
const CLAIMS_MAX: usize = 4;

/// Opens sessions.
pub(crate) struct Backend {
    connect: String,
    user: Option<Credentials>,
    prefix: String,
    timing: Timing,
    /// The ZooKeeper session that may still live.
    client: Option<Client>,
}

impl Backend {
    /// Has not spoken to anybody yet.
    pub(crate) fn new(config: &Config, connect: String, user: Option<Credentials>) -> Self {
        let timing = Timing::new(config);
        Self { connect, user, prefix: config.prefix.clone(), timing, client: None }
    }
}

impl link::Backend for Backend {
    type Session = Session;

    async fn open(&mut self, hub: &Hub) -> Result<Session, String> {
        if let Some(client) = &self.client {
            // The library gives a session up after 1.4 times its life.
            let resumed = tokio::time::timeout(self.timing.ttl * 3 / 2, self.resume(client)).await;
            match resumed.unwrap_or(Err("it does not come back")) {
                Ok(session) => return Ok(session),
                Err(why) => {
                    tracing::warn!(error = why, "Lost the ZooKeeper session; opening another");
                    self.client = None;
                    hub.count(|status| status.session_losses += 1);
                }
            }
        }
        let mut connector = Client::connector().with_session_timeout(self.timing.ttl).with_fail_eagerly();
        if let Some(Credentials { user, password }) = &self.user {
            connector = connector.with_auth("digest", format!("{user}:{password}").as_bytes());
        }
        let client = connector.connect(&self.connect).await.map_err(|why| why.to_string())?;
        let session = self.session(&client);
        session.probe().await.map_err(|why| why.to_string())?;
        tracing::info!(session = %client.session_id(), "Opened a ZooKeeper session");
        self.client = Some(client);
        Ok(session)
    }
}

impl Backend {
    /// Waits until the session is connected again.
    async fn resume(&self, client: &Client) -> Result<Session, &'static str> {
        let mut states = client.state_watcher();
        loop {
            match states.state() {
                SessionState::SyncConnected => {
                    // Subscribed before the probe, so that a connection lost meanwhile is seen.
                    let session = self.session(client);
                    if session.probe().await.is_ok() {
                        return Ok(session);
                    }
                    tokio::time::sleep(self.timing.beat / 4).await;
                    continue;
                }
                SessionState::Disconnected => {}
                SessionState::Expired => return Err("it expired"),
                SessionState::AuthFailed => return Err("authentication failed"),
                _ => return Err("it is closed"),
            }
            states.changed().await;
        }
    }

    fn session(&self, client: &Client) -> Session {
        let mut states = client.state_watcher();
        // What is seen from here on is news.
        states.state();
        let (client, prefix) = (client.clone(), self.prefix.clone());
        Session { client, states, prefix, timing: self.timing, restricted: self.user.is_some() }
    }
}

/// One stretch of contact within a ZooKeeper session.
pub(crate) struct Session {
    client: Client,
    states: StateWatcher,
    prefix: String,
    timing: Timing,
    /// Whether our nodes are for others to read only.
    restricted: bool,
}

impl link::Session for Session {
    async fn ended(&self) -> String {
        let mut states = self.states.clone();
        loop {
            tokio::select! {
                // Every change counts: disconnected and connected again may be seen as one.
                state = states.changed() => return format!("the connection of the session changed: {state}"),
                () = tokio::time::sleep(self.timing.beat) => if let Err(why) = self.probe().await {
                    return why.to_string();
                },
            }
        }
    }

    async fn follow(&self, hub: &Hub, name: &str) -> Trouble {
        let trouble = self.follow_until_trouble(hub, name).await;
        match trouble {
            Err(trouble) => trouble,
        }
    }

    async fn keep(&self, hub: &Hub, _id: EntryId, entry: &Entry) -> Result<(), Trouble> {
        let Entry { name, place, .. } = entry;
        let version = format!("{}/{name}/{}", self.prefix, place.version);
        let path = format!("{version}/{}", place.address);
        Registrar { session: self, hub, entry, version, path }.run().await
    }

    async fn list(&self, hub: &Hub) -> Result<Vec<(String, Instance)>, Trouble> {
        let mut found = Vec::new();
        for name in self.children(&self.prefix).await? {
            let room = LIST_INSTANCES_MAX - found.len();
            if name::check_name(&name).is_err() || room == 0 {
                hub.count(|status| status.unreadable += 1);
                continue;
            }
            let instances = self.instances(hub, &name, room).await?;
            found.extend(instances.into_iter().map(|instance| (name.clone(), instance)));
        }
        Ok(found)
    }
}

impl Session {
    /// Asks something that needs the leader.
    async fn probe(&self) -> Result<(), Error> {
        self.within(self.client.sync(&self.prefix)).await
    }

    async fn within<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.timing.timeout, call).await.unwrap_or(Err(Error::Timeout))
    }

    async fn follow_until_trouble(&self, hub: &Hub, name: &str) -> Result<Infallible, Trouble> {
        let base = format!("{}/{name}", self.prefix);
        let mut watcher = self.within(self.client.watch(&base, AddWatchMode::PersistentRecursive)).await?;
        let mut after = After::Outage;
        loop {
            // The member we are connected to may be behind.
            self.within(self.client.sync(&base)).await?;
            hub.listed(name, self.instances(hub, name, INSTANCES_MAX).await?, after);
            after = After::Contact;
            self.follow_until_refresh(hub, name, &base, &mut watcher).await?;
        }
    }

    async fn follow_until_refresh(
        &self,
        hub: &Hub,
        name: &str,
        base: &str,
        watcher: &mut PersistentWatcher,
    ) -> Result<(), Trouble> {
        let list_again_at = self.timing.refresh_at();
        loop {
            let event = tokio::select! {
                event = watcher.changed() => event,
                () = tokio::time::sleep_until(list_again_at) => return Ok(()),
            };
            if event.event_type == EventType::Session {
                return Err(Trouble::Lost(format!(
                    "the connection of a watch changed: {}",
                    event.session_state
                )));
            }
            self.take(hub, name, base, &event).await?;
        }
    }

    async fn take(&self, hub: &Hub, name: &str, base: &str, event: &WatchedEvent) -> Result<(), Trouble> {
        // The nodes of the name and its versions hold nothing.
        let Some(below) = event.path.strip_prefix(base).and_then(|path| path.strip_prefix('/')) else {
            return Ok(());
        };
        if !below.contains('/') {
            return Ok(());
        }
        let Some(place) = Place::read(below) else {
            hub.count(|status| status.unreadable += 1);
            return Ok(());
        };
        match event.event_type {
            EventType::NodeDeleted => hub.removed(name, &place),
            EventType::NodeCreated | EventType::NodeDataChanged => {
                match self.within(self.client.get_data(&event.path)).await {
                    Ok((data, _)) => match Value::read(&data) {
                        Some(value) => hub.announced(name, Instance::new(&place, value)),
                        None => hub.count(|status| status.unreadable += 1),
                    },
                    // Its last words were not read in time, but an expired session has none: this was a goodbye.
                    Err(Error::NoNode) if event.event_type == EventType::NodeDataChanged => {
                        hub.left(name, &place)
                    }
                    Err(Error::NoNode) => {}
                    Err(why) => return Err(why.into()),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The names of a node's children; none when it does not exist.
    async fn children(&self, path: &str) -> Result<Vec<String>, Trouble> {
        match self.within(self.client.list_children(path)).await {
            Ok(children) => Ok(children),
            Err(Error::NoNode) => Ok(Vec::new()),
            Err(why) => Err(why.into()),
        }
    }

    /// All instances of a name that can be read, `room` of them at most.
    async fn instances(&self, hub: &Hub, name: &str, room: usize) -> Result<Vec<Instance>, Trouble> {
        let base = format!("{}/{name}", self.prefix);
        let mut places = Vec::new();
        let mut unreadable = 0;
        for version in self.children(&base).await? {
            for address in self.children(&format!("{base}/{version}")).await? {
                match Place::read(&format!("{version}/{address}")) {
                    Some(place) if places.len() < room => places.push(place),
                    _ => unreadable += 1,
                }
            }
        }
        let mut instances = Vec::new();
        for places in places.chunks(PIPELINE) {
            let ask = |place: &Place| {
                // Asked when called, not when awaited: all of a chunk are on their way together.
                self.client.get_data(&format!("{base}/{}/{}", place.version, place.address))
            };
            let asked: Vec<_> = places.iter().map(ask).collect();
            for (place, answer) in places.iter().zip(asked) {
                match self.within(answer).await {
                    Ok((data, _)) => match Value::read(&data) {
                        Some(value) => instances.push(Instance::new(place, value)),
                        None => unreadable += 1,
                    },
                    Err(Error::NoNode) => {}
                    Err(why) => return Err(why.into()),
                }
            }
        }
        hub.count(|status| status.unreadable += unreadable);
        Ok(instances)
    }
}

/// Keeps one entry.
struct Registrar<'a> {
    session: &'a Session,
    hub: &'a Hub,
    entry: &'a Entry,
    /// The path of the version's node.
    version: String,
    /// The path of the entry's node.
    path: String,
}

impl Registrar<'_> {
    async fn run(self) -> Result<(), Trouble> {
        let timing = self.session.timing;
        let mut wanted = self.entry.wanted.clone();
        let mut pace = Pace::new(timing.update_interval);
        let mut check_at = tokio::time::Instant::now();
        while !self.entry.is_unwanted() {
            let value = wanted.borrow_and_update().clone();
            if tokio::time::Instant::now() >= check_at {
                self.claim(&value).await?;
                pace.wrote(value.clone(), Instant::now());
                self.hub.stand(self.entry, Standing::Registered);
                check_at = timing.refresh_at();
            }
            let write_at = match pace.due(&value, Instant::now()) {
                Due::Now => {
                    self.write(&value).await?;
                    pace.wrote(value, Instant::now());
                    None
                }
                Due::At(at) => Some(at),
                Due::Nothing => None,
            };
            tokio::select! {
                // Withdrawn or changed: the loop looks.
                _ = wanted.changed() => {}
                () = tokio::time::sleep_until(check_at) => {}
                () = sleep_until(write_at) => {}
            }
        }
        self.withdraw().await
    }

    /// Makes the node ours and true.
    async fn claim(&self, value: &Value) -> Result<(), Trouble> {
        let Session { client, .. } = self.session;
        let acls = self.acls();
        let node = CreateMode::Ephemeral.with_acls(Acls::new(&acls));
        for _ in 0..CLAIMS_MAX {
            match self.session.within(client.create(&self.path, &value.write(), &node)).await {
                Ok(_) => return Ok(()),
                Err(Error::NoNode) => {
                    // Anybody may register below: who may not read or write there is for the operator to say.
                    let folder = CreateMode::Persistent.with_acls(Acls::anyone_all());
                    self.session.within(client.mkdir(&self.version, &folder)).await?;
                }
                Err(Error::NodeExists) => match self.session.within(client.get_data(&self.path)).await {
                    Ok((data, stat)) if stat.ephemeral_owner == client.session_id().0 => {
                        return if data == value.write() { Ok(()) } else { self.write(value).await };
                    }
                    // Left by a session before ours, or by the process that had our address before us.
                    Ok((_, stat)) => {
                        match self.session.within(client.delete(&self.path, Some(stat.version))).await {
                            Ok(()) | Err(Error::NoNode | Error::BadVersion) => {}
                            Err(why) => return Err(why.into()),
                        }
                    }
                    Err(Error::NoNode) => {}
                    Err(why) => return Err(why.into()),
                },
                Err(why) => return Err(why.into()),
            }
        }
        Err(Trouble::Refused(format!("someone else keeps making {}", self.path)))
    }

    /// Writes the node's data, making it again where it is gone.
    async fn write(&self, value: &Value) -> Result<(), Trouble> {
        match self.session.within(self.session.client.set_data(&self.path, &value.write(), None)).await {
            Ok(_) => Ok(()),
            Err(Error::NoNode) => Box::pin(self.claim(value)).await,
            Err(why) => Err(why.into()),
        }
    }

    /// Says goodbye and removes the node, if it is ours.
    async fn withdraw(&self) -> Result<(), Trouble> {
        let Session { client, .. } = self.session;
        let last = self.entry.wanted.borrow().clone();
        let goodbye = Value { state: State::Quiescing, ..last };
        let removed = async {
            let (_, stat) = self.session.within(client.get_data(&self.path)).await?;
            if stat.ephemeral_owner == client.session_id().0 {
                self.session.within(client.set_data(&self.path, &goodbye.write(), None)).await?;
                self.session.within(client.delete(&self.path, None)).await?;
            }
            Ok(())
        };
        match removed.await {
            Ok(()) | Err(Error::NoNode) => Ok(()),
            Err(why) => Err(Trouble::from(why)),
        }
    }

    fn acls(&self) -> Vec<Acl> {
        if self.session.restricted {
            vec![Acl::new(Permission::ALL, AuthId::authed()), Acl::new(Permission::READ, AuthId::anyone())]
        } else {
            vec![Acl::new(Permission::ALL, AuthId::anyone())]
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            // Another connection would hear the same.
            Error::NoAuth
            | Error::InvalidAcl
            | Error::QuotaExceeded
            | Error::NoChildrenForEphemerals
            | Error::Throttled
            | Error::Unimplemented
            | Error::BadArguments(_) => Self::Refused(error.to_string()),
            _ => Self::Lost(error.to_string()),
        }
    }
}
