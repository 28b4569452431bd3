//! Everything that the server has of a user, as one JSON document that is made while it is read.
//!
//! A failure after the first bytes ends the connection early, and the document then lacks its last
//! field, `complete`: nobody takes half of it for all.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use stadium_push::{Command as PushCommand, PushView, State, Trace};
use stadium_registry::UserName;
use stadium_shard::Shards;
use stadium_wallet::{AccountView, Command as WalletCommand, EntryPage, HoldView, Range};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::devices::views::whole;
use crate::platform::states::TraceReport;
use crate::push::views::{PlatformPushReport, Shown};
use crate::queue::views::{JobReport, PayloadShown};
use crate::request::problem::Problem;
use crate::shards::ask_shards;
use crate::users::elsewhere::{Away, Elsewhere, OtherNodes};
use crate::users::find::{self, DeviceOf};
use crate::users::on_node::{Here, OnNode};
use crate::users::spelled::{at, now_ms};
use crate::wallet::views::{AccountReport, EntryReport, HoldReport};

/// Pushes and entries asked for at once.
const PAGE: u32 = 200;

/// Holds of a wallet that are shown.
const HOLDS_MAX: u32 = 1_000;

/// Bytes that are collected before they are sent.
const PIECE_BYTES: usize = 64 << 10;

/// The nodes of a cluster that an export asks.
pub(crate) struct Nodes {
    pub(crate) nodes: Arc<dyn OtherNodes>,
    /// Those that may have sessions of the user.
    pub(crate) others: BTreeSet<String>,
    pub(crate) away: Away,
}

/// A document under way.
pub(crate) struct Export {
    version: String,
    here: Here,
    /// The other nodes, where the server is of a cluster.
    elsewhere: Option<Elsewhere>,
    shards: Shards,
    user: UserName,
    devices: Vec<DeviceOf>,
    clients: BTreeSet<String>,
    to: mpsc::Sender<io::Result<Bytes>>,
    text: String,
    is_first: bool,
}

