//! Devices that are connected or have a session: list, show and disconnect.

use serde_json::{Value, json};

use crate::api::{Api, encoded};
use crate::failure::Failure;
use crate::terminal::{Style, Terminal, count};

/// Devices asked for in one request.
const PAGE: u64 = 1_000;

/// Lists them.
pub(super) fn list(
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
