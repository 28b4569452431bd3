//! `stadium device`: list, show and disconnect devices, and write their passwords.
//!
//! All but `passwd` ask a running server; `passwd` edits the password file, which a server notices by itself.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Api, ServerFlags, encoded};
use crate::failure::Failure;
use crate::terminal::{Style, Terminal, count};

use super::passwd;

/// Devices asked for in one request.
const PAGE: u64 = 1_000;

/// What to do with devices.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List devices, in order of their ids
    List {
        /// Only ids that begin so
        #[arg(long)]
        prefix: Option<String>,
        /// Only devices with an open connection
        #[arg(long, conflicts_with = "away")]
        connected: bool,
        /// Only devices whose session waits for them
        #[arg(long)]
        away: bool,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Show one device with its subscriptions
    Show {
        /// The device's id (its MQTT client identifier)
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Close a device's connection; its session stays, and it may connect again
    Kick {
        /// The device's id
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Set, print or delete a user's password in the password file
    Passwd(passwd::Arguments),
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List { prefix, connected, away, limit, server } => {
            let connection = match (connected, away) {
                (true, _) => Some("true"),
                (_, true) => Some("false"),
                _ => None,
            };
            list(&Api::open(&server)?, prefix.as_deref(), connection, limit, terminal)
        }
        Action::Show { id, server } => show(&Api::open(&server)?, &id, terminal),
        Action::Kick { id, server } => kick(&Api::open(&server)?, &id, terminal),
        Action::Passwd(arguments) => passwd::run(arguments, terminal),
    }
}

fn list(
    api: &Api,
    prefix: Option<&str>,
    connected: Option<&str>,
    limit: u64,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let mut devices: Vec<Value> = Vec::new();
    let mut after: Option<String> = None;
    let more = loop {
        let wanted = limit.saturating_sub(devices.len() as u64).min(PAGE);
        if wanted == 0 {
            break after.is_some();
        }
        let mut path = format!("/api/devices?limit={wanted}");
        for (name, value) in [("prefix", prefix), ("connected", connected), ("after", after.as_deref())] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", encoded(value)));
            }
        }
        let mut page = api.get(&path)?;
        if let Some(Value::Array(found)) = page.get_mut("devices").map(Value::take) {
            devices.extend(found);
        }
        after = page.get("next").and_then(Value::as_str).map(str::to_owned);
        if after.is_none() {
            break false;
        }
    };
    if terminal.is_json() {
        return terminal.json(&json!({"devices": devices, "next": after}));
    }
    let width =
        devices.iter().map(|device| text(device, "id").chars().count()).max().unwrap_or(0).clamp(8, 40);
    for device in &devices {
        let state = match device.get("connection") {
            Some(connection) => format!(
                "{} {} MQTT {} from {}",
                terminal.out(Style::Good, "connected"),
                text(connection, "transport"),
                text(connection, "mqtt_version"),
                text(connection, "address"),
            ),
            None => {
                format!("{}, {} queued", terminal.out(Style::Faint, "away"), count(number(device, "queued")))
            }
        };
        terminal.data(&format!("{:<width$}  {state}", text(device, "id")))?;
    }
    if devices.is_empty() {
        terminal.note("no device matches");
    } else if more {
        terminal.note(format_args!("there are more: raise --limit above {limit}"));
    }
    Ok(())
}

fn show(api: &Api, id: &str, terminal: &Terminal) -> Result<(), Failure> {
    let device = api.get(&format!("/api/devices/{}", encoded(id)))?;
    if terminal.is_json() {
        return terminal.json(&device);
    }
    terminal.data(&format!("{}", terminal.out(Style::Strong, text(&device, "id"))))?;
    match device.get("connection") {
        Some(connection) => {
            terminal.data(&format!(
                "  {} since {}: {} from {}, MQTT {}, keep-alive {} s, loop {}",
                terminal.out(Style::Good, "connected"),
                text(connection, "connected_at"),
                text(connection, "transport"),
                text(connection, "address"),
                text(connection, "mqtt_version"),
                number(connection, "keepalive_s"),
                number(connection, "loop"),
            ))?;
            if connection.get("username").is_some() {
                terminal.data(&format!("  user {}", text(connection, "username")))?;
            }
        }
        None => {
            terminal.data(&format!("  away, session kept until {}", text(&device, "session_expires_at")))?
        }
    }
    terminal.data(&format!(
        "  {} queued, {} in flight",
        count(number(&device, "queued")),
        count(number(&device, "in_flight"))
    ))?;
    for subscription in device.get("subscriptions").and_then(Value::as_array).into_iter().flatten() {
        terminal.data(&format!(
            "  subscribed to {} at QoS {}",
            text(subscription, "filter"),
            number(subscription, "qos")
        ))?;
    }
    Ok(())
}

fn kick(api: &Api, id: &str, terminal: &Terminal) -> Result<(), Failure> {
    api.delete(&format!("/api/devices/{}/connection", encoded(id)))?;
    if terminal.is_json() {
        return terminal.json(&json!({"id": id, "kicked": true}));
    }
    terminal.data(&format!("{} is being disconnected; its session stays", terminal.out(Style::Name, id)))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("-")
}

fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or(0)
}
