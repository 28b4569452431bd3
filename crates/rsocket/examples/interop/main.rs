//! RSocket over blocking TCP sockets: a server and a client that other implementations are tried against.
//!
//! ```text
//! interop server [fragment=BYTES] [lease=TTL_MS,REQUESTS] [resume=MS] [setup=MS]
//! interop client ADDRESS CASE[,CASE...] [fragment=BYTES] [pid=PEER]
//! ```
//!
//! A server prints `listening ADDRESS` and ends when its standard input does. A client prints `ok CASE` or
//! `FAILED CASE: why` for each case. testing/README.md lists routes and cases; the suites of rsocket-java, rsocket-py
//! and rsocket-js in testing/ start this program. It also shows what a driver of the crate looks like.

mod cases;
mod client;
mod link;
mod metadata;
mod server;

use std::collections::HashMap;
use std::process::ExitCode;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Error> = std::result::Result<T, E>;
type Options = HashMap<String, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["server", options @ ..] => {
            options_of(options).and_then(|options| server::run(&options)).map(|()| true)
        }
        ["client", address, cases, options @ ..] => {
            options_of(options).map(|options| cases::run(address, cases, &options))
        }
        _ => Err("usage: interop server|client, see the source".into()),
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

fn options_of(arguments: &[&str]) -> Result<Options> {
    let each = arguments.iter().map(|argument| {
        let (name, value) =
            argument.split_once('=').ok_or_else(|| format!("{argument} is not NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    });
    each.collect()
}

/// A whole number among the options.
fn number(options: &Options, name: &str, otherwise: u64) -> Result<u64> {
    options.get(name).map_or(Ok(otherwise), |value| Ok(value.parse()?))
}
