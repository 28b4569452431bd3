//! `stadium health`: whether a server should get work, as an exit code. For containers and scripts.
//!
//! Asks `/readyz`, or `/healthz` with `--alive`; neither needs a key.

use clap::Args;
use serde_json::json;

use crate::api::Api;
use crate::failure::Failure;
use crate::server::ServerFlags;
use crate::terminal::{Style, Terminal};

/// Which server, and which question.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Ask only whether the process answers, not whether it is ready for work
    #[arg(long)]
    alive: bool,
    #[command(flatten)]
    server: ServerFlags,
}

/// Succeeds where the answer is yes.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let api = Api::open(&arguments.server)?;
    let (path, word) = if arguments.alive { ("/healthz", "alive") } else { ("/readyz", "ready") };
    let (status, body) = api.probe(path)?;
    if status != 200 {
        let problem: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let why = problem.get("detail").and_then(serde_json::Value::as_str).unwrap_or("it gave no reason");
        return Err(Failure::new(format!("{} is not {word}: {why} (status {status})", api.url())));
    }
    if terminal.is_json() {
        return terminal.json(&json!({"url": api.url(), "status": word}));
    }
    terminal.data(&format!("{} {}", terminal.out(Style::Good, word), api.url()))
}
