//! `stadium key`: make, list and revoke API keys of a running server.
//!
//! A key's secret is shown once, when it is made; the server keeps a hash of it.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::api::{Api, ServerFlags, encoded};
use crate::failure::Failure;
use crate::terminal::{Style, Terminal};

/// What to do with API keys.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key; its secret is printed once
    Create {
        /// What to call it
        name: String,
        /// What it may do
        #[arg(long, value_enum, default_value_t = Role::Send)]
        role: Role,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// List the keys, without their secrets
    List {
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Take a key away; it stops working at once
    Revoke {
        /// The key's id, such as k_3f9a01c2d4e5
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
}

/// What a key may do. Each role contains the one before it.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
    /// See devices, pushes and metrics
    Read,
    /// Push as well
    Send,
    /// Everything
    Admin,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Create { name, role, server } => create(&Api::open(&server)?, &name, role, terminal),
        Action::List { server } => list(&Api::open(&server)?, terminal),
        Action::Revoke { id, server } => {
            Api::open(&server)?.delete(&format!("/api/keys/{}", encoded(&id)))?;
            if terminal.is_json() {
                return terminal.json(&json!({"id": id, "revoked": true}));
            }
            terminal.data(&format!("{id} no longer works"))
        }
    }
}

fn create(api: &Api, name: &str, role: Role, terminal: &Terminal) -> Result<(), Failure> {
    let role = role.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let created = api.post("/api/keys", &json!({"name": name, "role": role}))?;
    if terminal.is_json() {
        return terminal.json(&created);
    }
    let id = created.pointer("/key/id").and_then(Value::as_str).unwrap_or("-");
    terminal.note(format_args!("Key {id} ({role}) is made. Keep its secret; it cannot be shown again:"));
    terminal.data(created.get("secret").and_then(Value::as_str).unwrap_or_default())
}

fn list(api: &Api, terminal: &Terminal) -> Result<(), Failure> {
    let list = api.get("/api/keys")?;
    if terminal.is_json() {
        return terminal.json(&list);
    }
    for key in list.get("keys").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| key.get(field).and_then(Value::as_str).unwrap_or("-");
        terminal.data(&format!(
            "{}  {:<5}  {}  {}",
            terminal.out(Style::Name, text("id")),
            text("role"),
            text("created_at"),
            text("name")
        ))?;
    }
    Ok(())
}
