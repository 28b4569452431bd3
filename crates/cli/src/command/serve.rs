//! `stadium serve`: runs a node until a signal ends it.
//!
//! The first SIGTERM or Ctrl-C drains: devices are moved away, what is owned is finished, and the process exits with 0
//! within the grace period. A second one leaves at once. SIGHUP reads certificates, keys, passwords and rules again.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stadium_node::settings::{Limits, Method, Settings};
use stadium_node::{Ended, Node, Signals, logging};

use crate::failure::{Context, Failure};
use crate::settings_flags::SettingsFlags;
use crate::terminal::{Style, Terminal, count};

/// The settings to run with.
#[derive(Debug, Args)]
#[command(after_help = "\
Signals: SIGTERM or Ctrl-C drains and exits with 0 within server.grace_period_s, or at once while the server still starts; a second
one leaves at once and exits with 128 and its number. SIGHUP reads certificates, keys, the password file and the rules again.
With --json one line on standard output has the addresses as soon as they accept connections.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    settings: SettingsFlags,
}

/// Serves.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let loaded = arguments.settings.load()?;
    logging::start(&loaded.settings.log).context("the server cannot start")?;
    let signals = Signals::listen().context("the server cannot start")?;
    let started = Node::start_unless_signalled(&loaded.settings, &signals);
    let Some(node) = started.context("the server cannot start")? else {
        terminal.note("Left before the server was ready.");
        return Ok(());
    };
    node.show(&loaded);
    if terminal.is_json() {
        let running = node.running();
        terminal.json(&json!({
            "event": "ready",
            "version": env!("CARGO_PKG_VERSION"),
            "pid": running.pid,
            "listeners": running.listeners,
            "http_url": running.http_url,
            "admin_key_file": admin_key_file(&node),
            "trial": loaded.settings.server.trial,
        }))?;
    } else {
        banner(&node, &loaded.settings, terminal);
    }
    let ended = node.run_until_signalled(signals, |step| {
        if !terminal.is_json() {
            terminal.note(step);
        }
    });
    match ended.context("the server failed")? {
        Ended::Drained => Ok(()),
        Ended::LeftAtOnce { signal } => Err(Failure::Signalled(signal)),
    }
}

/// The file with the first admin key; none where another node of the cluster made the key.
fn admin_key_file(node: &Node) -> Option<PathBuf> {
    Some(node.admin_key_file()).filter(|file| file.exists())
}

fn banner(node: &Node, settings: &Settings, terminal: &Terminal) {
    let running = node.running();
    let name = |text: String| terminal.err(Style::Name, text);
    terminal.note(format_args!(
        "\n  {} {}  {}\n",
        terminal.err(Style::Strong, "Stadium"),
        env!("CARGO_PKG_VERSION"),
        terminal.err(Style::Faint, format_args!("pid {}, {} loops", running.pid, node.loops())),
    ));
    for listener in &running.listeners {
        let (label, shown) = match listener.name.as_str() {
            "mqtt" => ("MQTT", format!("mqtt://{}", listener.address)),
            "mqtts" => ("MQTT, TLS", format!("mqtts://{}", listener.address)),
            "ws" => ("WebSocket", format!("ws://{}{}", listener.address, settings.ws.path)),
            "wss" => ("WebSocket, TLS", format!("wss://{}{}", listener.address, settings.wss.path)),
            "rpc" => ("Services", format!("rsocket://{}", listener.address)),
            _ => continue,
        };
        terminal.note(format_args!("  {label:<15} {}", name(shown)));
    }
    if let Some(url) = &running.http_url {
        if let Some(address) = url.strip_prefix("http://") {
            terminal.note(format_args!("  {:<15} {}", "WebSocket", name(format!("ws://{address}/mqtt"))));
        }
        terminal.note(format_args!("  {:<15} {}", "HTTP API", name(format!("{url}/docs"))));
        terminal.note(format_args!("  {:<15} {}", "Live page", name(format!("{url}/live"))));
        let elsewhere = || "admin.key of the node that made it for the cluster".to_owned();
        let key = admin_key_file(node).map_or_else(elsewhere, |file| file.display().to_string());
        terminal.note(format_args!("  {:<15} {}", "Admin key", name(key)));
    }
    let Limits { connections_max, .. } = settings.limits;
    if node.files_max() < u64::from(connections_max) {
        terminal.note(format_args!(
            "  {:<15} {}",
            "Room for",
            format_args!(
                "about {} connections: the open-file limit of this process (limits.connections_max is {})",
                count(node.files_max()),
                count(u64::from(connections_max))
            )
        ));
    }
    if settings.server.trial {
        let warn = |text| terminal.err(Style::Warning, text);
        terminal.note("");
        terminal.note(format_args!("  {}", warn("!!! TRIAL MODE: NOT FOR PRODUCTION !!!")));
        terminal.note(format_args!(
            "  {}",
            warn("Anyone on this machine is a device, may publish and read every topic, and sees the live")
        ));
        terminal.note(format_args!(
            "  {}",
            warn("page without a key. It listens on loopback only. Run without --trial for a real server.")
        ));
    } else if settings.auth.anonymous == stadium_node::settings::Anonymous::Refused
        && !has_credentials(settings)
    {
        terminal.note("");
        let advice = if settings.auth.registry.enabled && settings.auth.order.contains(&Method::Registry) {
            "Devices log in with credentials: `stadium device credential ID --register` makes one."
        } else {
            "No device can connect yet: set up [auth] in stadium.toml, `stadium init` shows how."
        };
        terminal.note(format_args!("  {}", terminal.err(Style::Warning, advice)));
    }
    terminal.note(format_args!(
        "\n  {}\n",
        terminal.err(Style::Faint, "Ctrl-C drains and stops; twice leaves at once.")
    ));
}

fn has_credentials(settings: &Settings) -> bool {
    let auth = &settings.auth;
    auth.password.file.is_some()
        || !auth.token.sources.is_empty()
        || auth.certificate.enabled
        || auth.callback.url.is_some()
}
