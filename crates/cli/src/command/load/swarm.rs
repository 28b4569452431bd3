//! `stadium load swarm`: simulated MQTT devices against any broker.
//!
//! All of it is `stadium_load`'s; here are the progress, and the removal of devices that a Stadium
//! server registered.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use stadium_load::run::Swarm;
use stadium_load::swarm::{self, Progress, SwarmConfig};
use stadium_load::{Error, on_interrupt};

use crate::api::Api;
use crate::command::device::removal::remove;
use crate::failure::{Context, Failure};
use crate::of_app::AppFlag;
use crate::server::ServerFlags;
use crate::terminal::{Terminal, count, short};

/// A swarm, and the server that it cleans up on.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    swarm: swarm::Args,
    /// Data directory of the Stadium server on this machine: at the end the devices that it
    /// registered for this swarm are removed
    #[arg(long, value_name = "DIR", help_heading = "Clean-up")]
    data: Option<PathBuf>,
    /// The same for a server elsewhere: its HTTP API; its key is in STADIUM_KEY, a profile or the
    /// data directory
    #[arg(long, value_name = "URL", help_heading = "Clean-up")]
    url: Option<String>,
    /// Leave them registered
    #[arg(long, help_heading = "Clean-up")]
    keep_devices: bool,
}

/// Runs a swarm.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let config = arguments.swarm.config().map_err(usage)?;
    let registered = Registered::find(arguments, &config)?;
    let bar = terminal.progress(u64::from(config.devices), "connecting");
    let swarm = Swarm::start(config).map_err(usage)?;
    let control = swarm.control();
    on_interrupt(move || control.stop()).context("Ctrl-C cannot be listened for")?;
    let ran = swarm.wait(&mut |progress: &Progress| {
        bar.set_position(u64::from(progress.now.up));
        if progress.settled {
            bar.set_prefix("connected");
        }
        bar.set_message(describe(progress));
    });
    bar.finish_and_clear();
    // Also where it failed: what it left behind is removed.
    registered.remove(terminal)?;
    let report = ran.context("the swarm failed")?;
    if terminal.is_json() {
        terminal.json(&report)?;
    } else {
        terminal.data(report.table().trim_end())?;
    }
    if report.at_end.up == 0 && report.sums.connected == 0 {
        return Err(Failure::new("no device ever connected: is the broker there, and does it let them in?"));
    }
    Ok(())
}

/// The devices that the server registers because the swarm's devices read their inboxes.
struct Registered {
    prefix: String,
    began: Instant,
    place: Place,
}

/// Where they are.
enum Place {
    /// They are kept, or none are registered.
    Nowhere,
    /// On a server that was not named.
    Unknown,
    Server(Api),
}

/// More than a server needs to register a device, in seconds: the time of a registration counts to
/// the second.
const SLACK_S: u64 = 2;

impl Registered {
    /// Before the swarm begins: a server that was named wrongly is reported now.
    fn find(arguments: &Arguments, config: &SwarmConfig) -> Result<Self, Failure> {
        let (url, data) = (arguments.url.clone(), arguments.data.clone());
        let server = ServerFlags { url, data, ..ServerFlags::default() };
        let reads_inboxes =
            config.subscriptions.iter().any(|filter| filter.to_string().starts_with("inbox/"));
        let place = if arguments.keep_devices || !reads_inboxes {
            Place::Nowhere
        } else if server.url.is_some() || server.data.is_some() {
            Place::Server(Api::open(&server)?)
        } else {
            Place::Unknown
        };
        Ok(Self { prefix: config.id_prefix.clone(), began: Instant::now(), place })
    }

    /// Removes those that were registered since the swarm began. Others with the prefix stay.
    fn remove(self, terminal: &Terminal) -> Result<(), Failure> {
        let Self { prefix, began, place } = self;
        let api = match place {
            Place::Nowhere => return Ok(()),
            Place::Unknown => {
                terminal.note(format_args!(
                    "note: a Stadium server keeps these devices registered; `stadium device remove --prefix {prefix}` forgets \
                     them, and so does the swarm itself with --data or --url"
                ));
                return Ok(());
            }
            Place::Server(api) => api,
        };
        let since = json!({"registered": {"within_s": began.elapsed().as_secs() + SLACK_S}}).to_string();
        let which = [("prefix", prefix.as_str()), ("audience", since.as_str())];
        let bar = terminal.progress(0, "removing");
        let app = AppFlag::of("default");
        let removed = remove(&api, &app, &which, &mut |removed| bar.set_position(removed));
        bar.finish_and_clear();
        terminal.note(format_args!("{} devices that the server had registered are removed", count(removed?)));
        Ok(())
    }
}

/// What a swarm was asked for and cannot be is wrong usage; anything else is a failure.
fn usage(error: Error) -> Failure {
    match error {
        Error::Config(text) => Failure::Usage(text),
        other => Failure::new(format!("swarm: {other}")),
    }
}

fn describe(progress: &Progress) -> String {
    let mut parts = Vec::new();
    if progress.connects_per_second > 0.0 {
        parts.push(format!("{} connects/s", count(progress.connects_per_second as u64)));
    }
    if progress.deliveries_per_second > 0.0 {
        parts.push(format!("{} deliveries/s", count(progress.deliveries_per_second as u64)));
    }
    if let Some(newest) = &progress.broadcast {
        parts.push(format!("last message to all in {}", short(newest.to_last_ms / 1_000.0)));
    }
    parts.join(", ")
}
