//! `voting`: the service, and the keys and tickets that it needs.
//!
//! The first SIGTERM or SIGINT lets it finish what it has taken and end with 0; a second one ends it at once. Logs go to
//! standard error; the address goes to standard output.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Parser, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stadium_example_voting::access::{Access, Entry};
use stadium_example_voting::poll::{Poll, Voter, now_ms};
use stadium_example_voting::{Config, Login, Secured, Stadium, Voting};
use tracing_subscriber::filter::LevelFilter;

/// An interactive voting service on Stadium: each vote is paid for, and counts exactly once.
#[derive(Parser)]
#[command(version)]
struct Flags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Take votes over HTTP and MQTT until SIGTERM
    Serve(Box<Serve>),
    /// Print the tickets of voters
    Ticket {
        /// The file that `serve --secret` uses; made where there is none
        #[arg(long, value_name = "FILE")]
        secret: PathBuf,
        /// Their names
        #[arg(required = true)]
        voters: Vec<String>,
    },
    /// Print the key with which votes are credited (POST /api/credits)
    OperatorKey {
        /// The file that `serve --secret` uses; made where there is none
        #[arg(long, value_name = "FILE")]
        secret: PathBuf,
    },
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  voting serve --open --welcome 3 --data /tmp/stadium --candidate ann='Ann and the Bees' --candidate ben=Ben --closes-after 10m
  voting serve --secret voting.secret --data /var/lib/stadium --poll final --candidate 1=Ann --candidate 2=Ben \\
    --closes-at 2026-12-24T20:15:00+01:00")]
struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7900")]
    listen: SocketAddr,
    /// Where to listen for HTTPS besides; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", requires_all = ["tls_certificate", "tls_key"])]
    tls_listen: Option<SocketAddr>,
    /// PEM file with the certificate and those above it
    #[arg(long, value_name = "FILE", requires = "tls_listen")]
    tls_certificate: Option<PathBuf>,
    /// PEM file with its key
    #[arg(long, value_name = "FILE", requires = "tls_listen")]
    tls_key: Option<PathBuf>,

    /// The data directory of a `stadium serve` on this machine: its addresses and its key are found there
    #[arg(long, value_name = "DIR", env = "STADIUM_DATA", required_unless_present_all = ["rpc", "key_file"])]
    data: Option<PathBuf>,
    /// Where Stadium answers RPC [default: as in the data directory]
    #[arg(long, value_name = "HOST:PORT")]
    rpc: Option<SocketAddr>,
    /// File with an API key of role admin [default: the data directory's admin.key]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Where devices are connected [default: as in the data directory]
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "no_devices")]
    mqtt: Option<SocketAddr>,
    /// User name at the MQTT listener, where it asks for one
    #[arg(long, value_name = "NAME", requires = "mqtt_password_file")]
    mqtt_user: Option<String>,
    /// File with its password
    #[arg(long, value_name = "FILE", requires = "mqtt_user")]
    mqtt_password_file: Option<PathBuf>,
    /// Take votes over HTTP only
    #[arg(long)]
    no_devices: bool,

    /// Name of the poll
    #[arg(long, value_name = "NAME", default_value = "poll")]
    poll: String,
    /// A candidate; repeat it
    #[arg(long = "candidate", value_name = "ID=NAME", required = true, value_parser = candidate)]
    candidates: Vec<(String, String)>,
    /// When voting closes, as 2026-12-24T20:15:00+01:00; votes that are booked before it count
    #[arg(long, value_name = "TIME", conflicts_with = "closes_after", value_parser = timestamp)]
    closes_at: Option<u64>,
    /// When voting closes, from this start on: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = span)]
    closes_after: Option<Duration>,
    /// Votes that everybody has from the first login on
    #[arg(long, value_name = "VOTES", default_value_t = 0)]
    welcome: u64,

    /// Anybody may log in by name and credit votes; on loopback only
    #[arg(long, conflicts_with = "secret")]
    open: bool,
    /// The secret that tickets and tokens are made of; made where there is none. Instances of one service share it
    #[arg(long, value_name = "FILE", required_unless_present = "open")]
    secret: Option<PathBuf>,
    /// Distinguishes several instances of one service
    #[arg(long, value_name = "NAME", default_value = "1")]
    instance: String,
    /// memcached server through which the instances share the standings; several with commas, or repeated
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    cache: Vec<String>,
    /// Threads; 0 is one for each core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What to log
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: LevelFilter,
}

fn candidate(text: &str) -> Result<(String, String), String> {
    let (id, name) = text.split_once('=').ok_or("write ID=NAME, as ann='Ann and the Bees'")?;
    Ok((id.to_owned(), name.to_owned()))
}

