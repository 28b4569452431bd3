//! `stadium device`: who is connected, who is registered, and their passwords.
//!
//! A device may be registered with the push platform, have a session, or both: `list` and `show`
//! show both, `kick` closes a connection. All but `passwd` and `explain` ask a running server;
//! `passwd` edits the password file, which a server notices by itself.

mod explain;
mod files;
mod known;
mod registered;
pub(super) mod removal;
mod sessions;
mod trace;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::passwd;
use crate::api::Api;
use crate::failure::Failure;
use crate::of_app::{AppFlag, parse_audience};
use crate::on::On;
use crate::terminal::Terminal;

/// What to do with devices.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium device list                                        registered, connected, or both
  stadium device list --connected                            who is connected
  stadium device list --audience tag:vip                     who is registered, and has the tag
  stadium device set phone-7 --platform ios --tag vip --attribute score=12
  stadium device import fans.csv                             a heading with `device`, then a line each
  stadium device export --format ndjson --output fans.ndjson
  stadium device remove --prefix swarm-                      asks, then forgets them a page at a time
  stadium device credential phone-7                          a new MQTT password, shown once
  stadium device trace phone-7                               what it sends and gets, as it happens
  stadium device trace --topic 'uplink/#' --for 60           who publishes there, for a minute")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List devices, in order of their ids
    List(On<ListArguments>),
    /// Show one device: its session and connection, what is registered, and what it is owed
    Show(On<registered::OneArguments>),
    /// Close a device's connection; its session stays, and it may connect again
    Kick(On<KickArguments>),
    /// Follow the packets of a device or a topic, a line each, until Ctrl-C; payloads and passwords are not shown
    Trace(On<trace::Arguments>),
    /// Register a device, or change what is known of it; what is left out stays
    Set(On<registered::SetArguments>),
    /// Forget a registered device with what it is owed, or all that match
    Remove(On<removal::Arguments>),
    /// Register the devices of a file, or change those that are known
    Import(On<files::ImportArguments>),
    /// Write all registered devices, or those of an audience, as a file
    Export(On<files::ExportArguments>),
    /// Make a new MQTT password for a device, or take it away
    Credential(On<registered::CredentialArguments>),
    /// Keep a device out: it is cut now, and may not connect until it is restored
    Revoke(On<registered::OneArguments>),
    /// Let a revoked device connect again
    Restore(On<registered::OneArguments>),
    /// Say whether a device may use a topic, and which rule of the rules file decides
    Explain(explain::Arguments),
    /// Set, print or delete a user's password in the password file
    Passwd(passwd::Arguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only ids that begin so
    #[arg(long)]
    prefix: Option<String>,
    /// Only devices with an open connection, registered or not
    #[arg(long, conflicts_with_all = ["away", "sessions", "registered", "audience", "user"])]
    connected: bool,
    /// Only devices whose session waits for them, registered or not
    #[arg(long, conflicts_with_all = ["sessions", "registered", "audience", "user"])]
    away: bool,
    /// Only devices with a connection or a session, registered or not
    #[arg(long, conflicts_with_all = ["registered", "audience", "user"])]
    sessions: bool,
    /// Only those that are registered, connected or not
    #[arg(long)]
    registered: bool,
    /// Those that are registered and match: all, tag:TAG, list:LIST, or a selector as JSON
    #[arg(long, value_parser = parse_audience)]
    audience: Option<Value>,
    /// Those that are registered, of a named user
    #[arg(long)]
    user: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
struct KickArguments {
    /// The device's id (its MQTT client identifier)
    id: String,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List(on) => on.run(list, terminal),
        Action::Show(on) => on.run(registered::show, terminal),
        Action::Kick(on) => on.run(|api, which, terminal| sessions::kick(api, &which.id, terminal), terminal),
        Action::Trace(on) => on.run(trace::follow, terminal),
        Action::Set(on) => on.run(registered::set, terminal),
        Action::Remove(on) => on.run(removal::run, terminal),
        Action::Import(on) => on.run(files::import, terminal),
        Action::Export(on) => on.run(files::export, terminal),
        Action::Credential(on) => on.run(registered::credential, terminal),
        Action::Revoke(on) => on.run(registered::revoke, terminal),
        Action::Restore(on) => on.run(registered::restore, terminal),
        Action::Explain(arguments) => explain::run(arguments, terminal),
        Action::Passwd(arguments) => passwd::run(arguments, terminal),
    }
}

fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ListArguments { prefix, connected, away, sessions, registered, audience, user, limit, app } =
        arguments;
    if registered || audience.is_some() || user.is_some() {
        let which = registered::Which { prefix, audience, user, limit };
        return registered::list(api, &app, &which, terminal);
    }
    let connection = match (connected, away, sessions) {
        (true, ..) => Some("true"),
        (_, true, _) => Some("false"),
        (.., true) => None,
        _ => return known::list(api, &app, prefix, limit, terminal),
    };
    sessions::list(api, prefix.as_deref(), connection, limit, terminal)
}
