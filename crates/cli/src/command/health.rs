//! `stadium health`: whether a server should get work, as an exit code. For containers and scripts.
//!
//! Asks `/readyz`, or `/healthz` with `--alive`; neither needs a key.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use crate::api::Api;
use crate::failure::Failure;
use crate::server::ServerFlags;
use crate::span;
use crate::terminal::{Style, Terminal};

/// Which server, and which question.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Ask only whether the process answers, not whether it is ready for work
    #[arg(long)]
    alive: bool,
    /// Ask again until the answer is yes, for at most this time, such as 30s
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "0")]
    wait: u64,
    #[command(flatten)]
    server: ServerFlags,
}

/// Time between two questions of `--wait`.
const PAUSE: Duration = Duration::from_millis(100);

/// Succeeds where the answer is yes.
pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let (path, word) = if arguments.alive { ("/healthz", "alive") } else { ("/readyz", "ready") };
    let (began, wait) = (Instant::now(), Duration::from_millis(arguments.wait));
    let url = loop {
        match ask(&arguments.server, path, word) {
            Ok(url) => break url,
            Err(_) if began.elapsed() < wait => thread::sleep(PAUSE),
            Err(failure) => return Err(failure),
        }
    };
    if terminal.is_json() {
        return terminal.json(&json!({"url": url, "status": word}));
    }
    terminal.data(&format!("{} {url}", terminal.out(Style::Good, word)))
}

/// Asks once, and returns the address of the server that said yes.
fn ask(server: &ServerFlags, path: &str, word: &str) -> Result<String, Failure> {
    // A server that has started meanwhile may have another address.
    let api = Api::open(server)?;
    let (status, body) = api.probe(path)?;
    if status == 200 {
        return Ok(api.url().to_owned());
    }
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
    let why = problem.get("detail").and_then(serde_json::Value::as_str).unwrap_or("it gave no reason");
    Err(Failure::new(format!("{} is not {word}: {why} (status {status})", api.url())))
}
