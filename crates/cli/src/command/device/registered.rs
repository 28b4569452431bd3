//! Registered devices: list, show, set, remove, credentials, revocation.
//!
//! A device is one of an app, `default` unless `--app` names another.

use clap::Args;
use serde_json::{Map, Value, json};

use super::sessions;
use crate::api::{Api, Ask, Method, Refused, encoded};
use crate::failure::Failure;
use crate::of_app::AppFlag;
use crate::on::{Pages, ask, more};
use crate::shown::{Table, clean, items, number, text, when};
use crate::terminal::{Style, Terminal, count};

#[derive(Debug, Args)]
pub(super) struct OneArguments {
    /// The device's id
    id: String,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
pub(super) struct CredentialArguments {
    /// The device's id
    id: String,
    /// Register the device first, where it is not
    #[arg(long, conflicts_with = "withdraw")]
    register: bool,
    /// Take it away instead
    #[arg(long)]
    withdraw: bool,
    #[command(flatten)]
    app: AppFlag,
}

#[derive(Debug, Args)]
pub(super) struct SetArguments {
    /// The device's id
    id: String,
    /// ios, android, web, huawei, or another
    #[arg(long)]
    platform: Option<String>,
    /// The version of the app on it
    #[arg(long, value_name = "VERSION")]
    app_version: Option<String>,
    /// Such as de-AT
    #[arg(long)]
    language: Option<String>,
    /// Such as AT
    #[arg(long)]
    country: Option<String>,
    /// Such as Europe/Vienna
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Whose it is
    #[arg(long)]
    user: Option<String>,
    /// Whether it wants pushes
    #[arg(long, value_name = "BOOL")]
    opt_in: Option<bool>,
    /// When it wants none, such as 22:00-07:00
    #[arg(long, value_name = "FROM-TO", value_parser = parse_hours)]
    quiet: Option<Value>,
    /// A tag that it gets, TAG or GROUP:TAG
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// A tag that it loses
    #[arg(long, value_name = "TAG")]
    untag: Vec<String>,
    /// NAME=VALUE: a number, a text, or `date:2030-01-01T00:00:00Z`; without a value it loses it
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_attribute)]
    attribute: Vec<(String, Value)>,
    #[command(flatten)]
    app: AppFlag,
}

fn parse_hours(text: &str) -> Result<Value, String> {
    let hours = text.split_once('-').ok_or_else(|| format!("{text:?} is not as in 22:00-07:00"))?;
    Ok(json!({"from": hours.0, "to": hours.1}))
}

fn parse_attribute(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE"))?;
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    let value = match (value, value.strip_prefix("date:"), number) {
        ("", ..) => Value::Null,
        (_, Some(date), _) => json!({"date": date}),
        (_, None, Some(number)) if number.fract() == 0.0 && number.abs() < 9e15 => json!(number as i64),
        (_, None, Some(number)) => json!(number),
        (text, ..) => json!(text),
    };
    Ok((name.to_owned(), value))
}

/// Which devices are listed.
pub(super) struct Which {
    pub(super) prefix: Option<String>,
    pub(super) audience: Option<Value>,
    pub(super) user: Option<String>,
    pub(super) limit: u64,
}

/// Those, and where the next page would begin.
pub(super) fn read(api: &Api, app: &AppFlag, which: &Which) -> Result<(Vec<Value>, Option<String>), Refused> {
    let audience = which.audience.as_ref().map(Value::to_string);
    let given = [("prefix", &which.prefix), ("named_user", &which.user), ("audience", &audience)];
    let given = given.iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, value)));
    let filter: String = given.map(|(name, value)| format!("&{name}={}", encoded(value))).collect();
    let path = app.path(api, "/devices");
    Pages { path: &path, filter: &filter, field: "devices", from: "after", limit: which.limit }.read(api)
}

