//! Carries erasures out, step by step. Each step can be done again: what is gone is not found.
//!
//! A step first counts what it finds and writes that down, so that the receipt of an erasure that was
//! interrupted has the whole counts. While the server serves, sessions and retained messages are
//! their loops' and are removed through the [`Fleet`]; before it does, they are the shards' alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use stadium_push::Command as PushCommand;
use stadium_push::live::ClientId;
use stadium_queue::{Command as QueueCommand, JobId, Outcome as JobOutcome};
use stadium_registry::{AppName, DeviceId, UserName};
use stadium_session::{Change, Command as SessionCommand, Message, Outcome};
use stadium_shard::Shards;
use stadium_wallet::{AccountView, Change as AccountChange, Command as WalletCommand};

use crate::fleet::{Fleet, NoRetained, PurgeMode, RetainedQuery};
use crate::request::app::App;
use crate::request::problem::{ERASURES_NOT_KEPT, FLEET_BUSY, Problem};
use crate::rfc3339;
use crate::shards::ask_shards;
use crate::users::audit_lines::audit_lines;
use crate::users::kept;
use crate::users::receipt::Kept;
use crate::users::record::{Erasures, Running};
use crate::users::{PageOf, find};

/// The steps, in their order. Devices come first: without them nobody sends the user anything new.
pub(crate) const STEPS: [&str; 6] = ["devices", "pushes", "sessions", "retained_messages", "jobs", "wallets"];

/// Things that one command of a shard removes.
const CHUNK: usize = 500;

/// Retained messages that one request to the fleet removes.
const PURGED_AT_ONCE: usize = 1_000;

/// The end of a session may take this long to be durable; then the step is tried again.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

/// The time between two questions whether a session has ended.
const ENDED_POLL: Duration = Duration::from_millis(20);

/// The first and the longest delay before an erasure that got no further is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// The time between two looks for the shards of a server that starts.
const SHARDS_POLL: Duration = Duration::from_millis(200);

/// The parts of a server that an erasure works with.
pub(crate) struct Work<'a> {
    pub(crate) shards: &'a Shards,
    /// None while no loop has read its sessions yet.
    pub(crate) fleet: Option<&'a dyn Fleet>,
    pub(crate) erasures: &'a Erasures,
    pub(crate) data_dir: &'a Path,
    pub(crate) version: &'a str,
}

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
        fleet: Some(&*app.fleet),
        erasures: &erasures,
        data_dir: &app.config.data_dir,
        version: &app.config.version,
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

