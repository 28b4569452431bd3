//! `stadium push send`: a notification or a message for an audience, with options.
//!
//! The same flags state what a schedule makes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::look::{WatchArguments, watch};
use crate::api::Api;
use crate::command::audience::show_preview;
use crate::failure::{Context, Failure};
use crate::of_app::{AppFlag, json_file, parse_audience};
use crate::once;
use crate::shown::text;
use crate::span;
use crate::terminal::{Style, Terminal};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium push send tag:vip --title 'Hello {{name|fan}}' --body 'Doors open at eight' --expiry 2h
  stadium push send all --notification goal.json --collapse score --priority 9 --watch
  stadium push send device:phone-7 --message '{\"score\": [1, 0]}' --qos 0
  stadium push send saved:vips --title 'Good morning' --local $(date -d tomorrow +%F)T09:00 --dry-run")]
pub(super) struct Arguments {
    /// Whom: all, device:ID, tag:TAG, user:USER, list:LIST, saved:NAME, or JSON
    #[arg(value_parser = parse_audience)]
    audience: Value,
    #[command(flatten)]
    push: PushFlags,
    /// When it starts, such as 2030-01-01T20:00:00Z, at most a year from now [default: at once]
    #[arg(long, value_name = "TIMESTAMP", conflicts_with = "local")]
    at: Option<String>,
    /// When each device's own clock shows this, such as 2030-01-01T20:00
    #[arg(long, value_name = "TIME")]
    local: Option<String>,
    /// A name for this request: the same again is answered the same and pushes nothing
    #[arg(long, value_name = "KEY")]
    id: Option<String>,
    /// To devices that are connected now; nobody gets it later. Also to channel:NAME
    #[arg(long, conflicts_with_all = ["at", "local"])]
    live: bool,
    /// Check it, and count whom it would reach; push nothing
    #[arg(long)]
    dry_run: bool,
    /// Follow it until it is over
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// How long to follow it
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "1m", requires = "watch")]
    timeout: u64,
    #[command(flatten)]
    app: AppFlag,
}

/// The content of a push, and its options.
#[derive(Debug, Args)]
pub(in crate::command) struct PushFlags {
    /// The first line
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["message", "notification"])]
    title: Option<String>,
    /// What follows
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["message", "notification"])]
    body: Option<String>,
    /// JSON for the application
    #[arg(long = "with-data", value_name = "JSON", conflicts_with_all = ["message", "notification"])]
    app_data: Option<String>,
    /// A notification with variants, as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "message")]
    notification: Option<PathBuf>,
    /// Sent as it is, instead of a notification
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// MIME type of the message
    #[arg(long, value_name = "TYPE", requires = "message")]
    content_type: Option<String>,
    /// Devices that connect later do not get it
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    expiry: Option<u64>,
    /// 0 to 9: of what a device is owed the highest comes first [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    priority: Option<u8>,
    /// Takes the place of an older push with the same key
    #[arg(long, value_name = "KEY")]
    collapse: Option<String>,
    /// So many devices a second
    #[arg(long, value_name = "N", conflicts_with = "over")]
    per_second: Option<u32>,
    /// Evenly over this time
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    over: Option<u64>,
    /// What becomes of devices in their quiet hours [default: wait]
    #[arg(long, value_enum)]
    quiet: Option<Quiet>,
    /// 0: at most once, to who is connected. 1: at least once, kept until it expires [default: 1]
    #[arg(long, value_name = "QOS", value_parser = clap::value_parser!(u8).range(0..=1))]
    qos: Option<u8>,
    /// Per cent of the audience that is left out on purpose
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=90))]
    holdout: Option<u8>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Quiet {
    /// They get it when the hours are over
    Wait,
    /// They are left out
    Skip,
    /// They get it all the same
    Ignore,
}

impl PushFlags {
    /// The push as the API reads it, without when.
    pub(in crate::command) fn body(&self, audience: &Value) -> Result<Value, Failure> {
        let mut body = json!({"audience": audience});
        if let Some(message) = &self.message {
            body["message"] = json!(message);
            if let Some(kind) = &self.content_type {
                body["content_type"] = json!(kind);
            }
        } else if let Some(file) = &self.notification {
            body["notification"] = json_file(file)?;
        } else {
            let mut notification = Map::new();
            for (name, text) in [("title", &self.title), ("body", &self.body)] {
                if let Some(text) = text {
                    notification.insert(name.to_owned(), json!(text));
                }
            }
            if let Some(data) = &self.app_data {
                let data = serde_json::from_str(data).context("--with-data is no JSON")?;
                notification.insert("data".to_owned(), data);
            }
            if notification.is_empty() {
                return Err(Failure::Usage(
                    "say what to push: --title, --body, --with-data, --notification or --message".to_owned(),
                ));
            }
            body["notification"] = Value::Object(notification);
        }
        let seconds = |milliseconds: u64| json!((milliseconds / 1_000).max(1));
        let pace = self.per_second.map(|devices| json!({"per_second": devices}));
        let options = [
            ("expiry_s", self.expiry.map(seconds)),
            ("priority", self.priority.map(Value::from)),
            ("collapse_key", self.collapse.as_ref().map(|key| json!(key))),
            ("pace", pace.or(self.over.map(|span| json!({"over_s": seconds(span)})))),
            ("qos", self.qos.map(Value::from)),
            ("holdout_percent", self.holdout.map(Value::from)),
            (
                "quiet_hours",
                self.quiet.map(|quiet| match quiet {
                    Quiet::Wait => json!("wait"),
                    Quiet::Skip => json!("skip"),
                    Quiet::Ignore => json!("ignore"),
                }),
            ),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        body["options"] = Value::Object(given.collect());
        Ok(body)
    }
}

/// Hands it over.
pub(super) fn run(api: &Api, arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut body = arguments.push.body(&arguments.audience)?;
    if let Some(at) = &arguments.at {
        body["when"] = json!({"at": at});
    }
    if let Some(local) = &arguments.local {
        body["when"] = json!({"local": local});
    }
    if arguments.live {
        body["live"] = json!(true);
    }
    let path = arguments.app.path(api, if arguments.dry_run { "/pushes?dry_run=true" } else { "/pushes" });
    let accepted = once::post(api, &path, &body.to_string(), arguments.id.as_deref())?;
    let id = text(&accepted, "id").to_owned();
    let again = accepted.get("duplicate").and_then(Value::as_bool) == Some(true);
    let word = if again { "accepted before" } else { "accepted" };
    if arguments.watch {
        // A person who stops following it finds it by its id.
        terminal.note(format_args!("{word} {id}"));
        let Arguments { app, timeout, .. } = arguments;
        return watch(api, WatchArguments { push: id, timeout, app }, terminal);
    }
    if terminal.is_json() {
        return terminal.json(&accepted);
    }
    if arguments.dry_run {
        terminal.data(&format!("{}; nothing was pushed", terminal.out(Style::Good, "valid")))?;
        return show_preview(accepted.get("preview").unwrap_or(&Value::Null), terminal);
    }
    terminal.data(&format!("{} {id}", terminal.out(Style::Good, word)))
}