/// Lists them.
pub(super) fn list(api: &Api, app: &AppFlag, which: &Which, terminal: &Terminal) -> Result<(), Failure> {
    let (devices, next) = read(api, app, which)?;
    if terminal.is_json() {
        return terminal.json(&json!({"devices": devices, "next": next}));
    }
    let mut table = Table::new(&["device", "state", "platform", "version", "language", "user", "tags"]);
    for device in &devices {
        let is = |field: &str| device.get(field).and_then(Value::as_bool) == Some(true);
        let state = match (is("revoked"), is("connected"), is("opt_in")) {
            (true, ..) => "revoked".to_owned(),
            (_, true, _) => "connected".to_owned(),
            (_, _, false) => "opted out".to_owned(),
            _ => device.get("last_seen").and_then(Value::as_str).map_or("never seen".to_owned(), when),
        };
        let tags: Vec<&str> = items(device, "tags").filter_map(Value::as_str).collect();
        table.row(vec![
            text(device, "device").to_owned(),
            state,
            text(device, "platform").to_owned(),
            text(device, "app_version").to_owned(),
            text(device, "language").to_owned(),
            clean(text(device, "named_user"), 40),
            clean(&tags.join(" "), 60),
        ]);
    }
    if table.is_empty() {
        terminal.note("no device matches");
        return Ok(());
    }
    table.print(terminal)?;
    more(next.as_ref(), which.limit, terminal);
    Ok(())
}

/// Shows the session and what is registered, whichever there is.
pub(super) fn show(api: &Api, which: OneArguments, terminal: &Terminal) -> Result<(), Failure> {
    let client_id = match which.app.name(api) {
        "default" => which.id.clone(),
        app => format!("{app}/{}", which.id),
    };
    let look =
        |path: &str| match api.ask(Ask { method: Method::Get, path, body: None, idempotency_key: None }) {
            Ok(found) => Ok(Some(found)),
            Err(Refused::Rejected { code, .. })
                if ["HTTP-011", "HTTP-028", "PSH-020", "PSH-022"].contains(&&*code) =>
            {
                Ok(None)
            }
            Err(refused) => Err(Failure::from(refused)),
        };
    let session = look(&format!("/api/devices/{}", encoded(&client_id)))?;
    // Until its shards run, a server still shows who is connected.
    let registered = match (look(&which.app.named(api, "devices", &which.id, "")), &session) {
        (Err(_), Some(_)) => None,
        (looked, _) => looked?,
    };
    if session.is_none() && registered.is_none() {
        return Err(Failure::new(format!(
            "no connection, no session and no registered device has the id {:?}",
            which.id
        )));
    }
    if terminal.is_json() {
        let mut shown = session.unwrap_or_else(|| json!({"id": client_id}));
        shown["registered"] = registered.unwrap_or(Value::Null);
        return terminal.json(&shown);
    }
    match &session {
        Some(session) => sessions::show(session, terminal)?,
        None => terminal.data(&format!("{}", terminal.out(Style::Strong, &client_id)))?,
    }
    registered.map_or(Ok(()), |device| facts(&device, terminal))
}

fn facts(device: &Value, terminal: &Terminal) -> Result<(), Failure> {
    let registered = when(text(device, "registered_at"));
    let revoked = device.get("revoked").and_then(Value::as_bool) == Some(true);
    let is = |field: &str| device.get(field).and_then(Value::as_bool);
    let mut word = if revoked { ", REVOKED" } else { "" }.to_owned();
    for (is_so, suffix) in [
        (is("opt_in") == Some(false), ", opted out"),
        (is("has_credential") == Some(true), ", has a credential"),
    ] {
        if is_so {
            word.push_str(suffix);
        }
    }
    terminal.data(&format!("  registered {registered}{word}"))?;
    for field in ["platform", "app_version", "language", "country", "time_zone", "named_user"] {
        if let Some(value) = device.get(field).and_then(Value::as_str) {
            terminal.data(&format!("  {field:<12}{}", clean(value, 200)))?;
        }
    }
    if let Some(hours) = device.get("quiet_hours").filter(|hours| hours.is_object()) {
        terminal.data(&format!("  quiet_hours {}-{}", text(hours, "from"), text(hours, "to")))?;
    }
    if let Some(location) = device.get("location").filter(|location| location.is_object()) {
        let degrees = |field: &str| location.get(field).and_then(Value::as_f64).unwrap_or_default();
        terminal.data(&format!("  location    {}, {}", degrees("latitude"), degrees("longitude")))?;
    }
    for field in ["tags", "lists"] {
        let all: Vec<&str> = items(device, field).filter_map(Value::as_str).collect();
        if !all.is_empty() {
            terminal.data(&format!("  {field:<12}{}", clean(&all.join(" "), 2_000)))?;
        }
    }
    for (name, value) in device.get("attributes").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        terminal.data(&format!("  {name:<12}{}", clean(&value, 200)))?;
    }
    terminal.data(&format!("  {} owed", count(number(device, "owed"))))?;
    for push in items(device, "newest") {
        let state = text(push, "state");
        terminal.data(&format!("  {}  {state:<12}{}", text(push, "push"), when(text(push, "at"))))?;
    }
    Ok(())
}

