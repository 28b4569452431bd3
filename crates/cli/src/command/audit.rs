//! `stadium audit`: the audit log of a data directory, checked and exported without a server.
//!
//! Both read the files only, so a server may be writing them. `GET /api/audit` shows the newest
//! entries of a running one.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use stadium_node::audit::{self, Broken, Verified};

use crate::command::syslog::Syslog;
use crate::failure::Failure;
use crate::terminal::{Style, Terminal, count};

/// The arguments of `stadium audit`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Follow the hash chain through all files; exit code 1 where a line was changed, added or
    /// removed
    #[command(after_help = "\
Example:
  stadium audit verify /var/lib/stadium                    prints the head: keep it elsewhere
  stadium audit verify /var/lib/stadium --head $HEAD       later: is all of that still there?")]
    Verify {
        /// A server's data directory
        directory: PathBuf,
        /// A head that was kept: exit code 1 where the log does not contain it any more
        #[arg(long, value_name = "HEAD", value_parser = head)]
        head: Option<String>,
    },
    /// Print all lines, the oldest first, as newline-delimited JSON, or send them to syslog
    #[command(after_help = "\
Example:
  stadium audit export /var/lib/stadium                              newline-delimited JSON
  stadium audit export /var/lib/stadium --syslog udp://127.0.0.1:514 messages of RFC 5424
  stadium audit export /var/lib/stadium --syslog /dev/log            to this machine's syslog")]
    Export {
        /// A server's data directory
        directory: PathBuf,
        /// Send each line as a message of RFC 5424 to udp://HOST:PORT, tcp://HOST:PORT or a socket
        #[arg(long, value_name = "ADDRESS", value_parser = Syslog::parse)]
        syslog: Option<Syslog>,
    },
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::Verify { directory, head } => verify(&directory, head.as_deref(), terminal),
        Action::Export { directory, syslog: None } => export(&directory, terminal),
        Action::Export { directory, syslog: Some(syslog) } => send(&directory, &syslog, terminal),
    }
}

fn verify(directory: &std::path::Path, head: Option<&str>, terminal: &Terminal) -> Result<(), Failure> {
    let verified = audit::verify(directory, head).map_err(failed)?;
    let Verified { files, entries, torn, unchained, head: newest, contains } = &verified;
    if terminal.is_json() {
        terminal.json(&json!({
            "files": files, "entries": entries, "torn": torn, "unchained": unchained, "head": newest,
            "contains": contains,
        }))?;
    } else if *files == 0 {
        terminal.note(format_args!("{} has no audit log yet", directory.display()));
    } else {
        let whole = terminal.out(Style::Good, "the chain is whole");
        terminal.data(&format!("{whole}: {} entries in {files} files", count(*entries)))?;
        if *torn > 0 {
            terminal.data(&format!("{torn} lines were torn by a crash, or are being written"))?;
        }
        if *unchained > 0 {
            terminal.data(&format!("{unchained} lines at the beginning are of a version without a chain"))?;
        }
        terminal.data(&format!("head {newest}"))?;
    }
    match contains {
        true => Ok(()),
        false => Err(Failure::new(
            "the log does not contain that head: lines that it stood for are missing or were changed",
        )),
    }
}

fn export(directory: &std::path::Path, terminal: &Terminal) -> Result<(), Failure> {
    let mut unwritten = None;
    let read = audit::each_line(directory, |_, _, line| {
        if unwritten.is_none() {
            unwritten = terminal.data(line).err();
        }
        Ok(())
    });
    match unwritten {
        Some(failure) => Err(failure),
        None => read.map(|_| ()).map_err(failed),
    }
}

fn send(directory: &std::path::Path, syslog: &Syslog, terminal: &Terminal) -> Result<(), Failure> {
    let unsent = |error: std::io::Error| Failure::new(format!("{syslog} takes no messages: {error}"));
    let mut sender = syslog.open().map_err(unsent)?;
    let (mut sent, mut failure) = (0_u64, None);
    let read = audit::each_line(directory, |_, _, line| {
        if failure.is_none() {
            match sender.send(line) {
                Ok(()) => sent += 1,
                Err(error) => failure = Some(unsent(error)),
            }
        }
        Ok(())
    });
    match failure {
        Some(failure) => Err(failure),
        None => {
            read.map(|_| ()).map_err(failed)?;
            terminal.note(format_args!("{} messages went to {syslog}", count(sent)));
            Ok(())
        }
    }
}

fn failed(broken: Broken) -> Failure {
    Failure::new(broken.to_string())
}

/// A head as `verify` prints it.
fn head(text: &str) -> Result<String, String> {
    match text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(text.to_owned()),
        false => Err("a head has 64 hexadecimal digits".to_owned()),
    }
}
