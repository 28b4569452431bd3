//! The interoperability routes on crates/rpc: a service for others' clients, and a client for others' servers.
//!
//! ```text
//! interop_service server [transport=tcp|ws] [fragment=BYTES]
//! interop_service client ADDRESS CASE[,CASE...] [transport=tcp|ws] [fragment=BYTES] [pid=PEER]
//! ```
//!
//! A server prints `listening ADDRESS` and ends when its standard input does. A client prints `ok CASE` or
//! `FAILED CASE: why` for each case. testing/README.md lists routes and cases.

mod client;
mod routes;
mod service;

use std::collections::HashMap;
use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;

use stadium_reactor::{Messages, WebSocketSettings};
use stadium_rpc::{Listen, Server, ServerConfig};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Error> = std::result::Result<T, E>;
type Options = HashMap<String, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["server", options @ ..] => serve(&options_of(options)).map(|()| true),
        ["client", address, cases, options @ ..] => Ok(client::run(address, cases, &options_of(options))),
        _ => Err("usage: interop_service server|client, see the source".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn options_of(arguments: &[&str]) -> Options {
    let pairs = arguments.iter().filter_map(|argument| argument.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn serve(options: &Options) -> Result<()> {
    let mut listen = Listen::tcp(([127, 0, 0, 1], 0).into());
    if options.get("transport").is_some_and(|transport| transport == "ws") {
        listen.websocket = Some(Arc::new(WebSocketSettings {
            path: "/".to_owned(),
            subprotocols: Vec::new(),
            message_bytes_max: 16_777_215,
            messages: Messages::LengthPrefixed24,
            ..WebSocketSettings::default()
        }));
    }
    let mut config = ServerConfig { listen: vec![listen], loops: 2, ..ServerConfig::default() };
    if let Some(fragment) = options.get("fragment") {
        config.fragment_bytes = fragment.parse()?;
    }
    let server = Server::start(config, vec![service::service(&service::Notes::default())])?;
    println!("listening {}", server.bound()[0]);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
