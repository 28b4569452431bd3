//! `stadium key`: make, list, rotate, explain and revoke API keys of a running server.
//!
//! A key's secret is shown once, when it is made; the server keeps a hash of it.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use stadium_node::rights::{self, Role};

use crate::api::{Api, encoded};
use crate::failure::Failure;
use crate::server::ServerFlags;
use crate::shown::{Table, items, text, when};
use crate::span;
use crate::terminal::Terminal;

/// What to do with API keys.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key; its secret is printed once
    ///
    /// A key has roles, grants or both. `--app` keeps its roles to some apps; rights to queues,
    /// wallets and the node belong to no app, so such a key holds them by `--grant`.
    Create {
        /// Its name
        name: String,
        /// A role; may be given several times
        #[arg(long = "role", value_parser = roles(), value_name = "ROLE")]
        roles: Vec<String>,
        /// An app that the roles are about; may be given several times [default: all]
        #[arg(long = "app", value_name = "APP", requires = "roles")]
        apps: Vec<String>,
        /// A further grant, such as 'queue.put:votes* 100/s'; may be given several times
        #[arg(long = "grant", value_name = "GRANT")]
        grants: Vec<String>,
        /// Time after which it stops working, such as 30d [default: never]
        #[arg(long, value_name = "SPAN", value_parser = span::parse)]
        expires: Option<u64>,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// List the keys, without their secrets
    List {
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Give a key another secret; the one before works for a time still
    Rotate {
        /// The key's id, such as k_3f9a01c2d4e5
        id: String,
        /// Time for which the secret before works
        #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "24h")]
        overlap: u64,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Say whether a key may do something, and which grant decides
    Explain {
        /// The key's id, such as k_3f9a01c2d4e5
        id: String,
        /// The verb, such as queue.put
        verb: String,
        /// The resource, such as votes; all of them where there is none
        #[arg(default_value = "*")]
        resource: String,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Print all verbs and roles, and the right of each endpoint and method, as Markdown
    Rights,
    /// Take a key away; it stops working at once
    Revoke {
        /// The key's id, such as k_3f9a01c2d4e5
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
}

/// The words of the roles, with their purposes for `--help`.
fn roles() -> PossibleValuesParser {
    let value = |role: Role| PossibleValue::new(role.word()).help(role.about().trim_end_matches('.'));
    PossibleValuesParser::new(Role::ALL.map(value))
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Create { name, mut roles, apps, grants, expires, server } => {
            if roles.is_empty() && grants.is_empty() {
                roles.push(Role::Sender.to_string());
            }
            let mut key = json!({"name": name, "roles": roles, "grants": grants});
            if !apps.is_empty() {
                key["apps"] = json!(apps);
            }
            if let Some(expires) = expires {
                key["expires_in_s"] = json!(expires / 1_000);
            }
            let created = Api::open(&server)?.post("/api/keys", &key)?;
            show_secret(&created, "is made", terminal)
        }
        Action::List { server } => list(&Api::open(&server)?, terminal),
        Action::Rotate { id, overlap, server } => {
            let body = json!({"overlap_s": overlap / 1_000});
            let rotated = Api::open(&server)?.post(&format!("/api/keys/{}/rotate", encoded(&id)), &body)?;
            show_secret(&rotated, "has another secret", terminal)
        }
        Action::Explain { id, verb, resource, server } => {
            let (id, verb, resource) = (encoded(&id), encoded(&verb), encoded(&resource));
            let path = format!("/api/keys/{id}/explain?verb={verb}&resource={resource}");
            explain(&Api::open(&server)?.get(&path)?, terminal)
        }
        Action::Rights => terminal.data(rights::markdown().trim_end()),
        Action::Revoke { id, server } => {
            Api::open(&server)?.delete(&format!("/api/keys/{}", encoded(&id)))?;
            if terminal.is_json() {
                return terminal.json(&json!({"id": id, "revoked": true}));
            }
            terminal.data(&format!("{id} no longer works"))
        }
    }
}

fn show_secret(answer: &Value, done: &str, terminal: &Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        return terminal.json(answer);
    }
    let id = answer.pointer("/key/id").and_then(Value::as_str).unwrap_or("-");
    let rights = rights_of(answer.get("key").unwrap_or(&Value::Null));
    terminal.note(format_args!("Key {id} ({rights}) {done}. Keep its secret; it cannot be shown again:"));
    terminal.data(answer.get("secret").and_then(Value::as_str).unwrap_or_default())
}

/// Roles, apps and grants in one text: `sender of shop, queue.put:votes*`.
fn rights_of(key: &Value) -> String {
    let texts = |field: &str| -> Vec<&str> {
        key.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let (roles, apps) = (texts("roles").join(" and "), texts("apps").join(" and "));
    let of_apps = if apps.is_empty() { roles } else { format!("{roles} of {apps}") };
    let all = std::iter::once(of_apps.as_str()).filter(|text| !text.is_empty()).chain(texts("grants"));
    all.collect::<Vec<_>>().join(", ")
}

fn explain(explanation: &Value, terminal: &Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        return terminal.json(explanation);
    }
    terminal.data(explanation.get("reason").and_then(Value::as_str).unwrap_or_default())?;
    for held in explanation.get("held").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| held.get(field).and_then(Value::as_str);
        let source = text("role").map_or("of its own".to_owned(), |role| format!("of the role {role}"));
        terminal.note(format_args!("  it holds {}, {source}", text("grant").unwrap_or("-")));
    }
    Ok(())
}

fn list(api: &Api, terminal: &Terminal) -> Result<(), Failure> {
    let list = api.get("/api/keys")?;
    if terminal.is_json() {
        return terminal.json(&list);
    }
    let mut table = Table::new(&["key", "secret", "name", "rights", "used", "from", "ends"]);
    for key in items(&list, "keys") {
        let time = |field: &str| key.get(field).and_then(Value::as_str).map(when);
        table.row(vec![
            text(key, "id").to_owned(),
            format!("{}…", text(key, "prefix")),
            text(key, "name").to_owned(),
            rights_of(key),
            time("last_used_at").unwrap_or_else(|| "never".to_owned()),
            text(key, "last_used_from").to_owned(),
            time("expires_at").unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table.print(terminal)
}
