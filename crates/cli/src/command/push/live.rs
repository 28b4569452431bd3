//! `stadium push TO MESSAGE`: hand a message over to a running server, and watch it reach the devices.
//!
//! The answer is one of three: accepted, the server owns it now; busy, nothing happened, try again;
//! rejected, it will never work. The last two are exit code 1.

use std::io::Read;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::api::Api;
use crate::failure::{Context, Failure};
use crate::once;
use crate::push_report::{Followed, PushReport, follow};
use crate::server::ServerFlags;
use crate::terminal::{Style, Terminal, count, short};

/// Bytes of a message read from standard input; the server's own bound is lower unless raised.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;

/// What to push, and to whom.
#[derive(Debug, Args)]
pub(super) struct Live {
    /// `everybody`, `channel:NAME`, `device:ID`, or `devices:ID,ID,..`
    #[arg(required = true, value_parser = parse_to)]
    to: Option<To>,
    /// The message; `-` reads it from standard input
    #[arg(required = true)]
    message: Option<String>,
    /// 0: at most once. 1: at least once, acknowledged by each device
    #[arg(long, value_enum, default_value_t = Qos::One)]
    qos: Qos,
    /// Seconds after which a device that was away does not get it any more
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    expiry: Option<u32>,
    /// MIME type of the message, sent to MQTT 5 devices
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// A name for this request: the same again is answered the same and pushes nothing
    #[arg(long, value_name = "KEY")]
    id: Option<String>,
    /// Follow it until nothing more will happen
    #[arg(long)]
    watch: bool,
    /// How long to follow it, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "watch")]
    timeout: u64,
    #[command(flatten)]
    server: ServerFlags,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Qos {
    /// At most once
    #[value(name = "0")]
    Zero,
    /// At least once
    #[value(name = "1")]
    One,
}

/// Whom a push is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum To {
    Everybody,
    Channel(String),
    Device(String),
    Devices(Vec<String>),
}

fn parse_to(text: &str) -> Result<To, String> {
    let named = |name: &str| {
        if name.is_empty() { Err(format!("`{text}` names nobody")) } else { Ok(name.to_owned()) }
    };
    match text.split_once(':') {
        None if text == "everybody" => Ok(To::Everybody),
        Some(("channel", name)) => Ok(To::Channel(named(name)?)),
        Some(("device", id)) => Ok(To::Device(named(id)?)),
        Some(("devices", ids)) => Ok(To::Devices(ids.split(',').map(named).collect::<Result<_, _>>()?)),
        _ => Err(format!(
            "expected everybody, channel:NAME, device:ID or devices:ID,ID; did you mean device:{text}?"
        )),
    }
}

impl To {
    fn json(&self) -> Value {
        match self {
            Self::Everybody => json!("everybody"),
            Self::Channel(name) => json!({"channel": name}),
            Self::Device(id) => json!({"device": id}),
            Self::Devices(ids) => json!({"devices": ids}),
        }
    }
}

/// Hands it over, and follows it where asked.
pub(super) fn run(arguments: Live, terminal: &Terminal) -> Result<(), Failure> {
    let (Some(to), Some(message)) = (&arguments.to, &arguments.message) else {
        return Err(Failure::Usage("say what to push and to whom, or `stadium push send`".to_owned()));
    };
    let message = match message.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .take(MESSAGE_BYTES_MAX)
                .read_to_string(&mut text)
                .context("the message cannot be read from standard input as text")?;
            text
        }
        text => text.to_owned(),
    };
    let qos = match arguments.qos {
        Qos::Zero => 0,
        Qos::One => 1,
    };
    let mut body = json!({"to": to.json(), "message": message, "qos": qos});
    if let Some(seconds) = arguments.expiry {
        body["expiry_s"] = json!(seconds);
    }
    if let Some(kind) = &arguments.content_type {
        body["content_type"] = json!(kind);
    }
    let api = Api::open(&arguments.server)?;
    let accepted = once::post(&api, "/api/push", &body.to_string(), arguments.id.as_deref())?;
    let id = accepted.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !arguments.watch {
        if terminal.is_json() {
            return terminal.json(&accepted);
        }
        return terminal.data(&format!("{} {id}", terminal.out(Style::Good, "accepted")));
    }
    terminal.note(format_args!("accepted {id}"));
    watch(&api, &id, Duration::from_secs(arguments.timeout), terminal)
}

/// Follows one until nothing more will happen.
fn watch(api: &Api, id: &str, patience: Duration, terminal: &Terminal) -> Result<(), Failure> {
    let bar = terminal.progress(0, "delivered");
    let followed = follow(api, id, patience, |report| {
        bar.set_length(report.targeted - report.not_connected.min(report.targeted));
        bar.set_position(report.done());
    })?;
    bar.finish_and_clear();
    let (report, settled) = match followed {
        Followed::Settled(report) => (report, true),
        Followed::Unfinished(report) => (report, false),
    };
    if terminal.is_json() {
        terminal.json(&report)?;
    } else {
        summary(&report, terminal)?;
    }
    if settled {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "push {id} was not settled within {} s: {} of {} deliveries are done; it goes on without us",
            patience.as_secs(),
            count(report.done()),
            count(report.targeted)
        )))
    }
}

/// The end of a push in a few lines.
fn summary(report: &PushReport, terminal: &Terminal) -> Result<(), Failure> {
    let status = terminal.out(if report.is_settled() { Style::Good } else { Style::Warning }, &report.status);
    terminal.data(&format!("{} {}, {status}", terminal.out(Style::Strong, "live push"), report.id))?;
    if report.targeted == 0 && !report.counting {
        let warning = terminal.out(Style::Warning, "warning:");
        terminal.data(&format!("  {warning} nobody gets it: no device subscribes to where it went"))?;
    }
    terminal.data(&format!(
        "  {} targeted{}, {} sent{}",
        count(report.targeted),
        if report.counting { " so far" } else { "" },
        count(report.sent),
        if report.qos == 1 {
            format!(", {} acknowledged", count(report.acknowledged))
        } else {
            String::new()
        }
    ))?;
    for (number, what) in [
        (report.not_connected, "not connected"),
        (report.queued, "of those kept for their return"),
        (report.expired, "expired"),
        (report.dropped, "dropped"),
    ] {
        if number > 0 {
            terminal.data(&format!("  {} {what}", count(number)))?;
        }
    }
    let latency = if report.qos == 1 { &report.acknowledged_latency } else { &report.sent_latency };
    if latency.count > 0 {
        let seconds = |ms: f64| short(ms / 1_000.0);
        terminal.data(&format!(
            "  {}: p50 {}, p99 {}, last {}",
            if report.qos == 1 { "acknowledged after" } else { "sent after" },
            seconds(latency.p50_ms),
            seconds(latency.p99_ms),
            terminal.out(Style::Strong, seconds(report.last_done_ms().unwrap_or(latency.max_ms)))
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audiences_are_spelt_out() {
        assert_eq!(parse_to("everybody"), Ok(To::Everybody));
        assert_eq!(parse_to("channel:news/sport"), Ok(To::Channel("news/sport".into())));
        assert_eq!(parse_to("device:a:b"), Ok(To::Device("a:b".into())));
        assert_eq!(parse_to("devices:a,b"), Ok(To::Devices(vec!["a".into(), "b".into()])));
        assert_eq!(
            parse_to("kiosk"),
            Err("expected everybody, channel:NAME, device:ID or devices:ID,ID; did you mean device:kiosk?"
                .into())
        );
        assert!(parse_to("devices:a,,b").is_err());
    }
}
