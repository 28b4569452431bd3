//! Devices that are connected or have a session: list, show and disconnect.

use serde_json::{Value, json};

use crate::api::{Api, Refused, encoded};
use crate::failure::Failure;
use crate::on::{Pages, more};
use crate::terminal::{Style, Terminal, count};

/// Those that begin so and are connected or not, and where the next page would begin.
pub(super) fn read(
    api: &Api,
    prefix: Option<&str>,
    connected: Option<&str>,
    limit: u64,
) -> Result<(Vec<Value>, Option<String>), Refused> {
    let given = [("prefix", prefix), ("connected", connected)].into_iter();
    let given = given.filter_map(|(name, value)| value.map(|value| format!("&{name}={}", encoded(value))));
    let filter: String = given.collect();
    Pages { path: "/api/devices", filter: &filter, field: "devices", from: "after", limit }.read(api)
}

/// Lists them.
pub(super) fn list(
    api: &Api,
    prefix: Option<&str>,
    connected: Option<&str>,
    limit: u64,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let (devices, next) = read(api, prefix, connected, limit)?;
    if terminal.is_json() {
        return terminal.json(&json!({"devices": devices, "next": next}));
    }
    let width =
        devices.iter().map(|device| text(device, "id").chars().count()).max().unwrap_or(0).clamp(8, 40);
    for device in &devices {
        let (word, facts) = state(device);
        let style = if device.get("connection").is_some() { Style::Good } else { Style::Faint };
        let state = format!("{}{facts}", terminal.out(style, word));
        terminal.data(&format!("{:<width$}  {state}", text(device, "id")))?;
    }
    if devices.is_empty() {
        terminal.note("no device that is connected or has a session matches");
    }
    more(next.as_ref(), limit, terminal);
    Ok(())
}

/// Whether a session is connected, and from where, or what waits for it.
pub(super) fn state(session: &Value) -> (&'static str, String) {
    match session.get("connection") {
        Some(connection) => (
            "connected",
            format!(
                " {} MQTT {} from {}",
                text(connection, "transport"),
                text(connection, "mqtt_version"),
                text(connection, "address"),
            ),
        ),
        None => ("away", format!(", {} queued", count(number(session, "queued")))),
    }
}

/// Shows one.
pub(super) fn show(device: &Value, terminal: &Terminal) -> Result<(), Failure> {
    terminal.data(&format!("{}", terminal.out(Style::Strong, text(device, "id"))))?;
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
            terminal.data(&format!("  away, session kept until {}", text(device, "session_expires_at")))?
        }
    }
    terminal.data(&format!(
        "  {} queued, {} in flight",
        count(number(device, "queued")),
        count(number(device, "in_flight"))
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

/// Closes one's connection.
pub(super) fn kick(api: &Api, id: &str, terminal: &Terminal) -> Result<(), Failure> {
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
