//! The orders as they are read, and the answers as they are written.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;

use crate::proto::{Ask, Refusal};

#[derive(Deserialize)]
pub struct Order {
    pub id: u64,
    #[serde(flatten)]
    pub what: Do,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Do {
    Serve(Serve),
    Seen { text: String },
    Slow { ms: u64 },
    Quiesce { within_ms: u64 },
    Client { client: String, settings: Value },
    Call(Call),
    Note(Call),
    Stream(Stream),
    Channel(Channel),
    Cancel { client: String, of: u64 },
    Load(Load),
    Explain { client: String, key: Option<String> },
    Close { client: String },
}

#[derive(Deserialize)]
pub struct Serve {
    pub instance: String,
    pub settings: Value,
}

#[derive(Deserialize)]
pub struct Call {
    pub client: String,
    #[serde(default)]
    pub method: String,
    #[serde(default)]
    pub ask: AskFields,
    /// The request as it is, instead of `ask`.
    pub bytes_hex: Option<String>,
    pub deadline_ms: Option<u64>,
    pub key: Option<String>,
}

#[derive(Deserialize)]
pub struct Stream {
    #[serde(flatten)]
    pub call: Call,
    /// The stream is given up after so many messages.
    pub read: Option<usize>,
}

#[derive(Deserialize)]
pub struct Channel {
    #[serde(flatten)]
    pub call: Call,
    pub texts: Vec<String>,
}

#[derive(Deserialize)]
pub struct Load {
    pub client: String,
    /// Echo where it is absent.
    pub method: Option<String>,
    #[serde(default)]
    pub ask: AskFields,
    pub rate: u32,
    pub for_ms: u64,
    pub deadline_ms: u64,
}

/// The fields of `Ask`, in JSON.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskFields {
    text: String,
    sleep_ms: u32,
    refusal: Option<String>,
    refusals: u32,
    replies: u32,
    padding_bytes: u32,
    /// Bytes of padding that the request has.
    send_padding_bytes: usize,
}

impl AskFields {
    pub fn message(&self) -> Ask {
        let refusal = self.refusal.as_deref().and_then(Refusal::from_str_name).unwrap_or(Refusal::None);
        Ask {
            text: self.text.clone(),
            sleep_ms: self.sleep_ms,
            refusal: refusal.into(),
            refusals: self.refusals,
            replies: self.replies,
            padding_bytes: self.padding_bytes,
            padding: vec![7; self.send_padding_bytes],
        }
    }
}

/// Where answers go: one line each.
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<()>>);

impl Output {
    pub fn answer(&self, id: u64, answer: &Value) {
        let mut answer = answer.clone();
        answer["id"] = id.into();
        let _line = self.0.lock();
        let mut out = std::io::stdout().lock();
        // The runner may have gone; the actor then ends with its input.
        _ = writeln!(out, "{answer}");
        _ = out.flush();
    }
}