/// The reason for which a document ends early.
enum Stop {
    /// Its reader went away.
    Gone,
    Problem(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl Export {
    /// The document's body. The devices are found, and other nodes are asked, before this returns,
    /// so that a refusal is a problem and no broken document.
    pub(crate) async fn begin(
        (version, shards, here): (String, Shards, Here),
        nodes: Option<Nodes>,
        user: UserName,
    ) -> Result<Body, Problem> {
        let devices = find::devices(&shards, &user).await?;
        let clients = find::clients(&shards, &user, &devices).await?;
        let elsewhere = match nodes {
            Some(Nodes { nodes, others, away }) => {
                Some(Elsewhere::prepare(nodes, others, &clients, away).await?)
            }
            None => None,
        };
        let (to, from) = mpsc::channel(1);
        let mut export = Self {
            version,
            here,
            elsewhere,
            shards,
            user,
            devices,
            clients,
            to,
            text: String::new(),
            is_first: true,
        };
        tokio::spawn(async move {
            if let Err(Stop::Problem(problem)) = export.write().await {
                tracing::warn!(problem = problem.in_words(), "An export of a user broke off");
                drop(export.to.send(Err(io::Error::other("it broke off"))).await);
            }
        });
        Ok(Body::from_stream(ReceiverStream::new(from)))
    }

    async fn write(&mut self) -> Result<(), Stop> {
        let version = self.version.clone();
        self.text.push_str("{\"format\":\"stadium user export, version 1\"");
        for (name, value) in
            [("user", self.user.to_string()), ("exported_at", at(now_ms())), ("server", version)]
        {
            self.text.push_str(&format!(",\"{name}\":{}", Value::from(value)));
        }
        let devices = std::mem::take(&mut self.devices);
        self.list("devices");
        for (app, view) in &devices {
            let mut json = whole(view);
            json["app"] = app.as_str().into();
            self.item(&json).await?;
        }
        self.list_end();
        self.pushes(&devices).await?;
        self.of_nodes(OnNode::Sessions).await?;
        self.of_nodes(OnNode::Retained).await?;
        self.jobs().await?;
        self.wallets().await?;
        self.of_nodes(OnNode::Audit).await?;
        self.list("nodes_not_searched");
        let skipped = self.elsewhere.as_ref().map_or_else(Vec::new, |elsewhere| elsewhere.skipped().to_vec());
        for node in &skipped {
            self.item(node).await?;
        }
        self.list_end();
        self.text.push_str(",\"complete\":true}\n");
        self.send().await
    }

    fn list(&mut self, name: &str) {
        self.text.push_str(&format!(",\n\"{name}\":["));
        self.is_first = true;
    }

    fn list_end(&mut self) {
        self.text.push(']');
    }

    async fn item(&mut self, item: &impl Serialize) -> Result<(), Stop> {
        self.text.push_str(if self.is_first { "\n" } else { ",\n" });
        self.is_first = false;
        self.text.push_str(&serde_json::to_string(item).expect("strings and numbers always serialise"));
        if self.text.len() < PIECE_BYTES {
            return Ok(());
        }
        self.send().await
    }

    async fn send(&mut self) -> Result<(), Stop> {
        let piece = Bytes::from(std::mem::take(&mut self.text));
        self.to.send(Ok(piece)).await.map_err(|_| Stop::Gone)
    }

    /// Pushes that the user's devices got, are owed or were left out of, and those that were for
    /// the user alone.
    async fn pushes(&mut self, devices: &[DeviceOf]) -> Result<(), Stop> {
        self.list("pushes");
        for app in find::apps(&self.shards).await? {
            let of_app: Vec<_> =
                devices.iter().filter(|(of, _)| *of == app).map(|(_, view)| view.device.id.clone()).collect();
            let mut before = None;
            loop {
                let command = PushCommand::Pushes { app: app.clone(), before, pushes_max: PAGE };
                let page: Vec<PushView> = ask_shards(&self.shards, command).await?;
                let is_last = page.len() < PAGE as usize;
                before = page.last().map(|view| (view.accepted_at, view.push.id));
                for view in &page {
                    // All questions of a push are under way before the first is waited for.
                    let asked: Vec<_> = of_app
                        .iter()
                        .map(|device| PushCommand::Trace {
                            app: app.clone(),
                            push: view.push.id,
                            device: device.clone(),
                        })
                        .map(|command| self.shards.submit_push(command))
                        .collect();
                    let mut deliveries = Vec::new();
                    for ticket in asked {
                        // A push that the device's shard does not know never reached it.
                        if let Ok(stadium_push::Answer::Trace(trace)) = ticket.await
                            && concerns(&trace)
                        {
                            deliveries.push(TraceReport::of(*trace));
                        }
                    }
                    if deliveries.is_empty()
                        && !find::is_for_user_alone(&view.push, &self.user, &self.clients)
                    {
                        continue;
                    }
                    let shown = Shown { whole: true, payload: true };
                    let mut json = serde_json::to_value(PlatformPushReport::of(view, shown))
                        .expect("strings and numbers always serialise");
                    json["deliveries"] = json!(deliveries);
                    self.item(&json).await?;
                }
                if is_last {
                    break;
                }
            }
        }
        self.list_end();
        Ok(())
    }

    /// A list of things that each node has alone: this one's, then those of the other nodes.
    async fn of_nodes(&mut self, list: OnNode) -> Result<(), Stop> {
        self.list(list.name());
        for mut item in self.here.list(list, &self.clients).await? {
            if let Some(elsewhere) = &self.elsewhere {
                item["node"] = elsewhere.me().into();
            }
            self.item(&item).await?;
        }
        for part in 0..self.elsewhere.as_ref().map_or(0, Elsewhere::parts) {
            self.of_node(part, list).await?;
        }
        self.list_end();
        Ok(())
    }

    /// Passes on what another node has made ready.
    async fn of_node(&mut self, part: usize, list: OnNode) -> Result<(), Stop> {
        let mut from = 0;
        while let Some(elsewhere) = &self.elsewhere
            && let Some(piece) = elsewhere.piece(part, list, from).await?
        {
            if from == 0 {
                self.text.push_str(if self.is_first { "\n" } else { ",\n" });
                self.is_first = false;
            }
            from += piece.len();
            // The text before it goes first: the bytes of a piece may end within a character.
            self.send().await?;
            self.to.send(Ok(piece)).await.map_err(|_| Stop::Gone)?;
        }
        Ok(())
    }

    async fn jobs(&mut self) -> Result<(), Stop> {
        self.list("jobs");
        let jobs = find::jobs(&self.shards, &self.clients).await?;
        for job in &jobs.found {
            self.item(&JobReport::of(job, PayloadShown::Whole)).await?;
        }
        self.list_end();
        self.list("queues_not_searched");
        for queue in &jobs.not_searched {
            self.item(queue).await?;
        }
        self.list_end();
        Ok(())
    }

    async fn wallets(&mut self) -> Result<(), Stop> {
        let accounts: Vec<AccountView> = find::accounts(&self.shards, &self.user).await?;
        self.list("accounts");
        for account in &accounts {
            self.item(&AccountReport::of(account)).await?;
        }
        self.list_end();
        self.list("holds");
        let wallets: BTreeSet<_> = accounts.iter().map(|account| account.wallet.to_string()).collect();
        for wallet in wallets {
            let wallet = accounts.iter().find(|account| account.wallet.as_str() == wallet);
            let Some(AccountView { wallet, .. }) = wallet else { continue };
            let command = WalletCommand::Holds { wallet: wallet.clone(), holds_max: HOLDS_MAX };
            let holds: Vec<HoldView> = ask_shards(&self.shards, command).await?;
            for hold in &holds {
                self.item(&HoldReport::of(hold)).await?;
            }
        }
        self.list_end();
        self.list("entries");
        for account in &accounts {
            let mut before = None;
            loop {
                let range = Range { before, entries_max: PAGE, ..Range::default() };
                let (wallet, asset) = (account.wallet.clone(), account.asset.clone());
                let page: EntryPage =
                    ask_shards(&self.shards, WalletCommand::History { wallet, asset, range }).await?;
                for entry in &page.entries {
                    let mut json = serde_json::to_value(EntryReport::of(entry))
                        .expect("strings and numbers always serialise");
                    json["wallet"] = account.wallet.as_str().into();
                    self.item(&json).await?;
                }
                before = page.before;
                if before.is_none() {
                    break;
                }
            }
        }
        self.list_end();
        Ok(())
    }
}

/// Whether a push was for the device, or left it out for a reason of its own.
fn concerns(trace: &Trace) -> bool {
    !matches!(trace.state, State::NotRegistered | State::NotMatched { .. })
}