fn timestamp(text: &str) -> Result<u64, String> {
    let timestamp: jiff::Timestamp = text.parse().map_err(|error| format!("{error}"))?;
    u64::try_from(timestamp.as_millisecond()).map_err(|_| "that was before 1970".to_owned())
}

fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds: u64 = digits.parse().map_err(|_| "write 90s, 10m or 2h".to_owned())?;
    let factor = match &text[digits.len()..] {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3_600,
        unit => return Err(format!("no unit {unit:?}; use s, m or h")),
    };
    seconds.checked_mul(factor).map(Duration::from_secs).ok_or_else(|| "that is too long".to_owned())
}

fn main() -> ExitCode {
    match run(Flags::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("voting: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(flags) => serve(&flags),
        Command::Ticket { secret, voters } => {
            let access = Access::from_file(&secret, Entry::Tickets)?;
            for name in &voters {
                let voter = Voter::new(name)?;
                print_line(&format!("{} {}", voter.name(), access.ticket(&voter)))?;
            }
            Ok(())
        }
        Command::OperatorKey { secret } => {
            print_line(&Access::from_file(&secret, Entry::Tickets)?.operator_key())
        }
    }
}

fn serve(flags: &Serve) -> anyhow::Result<()> {
    let colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt().with_target(false).with_ansi(colours).with_writer(std::io::stderr);
    lines.with_max_level(flags.log_level).init();
    ensure!(
        !flags.open
            || flags.tls_listen.into_iter().chain([flags.listen]).all(|address| address.ip().is_loopback()),
        "--open lets anybody vote as anybody: listen on loopback, or give out tickets (--secret)"
    );
    // Before anything listens: a signal that comes early is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT]).context("cannot listen to signals")?;
    let access = match &flags.secret {
        Some(file) => Access::from_file(file, Entry::Tickets)?,
        None => Access::ephemeral(Entry::Open)?,
    };
    let closes_ms = match (flags.closes_at, flags.closes_after) {
        (Some(time), _) => Some(time),
        (None, Some(after)) => Some(now_ms() + u64::try_from(after.as_millis()).unwrap_or(u64::MAX / 2)),
        (None, None) => None,
    };
    let poll =
        Poll::new(&flags.poll, &flags.candidates, closes_ms).map_err(|error| anyhow::anyhow!(error))?;
    let secured = match (flags.tls_listen, &flags.tls_certificate, &flags.tls_key) {
        (Some(listen), Some(certificate), Some(key)) => {
            Some(Secured { listen, certificate: certificate.clone(), key: key.clone() })
        }
        _ => None,
    };
    let voting = Voting::start(Config {
        stadium: stadium(flags)?,
        poll,
        access,
        listen: flags.listen,
        secured,
        welcome: flags.welcome,
        instance: flags.instance.clone(),
        threads: flags.threads,
        cache: flags.cache.clone(),
    })?;
    let mut addresses = format!("voting listens on http://{}", voting.address());
    if let Some(address) = voting.secured_address() {
        addresses.push_str(&format!("\nvoting listens on https://{address}"));
    }
    print_line(&addresses)?;
    signals.forever().next();
    tracing::info!("Leaving: finishing the votes that were taken");
    std::thread::spawn(|| {
        if let Ok(mut signals) = Signals::new([SIGTERM, SIGINT])
            && signals.forever().next().is_some()
        {
            tracing::warn!("Second signal: leaving at once");
            std::process::exit(1);
        }
    });
    voting.stop();
    Ok(())
}

fn stadium(flags: &Serve) -> anyhow::Result<Stadium> {
    let found = flags.data.as_deref().map(Stadium::of_data_directory).transpose();
    let key = match &flags.key_file {
        Some(file) => Some(read_secret(file)?),
        None => None,
    };
    let mut stadium = match (found, flags.rpc, key) {
        // Addresses in flags need no data directory.
        (_, Some(rpc), Some(key)) => Stadium { rpc, key, mqtt: None },
        (Ok(Some(found)), rpc, key) => {
            Stadium { rpc: rpc.unwrap_or(found.rpc), key: key.unwrap_or(found.key), mqtt: found.mqtt }
        }
        (Err(error), ..) => return Err(error),
        (Ok(None), ..) => bail!("name the server by --data, or by --rpc and --key-file"),
    };
    if let Some(mqtt) = flags.mqtt {
        stadium.mqtt = Some((mqtt, None));
    }
    if flags.no_devices {
        stadium.mqtt = None;
    }
    if let (Some((_, login)), Some(user), Some(file)) =
        (&mut stadium.mqtt, &flags.mqtt_user, &flags.mqtt_password_file)
    {
        *login = Some(Login { user: user.clone(), password: read_secret(file)? });
    }
    Ok(stadium)
}

fn read_secret(file: &std::path::Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text.trim().to_owned())
}

fn print_line(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot write to standard output")
}
