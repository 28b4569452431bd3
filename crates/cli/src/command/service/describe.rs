//! `stadium service describe`: a service's methods and messages, as it describes itself.

use std::time::Duration;

use serde_json::json;

use super::caller;
use super::contract::interaction;
use super::place::PlaceFlags;
use crate::failure::Failure;
use crate::terminal::{Style, Terminal};

/// Describes.
pub(super) fn run(
    name: &str,
    flags: &PlaceFlags,
    deadline: Duration,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let client = flags.client(1)?;
    let contract = caller::contract(&client.service(name), name, deadline)?;
    let description = contract.description();
    if terminal.is_json() {
        let methods: Vec<_> = description
            .methods
            .iter()
            .map(|method| {
                json!({
                    "route": method.route,
                    "interaction": method.interaction().as_str_name().to_ascii_lowercase(),
                    "idempotent": method.idempotent,
                    "request_type": method.request_type,
                    "answer_type": method.answer_type,
                })
            })
            .collect();
        return terminal.json(&json!({
            "name": description.name,
            "version": description.version,
            "methods": methods,
        }));
    }
    terminal.data(&format!(
        "{} {}",
        terminal.out(Style::Strong, &description.name),
        terminal.out(Style::Faint, format_args!("version {}", description.version))
    ))?;
    let mut messages: Vec<&str> = Vec::new();
    for method in &description.methods {
        let idempotent = if method.idempotent { ", idempotent" } else { "" };
        terminal.data(&format!(
            "  {}({}) {}: {}{idempotent}",
            terminal.out(Style::Name, &method.route),
            method.request_type,
            method.answer_type,
            interaction(method.interaction()),
        ))?;
        for message in [&method.request_type, &method.answer_type] {
            if !message.is_empty() && !messages.contains(&message.as_str()) {
                messages.push(message);
            }
        }
    }
    for message in messages {
        terminal.data(&format!("\n{}", contract.shape(message)))?;
    }
    Ok(())
}