/// The problem of a list of erasures that cannot be read or written.
pub(crate) fn not_kept(error: io::Error) -> Problem {
    Problem::new(ERASURES_NOT_KEPT, error.to_string())
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// The things that an erasure would remove, and those that would stay.
pub(crate) struct Plan {
    pub(crate) found: BTreeMap<String, u64>,
    pub(crate) kept: Vec<Kept>,
    /// Accounts that are not empty.
    pub(crate) balances: Vec<AccountView>,
}

impl Work<'_> {
    /// Looks at what there is, and changes nothing.
    pub(crate) async fn plan(&self, user: &UserName) -> Result<Plan, Problem> {
        let devices = find::devices(self.shards, user).await?;
        let clients = find::clients(self.shards, user, &devices).await?;
        let mut found = BTreeMap::from([("devices".to_owned(), devices.len() as u64)]);
        found.insert("pushes".to_owned(), find::pushes(self.shards, user, &clients).await?.len() as u64);
        let (sessions, messages) = self.sessions(&clients).await?;
        found.insert("sessions".to_owned(), sessions);
        found.insert("session_messages".to_owned(), messages);
        found.insert("retained_messages".to_owned(), self.retained(&clients).await?.len() as u64);
        let jobs = find::jobs(self.shards, &clients).await?;
        found.insert("jobs".to_owned(), jobs.found.len() as u64);
        let accounts = find::accounts(self.shards, user).await?;
        let closing = accounts.iter().filter(|account| kept::is_empty(account) && !account.closed).count();
        found.insert("wallet_accounts_closed".to_owned(), closing as u64);
        let mut kept = kept::of_wallets(&accounts);
        kept.extend(kept::not_searched(&jobs.not_searched));
        kept.extend(self.kept_elsewhere(&clients)?);
        let balances = accounts.into_iter().filter(|account| !kept::is_empty(account)).collect();
        Ok(Plan { found, kept, balances })
    }

    /// Carries an erasure out to its end.
    pub(crate) async fn carry_out(&self, id: &str) -> Result<(), Problem> {
        let Some(mut running) = self.change(id, |_| {})? else { return Ok(()) };
        let user =
            UserName::new(&running.user).map_err(|error| not_kept(io::Error::other(error.to_string())))?;
        for step in STEPS {
            if running.done.contains(step) {
                continue;
            }
            match step {
                "devices" => self.remove_devices(&running, &user).await?,
                "pushes" => self.forget_pushes(&running, &user).await?,
                "sessions" => self.end_sessions(&running).await?,
                "retained_messages" => self.remove_retained(&running).await?,
                "jobs" => self.delete_jobs(&running).await?,
                _ => self.close_accounts(&running, &user).await?,
            }
            let done = |one: &mut Running| one.done.extend([step.to_owned()]);
            running = self.change(id, done)?.unwrap_or(running);
        }
        let finished_ms = now_ms();
        let mut kept = running.kept.clone();
        kept.extend(self.kept_elsewhere(&running.clients)?);
        let receipt = self.receipt(&running, &kept, finished_ms)?;
        self.erasures.finish(id, receipt, finished_ms).map_err(not_kept)?;
        tracing::info!(erasure = id, again = running.again, "A user is erased");
        Ok(())
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Running)) -> Result<Option<Running>, Problem> {
        self.erasures.change(id, change).map_err(not_kept)
    }

    /// Writes down how many of a kind were found. A repeated step finds the rest of them only.
    fn found(&self, running: &Running, counts: &[(&str, u64)]) -> Result<(), Problem> {
        self.change(&running.id, |one| {
            for (kind, count) in counts {
                let known = one.found.entry((*kind).to_owned()).or_default();
                *known = (*count).max(*known);
            }
        })?;
        Ok(())
    }

    /// Writes down what stays. A repeated step says it anew.
    fn keep(&self, running: &Running, kept: impl IntoIterator<Item = Kept>) -> Result<(), Problem> {
        self.change(&running.id, |one| {
            for kept in kept {
                one.kept.retain(|known| known.kind != kept.kind);
                one.kept.push(kept);
            }
        })?;
        Ok(())
    }

    async fn remove_devices(&self, running: &Running, user: &UserName) -> Result<(), Problem> {
        let devices = find::devices(self.shards, user).await?;
        let clients = find::clients(self.shards, user, &devices).await?;
        self.change(&running.id, |one| one.clients.extend(clients))?;
        self.found(running, &[("devices", devices.len() as u64)])?;
        let mut of_apps: BTreeMap<AppName, Vec<DeviceId>> = BTreeMap::new();
        for (app, view) in devices {
            of_apps.entry(app).or_default().push(view.device.id);
        }
        for (app, devices) in of_apps {
            for devices in devices.chunks(CHUNK) {
                let command = PushCommand::Remove { app: app.clone(), devices: devices.to_vec() };
                let _: u64 = ask_shards(self.shards, command).await?;
            }
        }
        Ok(())
    }

    /// Cancels what is not settled, and forgets it.
    async fn forget_pushes(&self, running: &Running, user: &UserName) -> Result<(), Problem> {
        let pushes = find::pushes(self.shards, user, &running.clients).await?;
        self.found(running, &[("pushes", pushes.len() as u64)])?;
        let mut left = 0;
        for (app, push) in pushes {
            let cancel = PushCommand::Cancel { app: app.clone(), push };
            match ask_shards::<(), _>(self.shards, cancel).await {
                // It is over, or was forgotten meanwhile.
                Err(problem) if problem.may_be_repeated() || problem.is_unknown() => return Err(problem),
                _ => {}
            }
            let forgotten: u64 = ask_shards(self.shards, PushCommand::Forget { app, push }).await?;
            left += u64::from(forgotten == 0);
        }
        if left > 0 {
            let kept = Kept {
                kind: "pushes_unsettled".to_owned(),
                count: Some(left),
                why: "a shard had not settled them; their app's time to remember pushes ends them".to_owned(),
            };
            self.keep(running, [kept])?;
        }
        Ok(())
    }

    /// Sessions of these clients, and the messages that they hold.
    async fn sessions(&self, clients: &BTreeSet<String>) -> Result<(u64, u64), Problem> {
        let (mut sessions, mut messages) = (0, 0);
        match self.fleet {
            Some(fleet) => {
                for client in client_ids(clients) {
                    let report = fleet.device(client).await;
                    sessions += u64::from(report.is_some());
                    messages += report.map_or(0, |report| report.queued + report.in_flight);
                }
            }
            None => {
                find::each_session(self.shards, |_, session| {
                    if clients.contains(session.connect.client.as_str()) {
                        sessions += 1;
                        messages += session.owed.len() as u64;
                    }
                })
                .await?;
            }
        }
        Ok((sessions, messages))
    }

    async fn end_sessions(&self, running: &Running) -> Result<(), Problem> {
        let clients = &running.clients;
        let (sessions, messages) = self.sessions(clients).await?;
        self.found(running, &[("sessions", sessions), ("session_messages", messages)])?;
        let kept = self.incarnations(clients).await?;
        if let Some(fleet) = self.fleet {
            for client in client_ids(clients) {
                fleet.forget_session(client).await?;
            }
        } else {
            for (shard, client, incarnation) in &kept {
                let change = Change::End { client: client.as_str().into(), incarnation: Some(*incarnation) };
                self.change_sessions(*shard, vec![change]).await?;
            }
        }
        // The loops write the ends down without being waited for. A device that comes back at once has
        // another session, with nothing in it.
        let until = Instant::now() + ENDED_WITHIN;
        while !self.incarnations(clients).await?.is_disjoint(&kept) {
            if Instant::now() > until {
                return Err(Problem::new(FLEET_BUSY, "the end of a session is not on disk yet"));
            }
            tokio::time::sleep(ENDED_POLL).await;
        }
        Ok(())
    }

    /// The sessions of these clients that the shards keep: shard, client, incarnation.
    async fn incarnations(
        &self,
        clients: &BTreeSet<String>,
    ) -> Result<BTreeSet<(u16, String, u64)>, Problem> {
        let mut kept = BTreeSet::new();
        find::each_session(self.shards, |shard, session| {
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
        let outcomes: Vec<Outcome> = ask_shards(self.shards, PageOf { shard, command }).await?;
        match outcomes.contains(&Outcome::Full) {
            true => Err(Problem::new(FLEET_BUSY, format!("shard {shard} has no room to remove a message"))),
            false => Ok(()),
        }
    }

    /// The retained messages of these clients: shard, number, topic.
    async fn retained(&self, clients: &BTreeSet<String>) -> Result<Vec<(u16, u64, String)>, Problem> {
        let mut found = Vec::new();
        find::each_retained(self.shards, |shard, one| {
            let topic = one.message.topic();
            if find::is_retained_of(clients, one.owner.as_deref(), topic) {
                found.push((shard, one.number, topic.to_owned()));
            }
        })
        .await?;
        Ok(found)
    }

    async fn remove_retained(&self, running: &Running) -> Result<(), Problem> {
        let clients = &running.clients;
        let found = self.retained(clients).await?;
        self.found(running, &[("retained_messages", found.len() as u64)])?;
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

    async fn delete_jobs(&self, running: &Running) -> Result<(), Problem> {
        let clients = &running.clients;
        let jobs = find::jobs(self.shards, clients).await?;
        self.found(running, &[("jobs", jobs.found.len() as u64)])?;
        let ids: Vec<JobId> = jobs.found.iter().map(|job| job.job).collect();
        for jobs in ids.chunks(CHUNK) {
            let command = QueueCommand::Delete { jobs: jobs.to_vec() };
            let _: Vec<JobOutcome> = ask_shards(self.shards, command).await?;
        }
        self.keep(running, kept::not_searched(&jobs.not_searched))
    }

    async fn close_accounts(&self, running: &Running, user: &UserName) -> Result<(), Problem> {
        let accounts = find::accounts(self.shards, user).await?;
        let closing: Vec<&AccountView> =
            accounts.iter().filter(|account| kept::is_empty(account) && !account.closed).collect();
        self.found(running, &[("wallet_accounts_closed", closing.len() as u64)])?;
        for account in closing {
            let command = WalletCommand::Change {
                wallet: account.wallet.clone(),
                asset: account.asset.clone(),
                change: AccountChange { closed: Some(true), ..AccountChange::default() },
            };
            let (): () = ask_shards(self.shards, command).await?;
        }
        self.keep(running, kept::of_wallets(&accounts))
    }

    /// Things that stay outside of the state that is searched.
    fn kept_elsewhere(&self, clients: &BTreeSet<String>) -> Result<Vec<Kept>, Problem> {
        let lines = audit_lines(self.data_dir, clients).map_err(not_kept)?;
        Ok(kept::elsewhere(lines.len() as u64))
    }

    fn receipt(&self, running: &Running, kept: &[Kept], finished_ms: u64) -> Result<Value, Problem> {
        let (salt, _) = self.erasures.salt_and_key().map_err(not_kept)?;
        let removed: Vec<Value> =
            running.found.iter().map(|(kind, count)| json!({"kind": kind, "count": count})).collect();
        Ok(json!({
            "version": 1,
            "id": running.id,
            "user_hash": self.erasures.hash(&running.user).map_err(not_kept)?,
            "salt": salt,
            "by": running.by,
            "after_restore": running.again,
            "began_at": at(running.began_ms),
            "finished_at": at(finished_ms),
            "server": self.version,
            "removed": removed,
            "kept": kept,
        }))
    }
}

/// A time as text.
pub(crate) fn at(ms: u64) -> String {
    rfc3339::format(UNIX_EPOCH + Duration::from_millis(ms))
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

/// Bytes of a message as JSON: text where they are UTF-8.
pub(crate) fn payload(bytes: &[u8]) -> Value {
    let (text, base64) = crate::spelling::spelled(bytes);
    match (text, base64) {
        (Some(text), _) => json!({"payload": text}),
        (_, base64) => json!({"payload_base64": base64}),
    }
}
