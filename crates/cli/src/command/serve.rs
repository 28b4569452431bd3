//! `stadium serve`: runs a node until a signal ends it.
//!
//! The first SIGTERM or Ctrl-C drains: devices are moved away, what is owned is finished, and the
//! process exits with 0 within the grace period. A second one leaves at once. SIGHUP reads
//! certificates, keys, passwords and rules again. Where the log is JSON, the banner and the steps
//! are lines of the log.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stadium_node::settings::{Limits, Log, LogFormat, Method, Settings};
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

/// Serves. Where the log is JSON, nothing else is written to standard error, errors included.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let format = arguments.settings.log_format();
    let ended = serve(arguments, terminal, format);
    match (ended, format) {
        (Err(failure), LogFormat::Json) if !matches!(failure, Failure::Signalled(_)) => {
            // It logs already, unless the configuration was wrong.
            let _ = logging::start(&Log { level: "info".to_owned(), format });
            let exit_code = failure.number();
            tracing::error!(error = %failure, exit_code, "The server ended");
            if terminal.is_json() {
                terminal.json(&json!({ "error": failure.to_string(), "exit_code": exit_code }))?;
            }
            Err(Failure::Logged(exit_code))
        }
        (ended, _) => ended,
    }
}

fn serve(arguments: &Arguments, terminal: &Terminal, format: LogFormat) -> Result<(), Failure> {
    let loaded = arguments.settings.load()?;
    logging::start(&loaded.settings.log).context("the server cannot start")?;
    // There the log has everything, and nobody presses Ctrl-C.
    let is_log_only = format == LogFormat::Json || logging::goes_to_journal();
    let is_quiet = terminal.is_json() || is_log_only;
    let signals = Signals::listen().context("the server cannot start")?;
    let started = Node::start_unless_signalled(&loaded.settings, &signals);
    let Some(node) = started.context("the server cannot start")? else {
        tracing::info!("Left before the server was ready");
        if !is_quiet {
            terminal.note("Left before the server was ready.");
        }
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
    }
    if is_log_only {
        log_start(&node, &loaded.settings);
    } else if !terminal.is_json() {
        banner(&node, &loaded.settings, terminal);
    }
    let ended = node.run_until_signalled(signals, |step| {
        if !is_quiet {
            terminal.note(step);
        }
    });
    match ended.context("the server failed")? {
        Ended::Drained => Ok(()),
        Ended::LeftAtOnce { signal } => Err(Failure::Signalled(signal)),
    }
}

/// The banner as lines of the log.
fn log_start(node: &Node, settings: &Settings) {
    let running = node.running();
    for listener in &running.listeners {
        tracing::info!(listener = listener.name, address = %listener.address, "Listens");
    }
    let admin_key_file = admin_key_file(node).map(|file| file.display().to_string());
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, pid = running.pid, http_url = running.http_url, admin_key_file, "Ready");
    let connections_max = settings.limits.connections_max;
    if node.files_max() < u64::from(connections_max) {
        let open_files = node.files_max();
        tracing::warn!(open_files, connections_max, "The open-file limit is below limits.connections_max");
    }
    if settings.server.trial {
        tracing::warn!("Trial mode, not for production: anyone on this machine is a device");
    } else if no_device_can_connect(settings) {
        tracing::warn!("No device can connect yet: set up [auth]");
    }
}

fn no_device_can_connect(settings: &Settings) -> bool {
    settings.auth.anonymous == stadium_node::settings::Anonymous::Refused && !has_credentials(settings)
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
    } else if no_device_can_connect(settings) {
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
