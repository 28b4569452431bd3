//! Carries erasures out, step by step. Each step can be done again: what is gone is not found.
//!
//! A step first counts what it finds and writes that down, so that the receipt of an erasure that
//! was interrupted has the whole counts. In a cluster one node carries an erasure out; each node
//! does what is on it alone ([`crate::users::cluster`]), and is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::{Value, json};
use stadium_push::Command as PushCommand;
use stadium_queue::{Command as QueueCommand, JobId, Outcome as JobOutcome};
use stadium_registry::{AppName, DeviceId, UserName};
use stadium_shard::Shards;
use stadium_wallet::{AccountView, Change as AccountChange, Command as WalletCommand};

use crate::request::problem::{NODES_LATE, Problem};
use crate::shards::ask_shards;
use crate::users::list::{List, NodePart, Running};
use crate::users::local::Local;
use crate::users::receipt::Kept;
use crate::users::spelled::{at, not_kept, now_ms};
use crate::users::{find, kept};

/// The steps, in their order. Devices come first: without them nobody sends the user anything new.
pub(crate) const STEPS: [&str; 6] = ["devices", "pushes", "sessions", "retained_messages", "jobs", "wallets"];

/// A step of its own inside of `devices`: the client ids of the user are written down.
pub(crate) const CLIENTS: &str = "clients";

/// The time for which nodes may end sessions before the devices are removed all the same, since a
/// node may be away.
const ENDED_WITHIN_MS: u64 = 10_000;

/// Things that one command of a shard removes.
const CHUNK: usize = 500;

/// The parts of a server that an erasure works with.
pub(crate) struct Work<'a> {
    pub(crate) shards: &'a Shards,
    /// This server's own part.
    pub(crate) local: Local<'a>,
    pub(crate) erasures: &'a dyn List,
    pub(crate) version: &'a str,
    /// The nodes of a cluster that each do what is on them alone; none on a standalone server.
    pub(crate) nodes: Option<BTreeSet<String>>,
}

/// The things that an erasure would remove, and those that would stay.
pub(crate) struct Plan {
    pub(crate) found: BTreeMap<String, u64>,
    pub(crate) kept: Vec<Kept>,
    /// Accounts that are not empty.
    pub(crate) balances: Vec<AccountView>,
}

/// Waits until nodes have ended the user's sessions, while that may still be soon.
fn await_ends(running: &Running, nodes: &BTreeSet<String>) -> Result<(), Problem> {
    let has_ended = |node: &String| running.nodes.get(node).is_some_and(|part| part.ended);
    match nodes.iter().all(has_ended) || now_ms() > running.began_ms.saturating_add(ENDED_WITHIN_MS) {
        true => Ok(()),
        false => Err(Problem::new(NODES_LATE, "the nodes end the user's sessions")),
    }
}