/// Registers it, or changes it.
pub(super) fn set(api: &Api, arguments: SetArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut device = Map::from_iter([("device".to_owned(), json!(arguments.id))]);
    let texts = [
        ("platform", arguments.platform),
        ("app_version", arguments.app_version),
        ("language", arguments.language),
        ("country", arguments.country),
        ("time_zone", arguments.zone),
        ("named_user", arguments.user),
    ];
    for (name, value) in texts {
        match value.as_deref() {
            Some("") => drop(device.insert(name.to_owned(), Value::Null)),
            Some(value) => drop(device.insert(name.to_owned(), json!(value))),
            None => {}
        }
    }
    for (name, value) in [("opt_in", arguments.opt_in.map(Value::from)), ("quiet_hours", arguments.quiet)] {
        if let Some(value) = value {
            device.insert(name.to_owned(), value);
        }
    }
    if !(arguments.tag.is_empty() && arguments.untag.is_empty()) {
        device.insert("tags".to_owned(), json!({"add": arguments.tag, "remove": arguments.untag}));
    }
    if !arguments.attribute.is_empty() {
        device.insert("attributes".to_owned(), Value::Object(arguments.attribute.into_iter().collect()));
    }
    let answer =
        ask(api, Method::Post, &arguments.app.path(api, "/devices"), Some(&json!({"devices": [device]})))?;
    let outcome = answer.get("results").and_then(|results| results.get(0)).unwrap_or(&Value::Null);
    if let Some(error) = outcome.get("error") {
        let place = error.get("path").and_then(Value::as_str).map(|path| format!("{path}: "));
        let place = place.unwrap_or_default();
        return Err(Failure::new(format!("{place}{} ({})", text(error, "detail"), text(error, "code"))));
    }
    if terminal.is_json() {
        return terminal.json(outcome);
    }
    terminal.data(&format!("{} {}", terminal.out(Style::Name, &arguments.id), text(outcome, "status")))
}

/// Reports that something was done to a device.
pub(super) fn done(id: &str, word: &str, terminal: &Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        return terminal.json(&json!({"device": id, "status": word}));
    }
    terminal.data(&format!("{} is {word}", terminal.out(Style::Name, id)))
}

/// Keeps it out.
pub(super) fn revoke(api: &Api, which: OneArguments, terminal: &Terminal) -> Result<(), Failure> {
    ask(api, Method::Post, &which.app.named(api, "devices", &which.id, "/revoke"), None)?;
    done(&which.id, "revoked", terminal)
}

/// Lets it in again.
pub(super) fn restore(api: &Api, which: OneArguments, terminal: &Terminal) -> Result<(), Failure> {
    ask(api, Method::Post, &which.app.named(api, "devices", &which.id, "/restore"), None)?;
    done(&which.id, "restored", terminal)
}

/// Makes a secret, or takes it away.
pub(super) fn credential(
    api: &Api,
    arguments: CredentialArguments,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let path = arguments.app.named(api, "devices", &arguments.id, "/credential");
    if arguments.withdraw {
        ask(api, Method::Delete, &path, None)?;
        return done(&arguments.id, "without a credential", terminal);
    }
    if arguments.register {
        let body = json!({"devices": [{"device": arguments.id}]});
        ask(api, Method::Post, &arguments.app.path(api, "/devices"), Some(&body))?;
    }
    let made = ask(api, Method::Post, &path, None)?;
    if terminal.is_json() {
        return terminal.json(&made);
    }
    terminal.note(format_args!(
        "the MQTT password of client id {}; it cannot be seen again",
        text(&made, "client_id")
    ));
    terminal.data(text(&made, "secret"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_numbers_texts_dates_or_nothing() {
        for (flag, value) in [
            ("score=12", json!(12)),
            ("score=1.5", json!(1.5)),
            ("team=blue=red", json!("blue=red")),
            ("born=date:1990-05-17T00:00:00Z", json!({"date": "1990-05-17T00:00:00Z"})),
            ("gone=", Value::Null),
            ("odd=inf", json!("inf")),
        ] {
            let name = flag.split('=').next().expect("a name").to_owned();
            assert_eq!(parse_attribute(flag), Ok((name, value)), "{flag}");
        }
        assert!(parse_attribute("score").is_err());
    }
}
