//! `stadium init`: the files of a new server, so that devices can connect to it.
//!
//! Flags decide, or on a terminal questions. It writes `stadium.toml`, certificates, keys, the
//! first device's credentials where no server is needed to make them, and `apply.toml` for `stadium
//! apply`. No file that is there is ever overwritten: one that is in the way is named, and nothing
//! is written.

mod acme;
mod decisions;
mod files;
mod identity;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use stadium_node::check::{self, Scope, Severity};

use self::decisions::Decisions;
use self::files::Files;
use crate::failure::Failure;
use crate::settings_flags::SettingsFlags;
use crate::terminal::{Style, Terminal};

/// The decisions; those that are left out are asked for on a terminal, and else have their defaults.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium init                                            asks, in the working directory
  stadium init /etc/stadium --devices passwords --yes     takes the default of everything else
  stadium init --certificate server.pem --certificate-key server.key --app shop
  stadium init --tls acme --domain push.example.com --acme-contact ops@example.com
Secrets are in files of mode 0600, and stadium.toml has none. Nothing that is there is overwritten.")]
pub(crate) struct Arguments {
    /// Folder of the files; made where it is missing
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
    /// How devices log in [default: credentials]
    #[arg(long, value_enum)]
    devices: Option<DeviceLogin>,
    /// Certificate of the server [default: files with --certificate, else self-signed]
    #[arg(long, value_enum)]
    tls: Option<TlsSource>,
    /// Certificate chain, PEM; --tls files
    #[arg(long, value_name = "FILE", requires = "certificate_key")]
    certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    certificate_key: Option<PathBuf>,
    #[command(flatten)]
    acme: acme::Flags,
    /// A name or address of this server for a self-signed certificate, as often as needed [default:
    /// the host name, localhost, 127.0.0.1]
    #[arg(long = "name", value_name = "HOST")]
    names: Vec<String>,
    /// The first app of the push platform [default: default]
    #[arg(long, value_name = "APP")]
    app: Option<String>,
    /// The first device
    #[arg(long, value_name = "ID", default_value = "phone-1")]
    device: String,
    /// Where MQTT over TLS listens
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:8883")]
    mqtts: std::net::SocketAddr,
    /// Where plain MQTT listens [default: off; 127.0.0.1:1883 with --tls off]
    #[arg(long, value_name = "ADDR")]
    mqtt: Option<std::net::SocketAddr>,
    /// Where the HTTP API and the console listen; over TLS where that is no loopback address
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    http: std::net::SocketAddr,
    /// Directory of the server's state [default: stadium-data in DIR]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Do not ask; take the defaults
    #[arg(long, short)]
    yes: bool,
}

/// How a device proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DeviceLogin {
    /// The server makes a secret for each registered device
    Credentials,
    /// A file has user names and passwords
    Passwords,
    /// Your backend signs a token (JWT) for each device
    Tokens,
    /// Each device has a certificate of your own authority
    Certificates,
}

/// The origin of the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TlsSource {
    /// Made now, with an authority of its own, for trial
    SelfSigned,
    /// Files that you have
    Files,
    /// Obtained and renewed by the server, from Let's Encrypt or another ACME server
    Acme,
    /// No TLS: MQTT on this machine only
    Off,
}

/// Decides, writes, and reports.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let decisions = Decisions::make(arguments, terminal)?;
    let files = Files::of(&decisions)?;
    files.write()?;
    report(&decisions, &files, terminal)
}

fn report(decisions: &Decisions, files: &Files, terminal: &Terminal) -> Result<(), Failure> {
    let config = decisions.config_file();
    let mut flags = SettingsFlags::default();
    flags.common.config = Some(config.clone());
    let loaded = flags.load()?;
    let found = check::check(&loaded, Scope::Machine);
    let findings: Vec<String> =
        found.iter().filter(|one| one.severity > Severity::Note).map(ToString::to_string).collect();
    let decided = decisions.decided();
    let next = decisions.next();
    if terminal.is_json() {
        let written: Vec<_> = files.paths().collect();
        let decided: Vec<_> =
            decided.iter().map(|(name, text)| json!({"about": name, "decided": text})).collect();
        return terminal.json(&json!({
            "config": config, "files": written, "decided": decided, "next": next, "findings": findings,
        }));
    }
    for (name, text) in &decided {
        terminal.data(&format!("{}  {text}", terminal.out(Style::Strong, format!("{name:<8}"))))?;
    }
    terminal.data("\nWritten:")?;
    for path in files.paths() {
        terminal.data(&format!("  {}", terminal.out(Style::Name, path.display())))?;
    }
    for finding in &findings {
        terminal.note(format_args!("{} {finding}", terminal.err(Style::Warning, "warning:")));
    }
    terminal.data("\nNext:")?;
    for command in &next {
        terminal.data(&format!("  {command}"))?;
    }
    Ok(())
}