impl Work<'_> {
    /// The user's accounts that are not empty.
    pub(crate) async fn balances(&self, user: &UserName) -> Result<Vec<AccountView>, Problem> {
        let mut accounts = find::accounts(self.shards, user).await?;
        accounts.retain(|account| !kept::is_empty(account));
        Ok(accounts)
    }

    /// Looks at what there is, and changes nothing. `elsewhere` counts what other nodes have of
    /// these clients.
    pub(crate) async fn plan<F>(
        &self,
        user: &UserName,
        elsewhere: impl FnOnce(BTreeSet<String>) -> F,
    ) -> Result<Plan, Problem>
    where
        F: Future<Output = Result<Vec<NodePart>, Problem>>,
    {
        let devices = find::devices(self.shards, user).await?;
        let clients = find::clients(self.shards, user, &devices).await?;
        let mut found = BTreeMap::from([("devices".to_owned(), devices.len() as u64)]);
        found.insert("pushes".to_owned(), find::pushes(self.shards, user, &clients).await?.len() as u64);
        let mut lines = 0;
        for part in [vec![self.local.count(&clients).await?], elsewhere(clients.clone()).await?].concat() {
            lines += part.audit_lines;
            part.found.into_iter().for_each(|(kind, count)| *found.entry(kind).or_default() += count);
        }
        let jobs = find::jobs(self.shards, &clients).await?;
        found.insert("jobs".to_owned(), jobs.found.len() as u64);
        let accounts = find::accounts(self.shards, user).await?;
        let closing = accounts.iter().filter(|account| kept::is_empty(account) && !account.closed).count();
        found.insert("wallet_accounts_closed".to_owned(), closing as u64);
        let mut kept = kept::of_wallets(&accounts);
        kept.extend(kept::not_searched(&jobs.not_searched));
        kept.extend(kept::elsewhere(lines));
        let balances = accounts.into_iter().filter(|account| !kept::is_empty(account)).collect();
        Ok(Plan { found, kept, balances })
    }

    /// Carries an erasure out to its end.
    pub(crate) async fn carry_out(&self, id: &str) -> Result<(), Problem> {
        let Some(mut running) = self.change(id, |_| {})? else { return Ok(()) };
        let user =
            UserName::new(&running.user).map_err(|error| not_kept(io::Error::other(error.to_string())))?;
        for step in self.steps() {
            if running.done.contains(step) {
                continue;
            }
            match step {
                "devices" => self.remove_devices(&running, &user).await?,
                "pushes" => self.forget_pushes(&running, &user).await?,
                "sessions" | "retained_messages" if self.nodes.is_some() => self.count_nodes(&running)?,
                "sessions" => self.end_sessions(&running).await?,
                "retained_messages" => self.remove_retained(&running).await?,
                "jobs" => self.delete_jobs(&running).await?,
                _ => self.close_accounts(&running, &user).await?,
            }
            let done = |one: &mut Running| {
                one.done.insert(step.to_owned());
            };
            running = self.change(id, done)?.unwrap_or(running);
        }
        let finished_ms = now_ms();
        let mut kept = running.kept.clone();
        kept.extend(kept::elsewhere(self.lines(&running)?));
        let receipt = self.receipt(&running, &kept, finished_ms)?;
        self.erasures.finish(id, receipt, finished_ms).map_err(not_kept)?;
        tracing::info!(erasure = id, again = running.again, "A user is erased");
        Ok(())
    }

    /// The steps, in their order. The nodes of a cluster do their parts at once, and are waited for
    /// last.
    fn steps(&self) -> [&'static str; 6] {
        let [devices, pushes, sessions, retained, jobs, wallets] = STEPS;
        match self.nodes {
            None => STEPS,
            Some(_) => [devices, pushes, jobs, wallets, sessions, retained],
        }
    }

    fn change(&self, id: &str, mut change: impl FnMut(&mut Running)) -> Result<Option<Running>, Problem> {
        self.erasures.change(id, &mut change).map_err(not_kept)
    }

    /// Adds up what the nodes of a cluster have found, once each has done its part.
    fn count_nodes(&self, running: &Running) -> Result<(), Problem> {
        let is_late = |node: &&String| !running.nodes.get(*node).is_some_and(|part| part.done);
        let late: Vec<&str> = self.nodes.iter().flatten().filter(is_late).map(String::as_str).collect();
        if !late.is_empty() {
            let detail = format!(
                "these nodes have not ended the user's sessions yet: {}; one that is away does so before it \
                 serves again",
                late.join(", ")
            );
            return Err(Problem::new(NODES_LATE, detail));
        }
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (kind, count) in running.nodes.values().flat_map(|part| &part.found) {
            *sums.entry(kind).or_default() += count;
        }
        let sums: Vec<(&str, u64)> = sums.into_iter().collect();
        self.found(running, &sums)
    }

    /// Lines of audit logs that are about the user.
    fn lines(&self, running: &Running) -> Result<u64, Problem> {
        match self.nodes {
            None => self.local.audit_lines(&running.clients),
            Some(_) => Ok(running.nodes.values().map(|part| part.audit_lines).sum()),
        }
    }

    async fn end_sessions(&self, running: &Running) -> Result<(), Problem> {
        let (sessions, messages) = self.local.count_sessions(&running.clients).await?;
        self.found(running, &[("sessions", sessions), ("session_messages", messages)])?;
        self.local.end_sessions(&running.clients).await
    }

    async fn remove_retained(&self, running: &Running) -> Result<(), Problem> {
        let count = self.local.count_retained(&running.clients).await?;
        self.found(running, &[("retained_messages", count)])?;
        self.local.remove_retained(&running.clients).await
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
        let kept: Vec<Kept> = kept.into_iter().collect();
        self.change(&running.id, |one| {
            for kept in &kept {
                one.kept.retain(|known| known.kind != kept.kind);
                one.kept.push(kept.clone());
            }
        })?;
        Ok(())
    }

    /// Ends the sessions, then removes the devices. A device that is removed is cut, and the will
    /// of a session that is left then would be published.
    async fn remove_devices(&self, running: &Running, user: &UserName) -> Result<(), Problem> {
        let devices = find::devices(self.shards, user).await?;
        let clients = find::clients(self.shards, user, &devices).await?;
        let noted = self.change(&running.id, |one| {
            one.clients.extend(clients.iter().cloned());
            one.done.insert(CLIENTS.to_owned());
        })?;
        self.found(running, &[("devices", devices.len() as u64)])?;
        let running = noted.as_ref().unwrap_or(running);
        match &self.nodes {
            None => self.end_sessions(running).await?,
            Some(nodes) => await_ends(running, nodes)?,
        }
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
