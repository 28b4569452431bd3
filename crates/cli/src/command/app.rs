//! `stadium app`: the apps of the push platform, each with devices, audiences, pushes and schedules of its own.
//!
//! An app is made known by giving it settings; `default` is always there.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::api::{Api, Method, encoded};
use crate::failure::Failure;
use crate::on::{On, Pages, ask, more};
use crate::shown::{Table, number, text};
use crate::span;
use crate::terminal::{Style, Terminal, count};

/// What to do with apps.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium app set matchday --expiry 1d --cap 3 --cap-within 1d
  stadium app set matchday --device-writable 'tag:news-*' --device-writable attribute:language
  stadium app list")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List apps with their figures
    List(On<ListArguments>),
    /// Make an app known, or change its settings; what is left out stays
    Set(On<SetArguments>),
    /// Forget an app with all it has
    Drop(On<DropArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
}

#[derive(Debug, Args)]
struct SetArguments {
    /// The app: small letters, digits, `.`, `_` and `-`
    app: String,
    /// Whether a device that connects and is not registered is registered then
    #[arg(long, value_name = "BOOL")]
    register_at_connect: Option<bool>,
    /// The subscription state of a new device that does not state its own
    #[arg(long, value_name = "BOOL")]
    opted_in: Option<bool>,
    /// The expiry of a push that has none of its own
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    expiry: Option<u64>,
    /// Pushes that a device gets at most in the time of --cap-within
    #[arg(long, value_name = "N", requires = "cap_within")]
    cap: Option<u16>,
    /// See --cap
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "cap")]
    cap_within: Option<u64>,
    /// Deliveries that a device is owed at most
    #[arg(long, value_name = "N")]
    inbox: Option<u16>,
    /// How long a push is remembered when it is over
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    remember: Option<u64>,
    /// Tags and attributes that devices may change by themselves: `tag:PATTERN`, `attribute:PATTERN`,
    /// where a pattern is a name, or the beginning of names and `*`. Repeat it to name all of them;
    /// `none` for nothing
    #[arg(long, value_name = "WHAT", value_parser = writable)]
    device_writable: Vec<Writable>,
}

/// One thing that devices may change by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Writable {
    Nothing,
    Tag(String),
    Attribute(String),
}

fn writable(text: &str) -> Result<Writable, String> {
    match text.split_once(':') {
        Some(("tag", pattern)) => Ok(Writable::Tag(pattern.to_owned())),
        Some(("attribute", pattern)) => Ok(Writable::Attribute(pattern.to_owned())),
        None if text == "none" => Ok(Writable::Nothing),
        _ => Err("it is tag:PATTERN, attribute:PATTERN or none".to_owned()),
    }
}

/// The setting that these make; none where none is given.
fn device_writable(given: &[Writable]) -> Result<Option<Value>, Failure> {
    if given.len() > 1 && given.contains(&Writable::Nothing) {
        return Err(Failure::Usage("--device-writable none stands alone".to_owned()));
    }
    let (mut tags, mut attributes) = (Vec::new(), Vec::new());
    for one in given {
        match one {
            Writable::Nothing => {}
            Writable::Tag(pattern) => tags.push(pattern),
            Writable::Attribute(pattern) => attributes.push(pattern),
        }
    }
    Ok((!given.is_empty()).then(|| json!({"tags": tags, "attributes": attributes})))
}

#[derive(Debug, Args)]
struct DropArguments {
    /// The app
    app: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs one of them.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    match arguments.action {
        Action::List(on) => on.run(list, terminal),
        Action::Set(on) => on.run(set, terminal),
        Action::Drop(on) => on.run(drop_app, terminal),
    }
}

fn list(api: &Api, arguments: ListArguments, terminal: &Terminal) -> Result<(), Failure> {
    let pages = Pages { path: "/api/apps", filter: "", field: "apps", from: "after", limit: arguments.limit };
    let (apps, next) = pages.read(api)?;
    if terminal.is_json() {
        return terminal.json(&json!({"apps": apps, "next": next}));
    }
    let mut table = Table::new(&["app", "devices>", "connected>", "opted in>", "pushes>", "owed>"]);
    for app in &apps {
        let figure = |field: &str| count(number(app, field));
        table.row(vec![
            text(app, "app").to_owned(),
            figure("devices"),
            figure("connected"),
            figure("opted_in"),
            figure("pushes"),
            figure("owed"),
        ]);
    }
    table.print(terminal)?;
    more(next.as_ref(), arguments.limit, terminal);
    Ok(())
}

fn set(api: &Api, arguments: SetArguments, terminal: &Terminal) -> Result<(), Failure> {
    let seconds = |milliseconds: u64| (milliseconds / 1_000).max(1);
    let mut fields = Map::new();
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    add("register_at_connect", arguments.register_at_connect.map(Value::from));
    add("opted_in", arguments.opted_in.map(Value::from));
    add("expiry_s", arguments.expiry.map(|span| seconds(span).into()));
    let cap = arguments.cap.zip(arguments.cap_within);
    add("cap", cap.map(|(pushes, within)| json!({"pushes": pushes, "within_s": seconds(within)})));
    add("inbox_max", arguments.inbox.map(Value::from));
    add("remember_s", arguments.remember.map(|span| seconds(span).into()));
    add("device_writable", device_writable(&arguments.device_writable)?);
    let path = format!("/api/apps/{}", encoded(&arguments.app));
    let app = ask(api, Method::Put, &path, Some(&Value::Object(fields)))?;
    if terminal.is_json() {
        return terminal.json(&app);
    }
    let settings = app.get("settings").unwrap_or(&Value::Null);
    terminal.data(&format!(
        "{}: pushes expire after {}, {} are owed to a device at most",
        terminal.out(Style::Strong, text(&app, "app")),
        span::shown(number(settings, "expiry_s") * 1_000),
        count(number(settings, "inbox_max")),
    ))
}

fn drop_app(api: &Api, arguments: DropArguments, terminal: &Terminal) -> Result<(), Failure> {
    let DropArguments { app, yes } = arguments;
    if !yes {
        terminal.confirm(&format!("Forget the app {app} with all its devices, pushes and schedules?"))?;
    }
    ask(api, Method::Delete, &format!("/api/apps/{}", encoded(&app)), None)?;
    if terminal.is_json() {
        return terminal.json(&json!({"app": app, "dropped": true}));
    }
    terminal.data(&format!("{} is forgotten", terminal.out(Style::Name, app)))
}
