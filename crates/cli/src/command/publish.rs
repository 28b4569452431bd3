//! `stadium publish`: publish a message to a topic of a running server.
//!
//! The server answers when the message is owed to all who subscribed. A publish that was cut off is
//! run again with the same `--id`.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};

use crate::api::Api;
use crate::failure::{Context, Failure};
use crate::on::On;
use crate::once;
use crate::terminal::Terminal;

/// Bytes read from the standard input: more than any server takes.
const INPUT_BYTES_MAX: u64 = 300 << 20;

/// The arguments of `stadium publish`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: On<PublishArguments>,
}

#[derive(Debug, Args)]
struct PublishArguments {
    /// Where to, such as chat/lobby
    topic: String,
    /// The message; - reads it from the standard input, and without it the payload is empty
    message: Option<String>,
    /// 0: at most once; 1: answered when it is durable for sessions that persist
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    qos: u8,
    /// Make it the topic's retained message; without a message, remove that
    #[arg(long, short)]
    retain: bool,
    /// Seconds after which nobody is sent it any more
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    expiry: Option<u32>,
    /// Its MIME type
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// The topic on which an answer is expected
    #[arg(long, value_name = "TOPIC")]
    response_topic: Option<String>,
    /// A name and a value, for MQTT 5 subscribers; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = property)]
    property: Vec<(String, String)>,
    /// Name of this request: repeated with it, nothing is published twice
    #[arg(long)]
    id: Option<String>,
}

fn property(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a property is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs it.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    arguments.on.run(publish, terminal)
}

fn publish(api: &Api, arguments: PublishArguments, terminal: &Terminal) -> Result<(), Failure> {
    let payload = match arguments.message.as_deref() {
        None => Vec::new(),
        Some("-") => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
            read.context("the standard input cannot be read")?;
            bytes
        }
        Some(text) => text.as_bytes().to_vec(),
    };
    let mut body = json!({
        "topic": arguments.topic,
        "qos": arguments.qos,
        "retain": arguments.retain,
    });
    let fields = body.as_object_mut().expect("it was made as an object");
    match String::from_utf8(payload) {
        Ok(text) => fields.insert("payload".to_owned(), text.into()),
        Err(bytes) => fields.insert("payload_base64".to_owned(), STANDARD.encode(bytes.as_bytes()).into()),
    };
    let optional = [
        ("expiry_s", arguments.expiry.map(Value::from)),
        ("content_type", arguments.content_type.map(Value::from)),
        ("response_topic", arguments.response_topic.map(Value::from)),
    ];
    for (name, value) in optional {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    let properties: Vec<Value> =
        arguments.property.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    if !properties.is_empty() {
        fields.insert("user_properties".to_owned(), properties.into());
    }
    let body = body.to_string();
    let answer = once::post(api, "/api/publish", &body, arguments.id.as_deref())?;
    if terminal.is_json() {
        return terminal.json(&answer);
    }
    let matched = match answer.get("matched").and_then(Value::as_bool) {
        Some(true) => "",
        Some(false) => "; nobody on this node subscribes to it",
        None => "; this request was carried out before",
    };
    let retained = match answer.get("retained").and_then(Value::as_bool) {
        Some(true) if arguments.message.is_none() => ", and its retained message is removed",
        Some(true) => " and retained",
        _ => "",
    };
    terminal.note(format!("published{retained}{matched}"));
    Ok(())
}
