//! `stadium profile`: name the servers that you use, so that no command needs their flags.
//!
//! Nothing here talks to a server. Keys are read from standard input or stay in a file of their
//! own, and are never shown.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failure::{Context, Failure};
use crate::profile::{Profile, Profiles, check_name};
use crate::server::{Server, ServerFlags, base_url};
use crate::shown::Table;
use crate::terminal::{Style, Terminal};

/// Bytes of a key that are read from standard input.
const KEY_BYTES_MAX: u64 = 4 * 1024;

/// The commands for profiles.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium profile set local --data /var/lib/stadium --use
  stadium profile set prod --url https://stadium.example --key-file ~/.config/stadium/prod.key
  stadium device list --profile prod
Address, key and authority come from the first of: flags, the environment (STADIUM_URL, STADIUM_KEY, STADIUM_KEY_FILE,
STADIUM_CA), the profile (--profile, STADIUM_PROFILE, the current one), the server of stadium.toml.
The file is ~/.config/stadium/config.toml, or where XDG_CONFIG_HOME or STADIUM_PROFILES_FILE say.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the profiles; `*` marks the current one
    List,
    /// Show the server that commands talk to now, and the source of its address and key
    Show {
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Make a profile, or change one; what is left out stays
    Set(SetArguments),
    /// Make a profile the current one
    Use {
        /// Its name
        name: String,
    },
    /// Remove a profile; a file with its key stays
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
struct SetArguments {
    /// Its name: letters, digits, `-`, `_` and `.`
    #[arg(value_parser = check_name)]
    name: String,
    /// The server, http://HOST:PORT or HOST:PORT
    #[arg(long, value_name = "URL", value_parser = base_url)]
    url: Option<String>,
    /// File with the API key; the profile names it
    #[arg(long, value_name = "FILE", conflicts_with = "key_stdin")]
    key_file: Option<PathBuf>,
    /// Read the API key from standard input, and keep it in the profile
    #[arg(long)]
    key_stdin: bool,
    /// Authority that the server's certificate leads to, PEM
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Data directory of a server on this machine, for its address and key
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The app that commands mean which name none
    #[arg(long, value_name = "APP")]
    app: Option<String>,
    /// Make it the current one too
    #[arg(long = "use")]
    current: bool,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List => list(&Profiles::load()?, terminal),
        Action::Show { server } => show(&Server::find(&server)?, terminal),
        Action::Set(set) => change(set, terminal),
        Action::Use { name } => {
            let mut profiles = Profiles::load()?;
            profiles.find(&name)?;
            profiles.current = Some(name.clone());
            done(&profiles, &name, "is the current profile", terminal)
        }
        Action::Remove { name } => {
            let mut profiles = Profiles::load()?;
            profiles.find(&name)?;
            profiles.named.remove(&name);
            profiles.current.take_if(|current| *current == name);
            done(&profiles, &name, "is removed", terminal)
        }
    }
}

fn done(profiles: &Profiles, name: &str, what: &str, terminal: &Terminal) -> Result<(), Failure> {
    profiles.save()?;
    if terminal.is_json() {
        return terminal.json(&json!({"profile": name, "current": profiles.current, "file": profiles.file}));
    }
    terminal.data(&format!("{} {what} ({})", terminal.out(Style::Name, name), profiles.file.display()))
}

fn change(arguments: SetArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut profiles = Profiles::load()?;
    let key = if arguments.key_stdin { Some(read_key(terminal)?) } else { None };
    let profile = profiles.named.entry(arguments.name.clone()).or_default();
    profile.url = arguments.url.or(profile.url.take());
    if key.is_some() || arguments.key_file.is_some() {
        profile.key = key;
        profile.key_file = arguments.key_file.as_deref().map(absolute).transpose()?;
    }
    if let Some(ca) = &arguments.ca {
        profile.ca = Some(absolute(ca)?);
    }
    if let Some(data) = &arguments.data {
        profile.data = Some(absolute(data)?);
    }
    profile.app = arguments.app.or(profile.app.take());
    if profile.url.is_none() && profile.data.is_none() {
        return Err(Failure::Usage("a profile needs --url or --data: it names a server".to_owned()));
    }
    if arguments.current {
        profiles.current = Some(arguments.name.clone());
    }
    let what = if arguments.current { "is the current profile" } else { "is set" };
    done(&profiles, &arguments.name, what, terminal)
}

/// A command runs in any directory, so the file names whole paths.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).context(path.display())
}

fn read_key(terminal: &Terminal) -> Result<String, Failure> {
    let key = if io::stdin().is_terminal() {
        terminal.note("The API key:");
        console::Term::stderr().read_secure_line()
    } else {
        let mut text = String::new();
        io::stdin().lock().take(KEY_BYTES_MAX).read_to_string(&mut text).map(|_| text)
    };
    let key = key.context("the key cannot be read from standard input")?.trim().to_owned();
    if key.is_empty() || key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Failure::Usage("--key-stdin: standard input has no API key".to_owned()));
    }
    Ok(key)
}

/// A profile as it is shown: its key by the place that holds it.
fn shown(name: &str, profile: &Profile, is_current: bool) -> Value {
    let key = match (&profile.key_file, &profile.key, &profile.data) {
        (Some(file), _, _) => file.display().to_string(),
        (None, Some(_), _) => "in the profile".to_owned(),
        (None, None, Some(data)) => data.join("admin.key").display().to_string(),
        (None, None, None) => "none".to_owned(),
    };
    json!({
        "profile": name, "current": is_current, "url": profile.url, "data": profile.data, "key": key,
        "ca": profile.ca, "app": profile.app,
    })
}

fn list(profiles: &Profiles, terminal: &Terminal) -> Result<(), Failure> {
    let current = |name: &str| profiles.current.as_deref() == Some(name);
    if terminal.is_json() {
        let all: Vec<Value> =
            profiles.named.iter().map(|(name, profile)| shown(name, profile, current(name))).collect();
        return terminal.json(&json!({"file": profiles.file, "current": profiles.current, "profiles": all}));
    }
    let mut table = Table::new(&["", "profile", "server", "key", "app"]);
    for (name, profile) in &profiles.named {
        let entry = shown(name, profile, current(name));
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or("-").to_owned();
        let server = if profile.url.is_some() { text("url") } else { text("data") };
        let mark = if current(name) { "*" } else { " " };
        table.row(vec![mark.to_owned(), name.clone(), server, text("key"), text("app")]);
    }
    if table.is_empty() {
        terminal.note(format_args!(
            "No profile in {}; `stadium profile set NAME --url URL` makes one",
            profiles.file.display()
        ));
        return Ok(());
    }
    table.print(terminal)
}

fn show(server: &Server, terminal: &Terminal) -> Result<(), Failure> {
    let ca = server.ca.as_ref().map(|path| path.display().to_string());
    let key = if server.key.is_some() { server.key_from.as_str() } else { "none" };
    if terminal.is_json() {
        return terminal.json(&json!({
            "url": server.url, "url_from": server.url_from.to_string(), "has_key": server.key.is_some(),
            "key_from": key, "ca": ca, "app": server.app,
        }));
    }
    let faint = |text: String| terminal.out(Style::Faint, text).to_string();
    let name = |text: &str| terminal.out(Style::Name, text.to_owned()).to_string();
    terminal.data(&format!("server  {}  {}", name(&server.url), faint(format!("of {}", server.url_from))))?;
    terminal.data(&format!("key     {key}"))?;
    terminal.data(&format!("ca      {}", ca.unwrap_or_else(|| "the system's".to_owned())))?;
    terminal.data(&format!("app     {}", server.app))
}
